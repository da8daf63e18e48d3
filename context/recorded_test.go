package context

import "testing"

// TestHasTestLog: coroutine.TestBackendIsRecorded shows what that is for.
func TestHasTestLog(t *testing.T) {
	for _, c := range []struct {
		want bool
		args []string
	}{
		{false, nil},
		{false, []string{"netco.test", "-test.v", "-test.testlogfile"}},
		{true, []string{"netco.test", "-test.v", "-test.testlogfile=a=b", "-test.run=x"}},
	} {
		if got := hasTestLog(c.args); got != c.want {
			t.Errorf("%q: %v, want %v", c.args, got, c.want)
		}
	}
}
