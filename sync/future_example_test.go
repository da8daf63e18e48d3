package sync_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/sync"
)

func ExampleFuture() {
	var ready sync.Future[string] // several may wait for it, and one sets it
	netco.Run(func() {
		if _, err := netco.Go(func() { ready.Set("listening") }); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(ready.Get())
	})
	netco.Shutdown(context.Background())
	// Output: listening <nil>
}

func ExampleAsync() {
	netco.Start(netco.Options{})
	sum := sync.Async(func() (int, error) { return 1 + 2, nil })
	boom := sync.Async(func() (int, error) { panic("boom") })
	fmt.Println(sum.Get())
	_, err := boom.Get()
	var p *netco.PanicError
	fmt.Println(errors.As(err, &p), p.Value)
	netco.Shutdown(context.Background())
	// Output:
	// 3 <nil>
	// true boom
}
