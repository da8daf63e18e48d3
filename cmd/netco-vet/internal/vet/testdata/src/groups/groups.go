package groups

import (
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/sync"
)

var _ = unsafe.Sizeof(0) // a builtin that is no identifier

var ch chan int

// In a goroutine netco/sync's group starts goroutines, in a coroutine
// coroutines.
func Start() error {
	var wg sync.WaitGroup
	wg.Go(func() { <-ch })
	_, err := netco.Go(func() {
		wg.Go(func() { <-ch }) // want `receive from a Go channel`
		var g errgroup.Group
		g.Go(func() error { <-ch; return nil }) // want `errgroup.Group.Go in a coroutine: it starts a goroutine, not a coroutine; import netco/errgroup`
		g.Wait()                                // want `errgroup.Group.Wait in a coroutine: .*; import netco/errgroup`
	})
	return err
}
