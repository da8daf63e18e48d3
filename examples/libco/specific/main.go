// Command specific is libco's example of that name: ten coroutines, each with
// data of its own, which a function finds without being handed it. Each says
// several times, every -every, what its own is; the last line of each is said
// by whoever drops the data at its end. SIGINT or SIGTERM ends it; so do -turns
// turns.
//
// libco has a macro for it, over pthread's keys; here it is a typed variable of
// the program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/netco-go/netco"
)

// routine is what each coroutine has for itself.
type routine struct {
	w   io.Writer
	idx int
}

// own is made for a coroutine when it first asks, and dropped at its end.
var own = netco.NewLocal(netco.LocalOptions[routine]{
	Drop: func(r *routine) { fmt.Fprintln(r.w, "routine specific data idx", r.idx, "is dropped") },
})

func main() {
	n := flag.Int("n", 10, "how many coroutines")
	turns := flag.Int("turns", 0, "how often each says what it has; 0: until it is told to end")
	every := flag.Duration("every", time.Second, "how long each waits in between")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *n, *turns, *every); err != nil {
		fmt.Fprintln(os.Stderr, "specific:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, n, turns int, every time.Duration) error {
	if n < 1 || turns < 0 || every < 0 {
		return fmt.Errorf("-n %d -turns %d -every %v: want a coroutine, and no negative number", n,
			turns, every)
	}
	if err := netco.Start(netco.Options{}); err != nil {
		return err
	}
	defer netco.Shutdown(context.Background())
	// The context has ended by then, so waits end at once.
	defer context.AfterFunc(ctx, func() { netco.Shutdown(ctx) })()
	w = &lines{w: w}
	var failed error
	err := netco.Run(func() {
		if ctx.Err() != nil {
			return // this is another scheduler than the one that was ended
		}
		for i := range n {
			_, failed = netco.GoWith(netco.Spawn{Local: true, Fn: func() {
				own.Set(routine{w, i})
				for turn := 0; turns == 0 || turn < turns; turn++ {
					say()
					netco.Sleep(every)
				}
			}})
			if failed != nil {
				return
			}
		}
	})
	return errors.Join(err, failed)
}

// say finds its data by the coroutine that calls it.
func say() {
	r := own.Get()
	fmt.Fprintln(r.w, "routine specific data idx", r.idx)
}

// lines writes one line at a time.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
