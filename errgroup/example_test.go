package errgroup_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/errgroup"
)

func ExampleGroup() {
	netco.Run(func() {
		var g errgroup.Group
		g.SetLimit(2)
		for _, name := range []string{"a", "b", ""} {
			g.Go(func() error {
				if name == "" {
					return errors.New("no name")
				}
				return nil
			})
		}
		fmt.Println(g.Wait())
	})
	netco.Shutdown(context.Background())
	// Output: no name
}
