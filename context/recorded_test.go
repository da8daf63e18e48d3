package context

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTestLogOf(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"", nil},
		{"", []string{"netco.test", "-test.v", "-test.testlogfile"}},
		{"a=b", []string{"netco.test", "-test.v", "-test.testlogfile=a=b", "-test.run=x"}},
	} {
		if got := testLogOf(c.args); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}

// TestRecorded: the variable is read until it is in the log for certain, which
// is when the log was seen empty and then with content.
func TestRecorded(t *testing.T) {
	wasLog, wasUnrecorded, wasEmptied := testLog, unrecorded.Load(), emptied.Load()
	defer func() {
		testLog = wasLog
		emptied.Store(wasEmptied)
		unrecorded.Store(wasUnrecorded)
	}()
	testLog = filepath.Join(t.TempDir(), "log")
	unrecorded.Store(true)
	emptied.Store(false)
	for _, c := range []struct {
		name, content string
		records       bool // still, after it
	}{
		{"of another process", "# test log\ngetenv X\n", true},
		{"empty", "", true},
		{"of this process", "# test log\ngetenv X\n", false},
	} {
		if err := os.WriteFile(testLog, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 200 {
			Recorded()
		}
		if unrecorded.Load() != c.records {
			t.Errorf("log %s: reads on %v, want %v", c.name, unrecorded.Load(), c.records)
		}
	}
}
