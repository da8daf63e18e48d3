package waits

import (
	"runtime"
	"sync"

	"github.com/netco-go/netco"
)

type group struct {
	wg   sync.WaitGroup
	cond *sync.Cond
	pool sync.Pool
}

func (g *group) run() { // want run:"osthread,sync,sync,sync"
	runtime.LockOSThread() // want `runtime.LockOSThread in a coroutine: Go ends the program at the next wait, yield or end of this coroutine; do it in blocking.Do`
	g.wg.Go(func() {})     // want `sync.WaitGroup.Go in a coroutine: it starts a goroutine, not a coroutine; import netco/sync`
	g.wg.Wait()            // want `sync.WaitGroup.Wait in a coroutine: .*; import netco/sync`
	g.cond.Wait()          // want `sync.Cond.Wait in a coroutine`
}

func start() error {
	var mu sync.Mutex
	g := &group{cond: sync.NewCond(&mu)}
	_, err := netco.Go(g.run)
	return err
}
