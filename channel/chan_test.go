package channel_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// everywhere runs f as a coroutine whose peers are of the same thread, as one
// whose peers are on another thread, and as an ordinary goroutine. f starts its
// peers by spawn.
func everywhere(t *testing.T, f func(t *testing.T, spawn func(func()))) {
	t.Run("one thread", func(t *testing.T) {
		testrun.With(t, 1, func() {
			f(t, func(g func()) { netco.GoWith(netco.Spawn{Local: true, Fn: g}) })
		})
	})
	t.Run("two threads", func(t *testing.T) {
		testrun.With(t, 2, func() {
			f(t, func(g func()) { netco.GoWith(netco.Spawn{On: netco.OnProcessor(1), Fn: g}) })
		})
	})
	t.Run("goroutines", func(t *testing.T) { f(t, func(g func()) { go g() }) })
	t.Run("mixed", func(t *testing.T) {
		testrun.With(t, 1, func() { f(t, func(g func()) { go g() }) })
	})
}

// until yields until cond holds.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for start := time.Now(); !cond(); netco.Sleep(50 * time.Microsecond) {
		if time.Since(start) > long {
			t.Errorf("waited %v for: %s", long, what)
			return
		}
	}
}

// bias makes the calling coroutine's thread the owner of c, if the build and
// the kernel allow it, and gives c free waiters, so that its fast path can
// park.
func bias[T any](c *channel.Chan[T]) {
	c.Stock(10)
	for range 100 {
		c.Len()
	}
}

// hasBarriers asks the kernel, and not the code under test, whether channels
// can have an owner in this build.
func hasBarriers() bool {
	const query, needed = 0, 1<<3 | 1<<4 // private expedited, and the registration for it
	if goruntime.RaceEnabled {
		return false
	}
	commands, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, query, 0, 0)
	return errno == 0 && commands&needed == needed
}

// awaitBarriers waits for the registration, where there is one. A coroutine
// that did so might be left behind, and its next use of a channel would rule
// out an owner.
func awaitBarriers() {
	if !hasBarriers() {
		return
	}
	for start := time.Now(); !channel.CanBias(); time.Sleep(time.Millisecond) {
		if time.Since(start) > long {
			panic("the kernel has membarrier(2), and no channel is biased")
		}
	}
}

// TestOrder: what is sent is received, in order, for every capacity, and then
// the end.
func TestOrder(t *testing.T) {
	everywhere(t, func(t *testing.T, spawn func(func())) {
		for _, capacity := range []int{0, 1, 2, 7} {
			for _, own := range []bool{false, true} {
				c := channel.Make[int](capacity)
				if own {
					bias(c)
				}
				const n = 150
				spawn(func() {
					for i := range n {
						c.Send(i)
					}
					c.Close()
				})
				next := 0
				for v := range c.All() {
					if v != next {
						t.Fatalf("capacity %d: got %d, want %d", capacity, v, next)
					}
					next++
				}
				if v, ok := c.Recv(); next != n || ok || v != 0 {
					t.Fatalf("capacity %d: %d values, then %d, %v", capacity, next, v, ok)
				}
			}
		}
	})
}

