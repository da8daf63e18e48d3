package errgroup_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/errgroup"
	"github.com/netco-go/netco/sync"
)

func ExampleGroup() {
	fetch := func(ctx context.Context, name string) error {
		if name == "b" {
			return errors.New("no " + name)
		}
		return sync.Wait(ctx) // gives up when another has failed
	}
	netco.Run(func() {
		g, ctx := errgroup.WithContext(context.Background())
		g.SetLimit(10)
		for _, name := range []string{"a", "b", "c"} {
			g.Go(func() error { return fetch(ctx, name) })
		}
		fmt.Println(g.Wait())
	})
	netco.Shutdown(context.Background())
	// Output: no b
}
