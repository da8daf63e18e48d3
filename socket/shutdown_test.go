package socket_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// force ends the default Scheduler without any patience.
func force(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	// nil if draining was enough
	if err := netco.Shutdown(ctx); err != nil && err != context.Canceled {
		t.Errorf("Shutdown: %v", err)
	}
}

// startAlone starts the default Scheduler for a test that ends it itself.
func startAlone(t *testing.T, n int) {
	t.Helper()
	startAloneWith(t, netco.Options{Processors: n})
}

// startAloneWith is startAlone with further options.
func startAloneWith(t *testing.T, o netco.Options) {
	t.Helper()
	testenv.OK(t, netco.Start(o))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		netco.Shutdown(ctx)
	})
}

// noneOpen waits until no socket is open. The last to use one closes it, which
// may be a coroutine that the end by force did not wait for.
func noneOpen(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(limit); socket.Open() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d sockets are still open", socket.Open())
			return
		}
	}
}

// TestForcedShutdownEndsWaits: whatever waits for a socket returns ErrShutdown,
// on coroutines and goroutines, and its socket can be closed.
func TestForcedShutdownEndsWaits(t *testing.T) {
	for i, b := range blockers {
		for _, p := range testrun.Places {
			t.Run(fmt.Sprintf("%d %s/%s", i, b.op, p.Name), func(t *testing.T) {
				startAlone(t, 2)
				wait, close := b.make(t)
				k := p.Go(func() {
					if err := wait(); !errors.Is(err, netco.ErrShutdown) {
						t.Errorf("%s: %v, want ErrShutdown", b.op, err)
					}
				})
				k.UntilParked(t, b.reason)
				// the Scheduler has no coroutine, so it ends in order
				if p.Name == testrun.Goroutine.Name {
					if err := netco.Shutdown(context.Background()); err != nil {
						t.Error(err)
					}
				} else {
					force(t)
				}
				k.Wait(t)
				if err := wait(); !errors.Is(err, netco.ErrShutdown) {
					t.Errorf("%s afterwards: %v, want ErrShutdown", b.op, err)
				}
				if err := close(); err != nil {
					t.Error(err)
				}
				checkClosed(t, b.op, wait())
				noneOpen(t)
			})
		}
	}
}

// TestForcedShutdownEndsQueued: those queued for a connection's read lock
// cannot be given an error by it, so they unwind, with their deferred calls,
// and leave the queue in order.
func TestForcedShutdownEndsQueued(t *testing.T) {
	startAlone(t, 2)
	c, _ := withPeer(t)
	var tasks []*testrun.Task
	for i := range 6 {
		k := testrun.Places[i%2].Go(func() {
			defer c.Close()
			c.Read(make([]byte, 1))
		})
		reason := coroutine.ReasonLock
		if i == 0 {
			reason = coroutine.ReasonRead
		}
		k.UntilParked(t, reason)
		tasks = append(tasks, k)
	}
	force(t)
	testrun.WaitAll(t, tasks...)
	noneOpen(t)
}

// TestForcedShutdownOfBusy: coroutines whose operations always succeed at once
// are told at the yield after a burst. They must not take the connection's
// lock, or a connection just accepted, with them.
func TestForcedShutdownOfBusy(t *testing.T) {
	t.Run("read and write", func(t *testing.T) {
		startAlone(t, 1)
		var tasks []*testrun.Task
		busy := make(chan struct{}, 4)
		for range 2 {
			a, b := pair(t)
			tasks = append(tasks, testrun.First.Go(func() {
				defer a.Close()
				for buf := make([]byte, 4096); ; {
					if _, err := a.Write(buf); err != nil {
						return
					}
				}
			}), testrun.First.Go(func() {
				defer b.Close()
				for i, buf := 0, make([]byte, 100); ; i++ {
					if _, err := b.Read(buf); err != nil {
						return
					}
					if i == 1000 {
						busy <- struct{}{}
					}
				}
			}))
		}
		for range 2 {
			testenv.Await(t, busy, "traffic")
		}
		force(t)
		testrun.WaitAll(t, tasks...)
		noneOpen(t)
	})
	t.Run("accept", func(t *testing.T) {
		startAloneWith(t, netco.Options{Processors: 1, LockThreads: true})
		l := listen(t)
		release := hog(t, 0)
		for range 100 { // more than a burst
			testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
		}
		burst := make(chan struct{})
		k := testrun.First.Go(func() {
			defer l.Close()
			for n := 0; ; n++ {
				c, err := l.AcceptTCP()
				if err != nil {
					return
				}
				c.Close()
				if n == 0 {
					<-burst // holds the Processor
				}
			}
		})
		// Another that is always ready makes every yield a real one.
		other := testrun.First.Go(func() {
			for {
				netco.Yield()
			}
		})
		release()
		testenv.Await(t, k.Started, "the acceptor")
		shut := make(chan struct{})
		go func() {
			defer close(shut)
			force(t)
		}()
		testenv.Until(t, "the shutdown to begin", func() bool {
			time.Sleep(time.Millisecond) // each that is taken is one more to end
			_, err := netco.Go(func() {})
			return err != nil
		})
		close(burst)
		k.Wait(t)
		other.Wait(t)
		testenv.Await(t, shut, "the shutdown")
		noneOpen(t)
	})
}
