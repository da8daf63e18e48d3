package diagnose

import (
	"testing"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
)

// startGroup starts one Processor without a watchdog. It ends with the test,
// when its coroutines have.
func startGroup(t *testing.T, lockThread bool) (*processor.Group, *processor.Processor) {
	t.Helper()
	g := processor.NewGroup(nil)
	p := testenv.Must(processor.New(processor.Config{Group: g, CPU: -1, LockThread: lockThread,
		Idle: 64, BufferSize: 4096, Logger: zap.NewNop()}))
	testenv.OK(t, p.Start())
	t.Cleanup(func() {
		for g.Active() {
			<-g.Quiet()
		}
		g.Advance(processor.Stopped)
		<-p.Ended()
	})
	return g, p
}

// startOn starts a coroutine of the group.
func startOn(g *processor.Group, fn func()) {
	testenv.Must(g.Go(nil, nil, coroutine.Spawn{Fn: fn}))
}
