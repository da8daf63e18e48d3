package profile_test

import (
	"context"
	"os"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// start starts the default Scheduler, which the test's end shuts down, and
// fails the whole run if the test hangs.
func start(t testing.TB, processors int) {
	t.Helper()
	hang := time.AfterFunc(5*time.Minute, func() { // go tool trace may first have to be built
		pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		panic(t.Name() + ": it hangs")
	})
	testenv.OK(t, netco.Start(netco.Options{Processors: processors}))
	t.Cleanup(func() {
		netco.Shutdown(context.Background())
		hang.Stop()
	})
}
