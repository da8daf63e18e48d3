package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestTasks: what is produced is consumed, in order, and then both end.
func TestTasks(t *testing.T) {
	var out strings.Builder
	if err := run(context.Background(), &out, 3, time.Millisecond, time.Minute); err != nil {
		t.Fatal(err)
	}
	want := "produce task 0\nconsume task 0\nproduce task 1\nconsume task 1\nproduce task " +
		"2\nconsume task 2\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// reported ends a run when something has been printed.
type reported struct {
	strings.Builder
	what   string
	report func()
}

func (r *reported) Write(p []byte) (int, error) {
	if strings.Contains(string(p), r.what) {
		r.report()
	}
	return r.Builder.Write(p)
}

// TestPatience: the bounded wait says that nothing came, and the signal's
// context ends both where they wait.
func TestPatience(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out := &reported{what: "no task for", report: cancel}
	if err := run(ctx, out, 0, time.Hour, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != context.Canceled {
		t.Errorf("it waited for a minute and said\n%s", out)
	}
	if !strings.HasSuffix(out.String(), "consumer: netco: scheduler is shutting down\n") {
		t.Errorf("it said\n%s", out)
	}
}
