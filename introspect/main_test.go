package introspect

import (
	"context"
	"testing"
	"time"

	cocontext "github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

func TestMain(m *testing.M) { testenv.Split(m, 2) }

// start makes a running Scheduler that ends, by force, with the test.
func start(t testing.TB, o scheduler.Options) *scheduler.Scheduler {
	t.Helper()
	s := testenv.Must(scheduler.New(o))
	testenv.OK(t, s.Start())
	t.Cleanup(func() {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		s.Shutdown(over)
	})
	return s
}

// scaled is how often a hammer strikes: n times at full length.
func scaled(n int) int { return testenv.Rounds(n) }

// once skips a test that has nothing to do with how contexts are switched where
// all of it is run again for that.
func once(t testing.TB) {
	t.Helper()
	if cocontext.Backend() == cocontext.BackendPortable {
		t.Skip("is the same under every backend")
	}
}

// eventually waits for something that is about to be so.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so after two minutes: %s", what)
		}
	}
}