// TestClose: waiting receivers get the end, waiting senders a panic or
// ErrClosed, and the buffer stays as it is.
func TestClose(t *testing.T) {
	const closed, sendOnClosed = "netco/channel: closed", "netco/channel: send on closed channel"
	for _, c := range []struct {
		name     string
		capacity int // and so many values in the buffer
		waiters  []func(*channel.Chan[int]) string
		want     []string
	}{
		{"receivers", 0, []func(*channel.Chan[int]) string{
			func(c *channel.Chan[int]) string { return fmt.Sprint(c.Recv()) },
			func(c *channel.Chan[int]) string { return fmt.Sprint(c.RecvTimeout(time.Hour)) },
			func(c *channel.Chan[int]) string {
				v := 3
				i, err := channel.Select(c.RecvCase(&v))
				return fmt.Sprint(i, v, err)
			},
		}, []string{"0 " + closed, "0 0 " + closed, "0 false"}},
		{"senders", 1, []func(*channel.Chan[int]) string{
			func(c *channel.Chan[int]) string {
				return fmt.Sprint(testenv.PanicOf(func() { c.Send(2) }))
			},
			func(c *channel.Chan[int]) string { return fmt.Sprint(c.SendTimeout(3, time.Hour)) },
			func(c *channel.Chan[int]) string {
				return fmt.Sprint(testenv.PanicOf(func() { channel.Select(c.SendCase(4)) }))
			},
		}, []string{closed, sendOnClosed, sendOnClosed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, spawn func(func())) {
				ch, ends := channel.Make[int](c.capacity), channel.Make[string](10)
				bias(ch)
				for range c.capacity {
					ch.Send(1)
				}
				for i, wait := range c.waiters {
					spawn(func() { ends.Send(wait(ch)) })
					until(t, "it waits", func() bool { s, r := ch.Waiting(); return s+r == i+1 })
				}
				ch.Close()
				var got []string
				for range c.waiters {
					s, _ := ends.Recv()
					got = append(got, s)
				}
				slices.Sort(got)
				if want := slices.Sorted(slices.Values(c.want)); !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
				testenv.Equal(t, ch.Len(), c.capacity, "values are buffered")
			})
		})
	}
}

// TestClosed: buffered values are received after Close; then receives and sends
// return ErrClosed.
func TestClosed(t *testing.T) {
	everywhere(t, func(t *testing.T, _ func(func())) {
		c := channel.Make[int](1)
		bias(c)
		c.Send(1)
		c.Close()
		if v, ok := c.Recv(); v != 1 || !ok {
			t.Error("what was buffered:", v, ok)
		}
		testenv.Gives(t, 0, channel.ErrClosed, "the end")(c.RecvTimeout(0))
		testenv.Equal(t, c.SendTimeout(1, 0), channel.ErrClosed, "SendTimeout on closed")
		testenv.Equal(t, c.SendContext(context.Background(), 1), channel.ErrClosed,
			"SendContext on closed")
	})
}

func TestMisuse(t *testing.T) {
	var none *channel.Chan[int]
	closed := channel.Make[int](0)
	closed.Close()
	for what, f := range map[string]func(){
		"Make: negative capacity": func() { channel.Make[int](-1) },
		"close of nil channel":    func() { none.Close() },
		"close of closed channel": func() { closed.Close() },
		"send on closed channel":  func() { closed.Send(1) },
	} {
		t.Run(what, func(t *testing.T) {
			testenv.Panics(t, "netco/channel: "+what, f)
		})
	}
}

// TestNil: on a nil channel nothing ever happens.
func TestNil(t *testing.T) {
	everywhere(t, func(t *testing.T, spawn func(func())) {
		var c *channel.Chan[int]
		if c.Len() != 0 || c.Cap() != 0 || c.TrySend(1) {
			t.Error("a nil channel has something")
		}
		if _, _, done := c.TryRecv(); done {
			t.Error("received from nil")
		}
		testenv.Fails(t, c.SendTimeout(1, time.Millisecond), os.ErrDeadlineExceeded)
		testenv.Fails(t, testenv.Err(c.RecvTimeout(time.Millisecond)), os.ErrDeadlineExceeded)
		testenv.Gives(t, -1, os.ErrDeadlineExceeded)(channel.SelectTimeout(time.Millisecond,
			c.RecvCase(nil), c.SendCase(1)))
		testenv.Gives(t, -1, os.ErrDeadlineExceeded)(channel.SelectTimeout(time.Millisecond))
		testenv.Gives(t, 1, nil)(channel.Select(c.RecvCase(nil), channel.Default()))
		ctx, cancel := context.WithCancel(context.Background())
		spawn(cancel)
		testenv.Equal(t, testenv.Err(c.RecvContext(ctx)), context.Canceled)
	})
}

func TestMain(m *testing.M) {
	// Threads that Go has made it keeps: they are made before they are counted.
	netco.Start(netco.Options{Processors: 4})
	netco.Shutdown(context.Background())
	awaitBarriers()
	testenv.Main(m)
}

// long is more than any event takes that these tests wait for.
const long = time.Minute
