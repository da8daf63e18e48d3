package cosync_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/cosync"
)

func ExampleGroup() {
	netco.Start(netco.Options{})
	fetch := func(ctx context.Context, name string) error {
		if name == "b" {
			return errors.New("no " + name)
		}
		return cosync.Wait(ctx) // gives up when another has failed
	}
	g, ctx := cosync.WithContext(context.Background())
	g.SetLimit(10)
	for _, name := range []string{"a", "b", "c"} {
		g.Go(func() error { return fetch(ctx, name) })
	}
	fmt.Println(g.Wait())
	netco.Shutdown(context.Background())
	// Output: no b
}

func ExampleWait() {
	netco.Run(func() {
		ctx, cancel := context.WithCancel(context.Background())
		if _, err := netco.Go(cancel); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(cosync.Wait(ctx))
	})
	netco.Shutdown(context.Background())
	// Output: context canceled
}
