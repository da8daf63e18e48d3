package profile_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"runtime/trace"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/profile"
)

// A daemon that can be profiled at any time labels its coroutines from the
// start.
func ExampleLabels() {
	defer profile.Labels()()
	netco.Run(func() {
		if _, err := netco.GoWith(netco.Spawn{Name: "checkout", Fn: func() {
			fmt.Println(pprof.Label(profile.Context(context.Background()), "coroutine"))
		}}); err != nil {
			fmt.Println(err)
		}
	})
	netco.Shutdown(context.Background())
	// Output: checkout true
}

// Labels of one's own are added to the name.
func ExampleContext() {
	defer profile.Labels()()
	netco.Run(func() {
		if _, err := netco.GoWith(netco.Spawn{Name: "checkout", Fn: func() {
			pprof.Do(profile.Context(context.Background()), pprof.Labels("tenant", "acme"),
				func(ctx context.Context) {
					pprof.ForLabels(ctx, func(key, value string) bool {
						fmt.Println(key, value)
						return true
					})
				})
		}}); err != nil {
			fmt.Println(err)
		}
	})
	netco.Shutdown(context.Background())
	// Output:
	// coroutine checkout
	// tenant acme
}

// A trace of some time in which each run of a coroutine is a region: go tool
// trace shows them by name.
func ExampleRegions() {
	defer profile.Regions()()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		fmt.Println(err)
		return
	}
	netco.Run(func() {
		if _, err := netco.GoWith(netco.Spawn{Name: "checkout", Fn: func() {
			netco.Sleep(time.Millisecond)
		}}); err != nil {
			fmt.Println(err)
		}
	})
	netco.Shutdown(context.Background())
	trace.Stop()
	fmt.Println(bytes.Contains(b.Bytes(), []byte("checkout")))
	// Output: true
}
