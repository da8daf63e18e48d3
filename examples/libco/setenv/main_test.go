package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestSettings: each coroutine has what it has set, its child has it too and
// changes it for itself only, and the process's environment is what those
// without a setting see. All settings are dropped.
func TestSettings(t *testing.T) {
	t.Setenv("CGINAME", "of the process")
	var out strings.Builder
	dropped.Store(0) // those of an earlier run
	if err := run(&out, 3, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "\nsettings dropped: 6\n") {
		t.Error(out.String())
	}
	got := map[string]string{}
	for line := range strings.Lines(out.String()) {
		who, rest, _ := strings.Cut(strings.TrimPrefix(line, "routine "), " ")
		got[who] += rest
	}
	for _, who := range []string{"0", "1", "2"} {
		own := fmt.Sprintf("CGINAME %q\n", "cgi_routine_"+who)
		want := "begins with CGINAME \"of the process\"\n" +
			"has set " + own + "still has " + own + "has a child that inherits " + own +
			"still has " + own +
			"ends with CGINAME \"of the process\"\n"
		if got[who] != want {
			t.Errorf("routine %s: got\n%swant\n%s", who, got[who], want)
		}
	}
}
