package channel_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// token is a value that names its sender; the pointer gives the garbage
// collector something to follow.
type token struct {
	sender, n int
	id        *int
}

// sendOne sends v in some way, and reports whether it has been sent.
func sendOne(c *channel.Chan[token], other *channel.Chan[token], v token, how int) bool {
	switch how % 6 {
	case 0:
		c.Send(v)
		return true
	case 1:
		return c.SendTimeout(v, time.Duration(rand.IntN(60))*time.Microsecond) == nil
	case 2:
		ctx, cancel := context.WithTimeout(context.Background(),
			time.Duration(rand.IntN(60))*time.Microsecond)
		defer cancel()
		return c.SendContext(ctx, v) == nil
	case 3:
		i, err := channel.SelectTimeout(time.Duration(rand.IntN(60))*time.Microsecond,
			c.SendCase(v), other.SendCase(v))
		return i >= 0 && err == nil
	case 4:
		return c.TrySend(v)
	}
	channel.Select(other.SendCase(v), c.SendCase(v))
	return true
}

// recvOne receives in some way. over reports that both channels are closed and
// empty.
func recvOne(c, other *channel.Chan[token], how int) (v token, ok, over bool) {
	short := time.Duration(rand.IntN(60)) * time.Microsecond
	switch how % 5 {
	case 0:
		v, ok = c.Recv()
		return v, ok, false
	case 1:
		v, err := c.RecvTimeout(short)
		return v, err == nil, false
	case 2:
		ctx, cancel := context.WithTimeout(context.Background(), short)
		defer cancel()
		v, err := c.RecvContext(ctx)
		return v, err == nil, false
	case 3:
		_, err := channel.SelectTimeout(short, other.RecvCase(&v), c.RecvCase(&v))
		return v, err == nil, false
	}
	v, ok, done := c.TryRecv()
	if done && !ok {
		w, ok, done := other.TryRecv()
		return w, ok, done && !ok
	}
	return v, ok, false
}

// TestHammer runs senders and receivers of all kinds, on two threads and as
// goroutines, over two channels; each wait may time out. A value is received
// once if its sender reports it as sent, else never.
func TestHammer(t *testing.T) {
	for _, capacity := range []int{0, 1, 5} {
		t.Run(fmt.Sprint("capacity=", capacity), func(t *testing.T) {
			testrun.Start(t, 2)
			h := newHammer(capacity, testenv.Rounds(3000))
			stop := make(chan struct{})
			go func() { // the garbage collector scans the stacks of waiters
				for {
					select {
					case <-stop:
						return
					default:
						runtime.GC()
					}
				}
			}()
			h.run(t, false)
			close(stop)
			h.check(t)
		})
	}
}

// TestOwnThreadHammer is TestHammer among coroutines of one thread, without the
// guard until a goroutine uses the channels. So these have waiters of both
// kinds, and revocations happen at any moment.
func TestOwnThreadHammer(t *testing.T) {
	testrun.Start(t, 1)
	for round := range testenv.Rounds(300) {
		h := newHammer(round%3, 30)
		testrun.In(t, 0, func() { bias(h.c); bias(h.d) })
		h.run(t, true)
		h.check(t)
	}
}

const hammerSenders = 9 // and as many receivers

type hammer struct {
	c, d *channel.Chan[token]
	n    int            // values of each sender
	got  []atomic.Int32 // by value: receipts
	sent []atomic.Bool  // by value: what its sender reports
}

func newHammer(capacity, n int) *hammer {
	return &hammer{
		c: channel.Make[token](capacity), d: channel.Make[token](capacity), n: n,
		got: make([]atomic.Int32, hammerSenders*n), sent: make([]atomic.Bool, hammerSenders*n),
	}
}

// run runs all senders, closes the channels, and returns when the receivers
// have ended. All are coroutines of one thread that owns the channels, or none
// is.
func (h *hammer) run(t *testing.T, own bool) {
	var senders, receivers sync.WaitGroup
	start := func(i int, wg *sync.WaitGroup, f func()) {
		wg.Add(1)
		g := func() { defer wg.Done(); f() }
		switch {
		case own:
			testrun.First.Run(g)
		case i%3 == 2:
			go g()
		default:
			netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 3), Fn: g})
		}
	}
	for i := range hammerSenders {
		start(i, &senders, func() {
			h.send(i, 0, h.n/2)
			if own && i == hammerSenders/2 {
				go func() { h.c.Len(); h.d.Len() }() // shared from now on
			}
			h.send(i, h.n/2, h.n)
		})
		start(i, &receivers, func() { h.receive(t) })
	}
	senders.Wait()
	h.c.Close()
	h.d.Close()
	receivers.Wait()
}

