package socket_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestStopQueued: those queued for a connection's read lock leave the queue in
// order when they are stopped, and the others get what comes.
func TestStopQueued(t *testing.T) {
	startAlone(t, 2)
	c, peer := withPeer(t)
	var got atomic.Int32
	tasks := queueReaders(t, 7, testrun.Coroutines, func() {
		if n, err := c.Read(make([]byte, 1)); n == 1 && err == nil {
			got.Add(1)
		}
	})
	for _, i := range []int{1, 2, 4, 6} {
		tasks[i].Co.Handle().Stop()
		tasks[i].Wait(t)
	}
	for _, i := range []int{0, 3, 5} {
		if tasks[i].Over() {
			t.Error("it has ended, too")
		}
	}
	peer.Write([]byte("abc"))
	testrun.WaitAll(t, tasks...)
	if got.Load() != 3 {
		t.Errorf("%d have read", got.Load())
	}
	c.Close()
	noneOpen(t)
}

// busyOps make operations that never wait, each of which may go on for ever.
var busyOps = map[string]func(t *testing.T) (once func() error){
	"read": func(t *testing.T) func() error {
		c, peer := withPeer(t)
		testenv.Must(peer.Write(make([]byte, 1000)))
		return func() error { return testenv.Err(c.Read(make([]byte, 1))) }
	},
	"write": func(t *testing.T) func() error {
		c, _ := withPeer(t)
		return func() error { return testenv.Err(c.Write(make([]byte, 1))) }
	},
	"write pieces": func(t *testing.T) func() error {
		c, _ := withPeer(t)
		return func() error {
			v := net.Buffers{{1}, {2}}
			return testenv.Err((*socket.Buffers)(&v).WriteTo(c))
		}
	},
	"write packets": func(t *testing.T) func() error {
		c := testenv.Closing(t, testenv.Must(socket.ListenPacket("udp", "127.0.0.1:0")))
		return func() error { return testenv.Err(c.WriteTo([]byte{1}, c.LocalAddr())) }
	},
	"accept": func(t *testing.T) func() error {
		l := listen(t)
		dialMany(t, 100, l.Addr().String())
		return func() error {
			c, err := l.Accept()
			if err == nil {
				c.Close()
			}
			return err
		}
	},
	"raw": func(t *testing.T) func() error {
		c, _ := withPeer(t)
		rc := testenv.Must(c.SyscallConn())
		return func() error { return rc.Write(func(uintptr) bool { return true }) }
	},
}

// TestStopOfBusy: a coroutine whose operations never wait is cancelled all the
// same, after a burst of them. What it used is as it was for others.
func TestStopOfBusy(t *testing.T) {
	for name, make := range busyOps {
		t.Run(name, func(t *testing.T) {
			startAlone(t, 2)
			once := make(t)
			testrun.First.Do(t, func() {
				netco.Self().Stop()
				n := 0
				for once() == nil {
					if n++; n > 64 {
						t.Error("it goes on and on")
						return
					}
				}
				testenv.Fails(t, once(), netco.ErrShutdown)
			})
			for _, p := range testrun.Places {
				p.Do(t, func() {
					for range 3 {
						testenv.Fails(t, once(), nil, p.Name, "afterwards")
					}
				})
			}
		})
	}
}

// TestStopConnect: a connect that is not answered ends, one to a single family
// and a race of two; nothing stays open.
func TestStopConnect(t *testing.T) {
	startAlone(t, 2)
	free := 0
	testenv.Until(t, "a port that nobody else takes", func() bool {
		l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
		free = l.Addr().(*net.TCPAddr).Port
		l.Close()
		return behave(t, unix.AF_INET, free, ignores)
	})
	deaf := twoFaced(t, ignores, ignores)
	s := serveNames(t, both)
	for _, address := range []string{fmt.Sprintf("127.0.0.1:%d", free), "both.test.:" + deaf} {
		before := socket.OpenCount()
		k := testrun.First.Go(func() {
			d := socket.Dialer{Resolver: s.resolver()}
			if _, err := d.Dial("tcp", address); !errors.Is(err, netco.ErrShutdown) {
				t.Errorf("%s: %v", address, err)
			}
		})
		k.UntilParked(t, coroutine.ReasonConnect)
		k.Co.Handle().Stop()
		k.Wait(t)
		testenv.Until(t, "the fallback to give up", func() bool {
			return socket.OpenCount() <= before
		})
	}
}

// TestStopServed: a connection whose coroutine is stopped while it waits for
// another's Read is closed: nothing would serve it.
func TestStopServed(t *testing.T) {
	startAlone(t, 2)
	l := listen(t)
	handler := make(chan *coroutine.Coroutine, 1)
	closed := make(chan error, 1)
	var reader atomic.Pointer[coroutine.Coroutine]
	s := &socket.Server{
		Handle: func(c *socket.ServerConn) error {
			c.Read(make([]byte, 1))
			netco.Go(func() {
				reader.Store(coroutine.Current())
				c.Read(make([]byte, 1))
			})
			for co := reader.Load(); co == nil ||
				co.Reason() != coroutine.ReasonRead; co = reader.Load() {
				netco.Yield()
			}
			handler <- coroutine.Current()
			return nil
		},
		Closed: func(_ *socket.ServerConn, err error) { closed <- err },
	}
	served := testrun.First.Go(func() { s.Serve(l) })
	peer := testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
	peer.Write([]byte("x"))
	co := testenv.Await(t, handler, "the handler")
	testenv.Until(t, "it to wait", func() bool {
		return co.State() == coroutine.Waiting && co.Reason() == coroutine.ReasonLock
	})
	co.Handle().Stop()
	if err := testenv.Await(t, closed, "Closed"); !errors.Is(err, netco.ErrShutdown) {
		t.Error(err)
	}
	s.Close()
	served.Wait(t)
	noneOpen(t)
}

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
	for end := time.Now().Add(limit); socket.OpenCount() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d sockets are still open", socket.OpenCount())
			return
		}
	}
}

// TestForcedShutdownEndsQueued: those queued for a connection's read lock
// cannot be given an error by it, so they unwind, with their deferred calls,
// and leave the queue in order.
func TestForcedShutdownEndsQueued(t *testing.T) {
	startAlone(t, 2)
	c, _ := withPeer(t)
	tasks := queueReaders(t, 6, testrun.Coroutines, func() {
		defer c.Close()
		c.Read(make([]byte, 1))
	})
	force(t)
	testrun.WaitAll(t, tasks...)
	noneOpen(t)
}

// TestForcedShutdownOfBusy: coroutines whose operations always succeed at once
// are cancelled at the yield after a burst. They must not take the connection's
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
	t.Run("accept", forcedShutdownOfBusyAccept)
}

func forcedShutdownOfBusyAccept(t *testing.T) {
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
}
