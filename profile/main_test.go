package profile_test

import (
	"context"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// start starts the default Scheduler, which the test's end shuts down.
func start(t testing.TB, processors int) {
	t.Helper()
	testenv.OK(t, netco.Start(netco.Options{Processors: processors}))
	t.Cleanup(func() { netco.Shutdown(context.Background()) })
}