// either returns the channels in random order.
func (h *hammer) either() (a, b *channel.Chan[token]) {
	if rand.IntN(2) == 0 {
		return h.d, h.c
	}
	return h.c, h.d
}

// send sends some of a sender's values.
func (h *hammer) send(sender, from, end int) {
	for k := from; k < end; k++ {
		id := sender*h.n + k
		a, b := h.either()
		how := rand.IntN(6)
		h.sent[id].Store(sendOne(a, b, token{sender, k, &id}, how))
		if how == 4 {
			netco.Yield()
		}
	}
}

func (h *hammer) receive(t *testing.T) {
	for how := rand.Int(); ; how = rand.Int() {
		a, b := h.either()
		if how%5 == 0 && rand.IntN(4) > 0 {
			how++ // few without a bound: there may be no sender on the channel they wait in
		}
		v, ok, over := recvOne(a, b, how)
		switch {
		case ok:
			if *v.id != v.sender*h.n+v.n {
				t.Errorf("a value is not what was sent: %+v, %d", v, *v.id)
			}
			h.got[*v.id].Add(1)
		case over:
			return
		case how%5 == 4:
			netco.Yield()
		}
	}
}

func (h *hammer) check(t *testing.T) {
	for id := range h.got {
		got, sent := h.got[id].Load(), h.sent[id].Load()
		if sent && got != 1 || !sent && got != 0 {
			t.Fatalf("value %d, sent: %v, was received %d times", id, sent, got)
		}
	}
}

// TestBias: a channel becomes its thread's own, and shared once another thread
// uses it, also while coroutines of its thread wait in it.
func TestBias(t *testing.T) {
	if !hasBarriers() {
		t.Skip("this kernel has no membarrier(2), or this is a race build: no channel has an owner")
	}
	testrun.With(t, 1, func() {
		c := channel.Make[int](0)
		bias(c)
		if !c.Biased() {
			t.Error("not biased after 100 operations of one thread")
		}
		got := channel.Make[int](4)
		for range 2 {
			netco.GoWith(netco.Spawn{Local: true, Fn: func() {
				v, _ := c.Recv()
				got.Send(v)
			}})
		}
		until(t, "two wait", func() bool { _, r := c.Waiting(); return r == 2 })
		c.Send(1) // without the guard
		if !c.Biased() {
			t.Error("no longer biased without a reason")
		}
		go c.Send(2)
		a, _ := got.Recv()
		b, _ := got.Recv()
		if a+b != 3 || c.Biased() {
			t.Error(a, b, c.Biased())
		}
		// What has been used on two threads from the start has never an owner.
		d := channel.Make[int](1)
		done := make(chan struct{})
		go func() { d.Send(1); close(done) }()
		until(t, "sent", func() bool { return d.Len() == 1 })
		bias(d)
		if d.Biased() {
			t.Error("biased although a goroutine has used it")
		}
	})
}

// TestBusyOwner: a revocation does not wait until the owner's thread is idle.
func TestBusyOwner(t *testing.T) {
	testrun.Start(t, 1)
	c := channel.Make[int](1)
	busy, over := make(chan struct{}), make(chan struct{})
	h, _ := netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
		bias(c)
		c.Send(1)
		close(busy)
		<-over // holds up its thread
	}})
	<-busy
	if v, ok := c.Recv(); v != 1 || !ok {
		t.Error(v, ok)
	}
	close(over)
	h.Join()
}

// TestOrphan: a channel outlives the thread that owned it.
func TestOrphan(t *testing.T) {
	var c *channel.Chan[int]
	t.Run("owner", func(t *testing.T) {
		testrun.With(t, 1, func() {
			c = channel.Make[int](1)
			bias(c)
			c.Send(1)
		})
	})
	if v, ok := c.Recv(); v != 1 || !ok {
		t.Error(v, ok)
	}
}
