package scheduler_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"strings"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
)

// waiting waits until h's coroutine waits for reason.
func waiting(t testing.TB, h coroutine.Handle, reason coroutine.Reason) {
	t.Helper()
	for range 200_000 {
		if i, ok := coroutine.Find(h.ID()); ok && i.State == coroutine.Waiting &&
			i.Reason == reason {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
	t.Fatalf("it does not wait for %v", reason)
}

// asks returns the stack of h's coroutine, without its first line.
func asks(t testing.TB, h coroutine.Handle) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s, err := coroutine.StackOf(ctx, h.ID())
	if err != nil {
		t.Fatal(err)
	}
	_, s, _ = strings.Cut(s, "\n")
	return s
}

// connected returns the two ends of a connection.
func connected(t testing.TB) (near, far *socket.TCPConn) {
	t.Helper()
	l, err := conet.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = conet.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr)); err != nil {
		t.Fatal(err)
	}
	if far, err = l.AcceptTCP(); err != nil {
		t.Fatal(err)
	}
	return near, far
}

// TestStackOfWaits: what users see of the stacks of coroutines that wait in
// netco's functions: the function they called, and their own below it.
// Afterwards each wait ends as it would have.
func TestStackOfWaits(t *testing.T) {
	startDefault(t, netco.Options{Processors: 1})
	var wg sync.WaitGroup
	var mu sync.Mutex
	near, far := connected(t)
	defer near.Close()
	defer far.Close()
	for _, c := range []struct {
		reason coroutine.Reason
		top    string
		wait   func()
		wake   func()
	}{
		{coroutine.ReasonSleep, "netco.Sleep(...)", func() { netco.Sleep(time.Hour) }, nil},
		{coroutine.ReasonLock, "sync.(*Mutex).Lock(...)", mu.Lock, func() { mu.Unlock() }},
		{coroutine.ReasonGroup, "sync.(*WaitGroup).Wait(...)", wg.Wait, func() { wg.Done() }},
		{coroutine.ReasonRead, "Read(...)", func() { near.Read(make([]byte, 1)) }, func() {
			far.Write([]byte("x"))
		}},
	} {
		mu.Lock()
		wg.Add(1)
		h, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() { c.wait() }})
		if err != nil {
			t.Fatal(err)
		}
		waiting(t, h, c.reason)
		for range 5 {
			if s := asks(t, h); !strings.Contains(strings.SplitN(s, "\n", 2)[0], c.top) ||
				!strings.Contains(s, "TestStackOfWaits.func") {
				t.Errorf("%v:\n%s", c.reason, s)
			}
		}
		if c.wake == nil {
			h.Stop()
		} else {
			c.wake()
		}
		if err := h.Join(); err != nil {
			t.Error(err)
		}
		if c.reason != coroutine.ReasonLock {
			mu.Unlock()
		} else {
			mu = sync.Mutex{}
		}
		if c.reason != coroutine.ReasonGroup {
			wg.Done()
		}
	}
}

// TestStackOfChannel: in channels that are their thread's own, with others
// ready to run. Both directions are asked for while they go on.
func TestStackOfChannel(t *testing.T) {
	startDefault(t, netco.Options{Processors: 1})
	there, back := channel.Make[int](0), channel.Make[int](0)
	var over atomic.Bool
	for range 3 {
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
			for !over.Load() {
				coroutine.Yield()
			}
		}})
	}
	serves, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
		for v := range there.All() {
			back.Send(v + 1)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	asking := make(chan struct{})
	var rounds atomic.Int64
	calls, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
		defer there.Close()
		for i, on := 0, true; on || i < 10_000; i++ {
			there.Send(i)
			if v, _ := back.Recv(); v != i+1 {
				t.Errorf("%d came back for %d", v, i)
			}
			rounds.Add(1)
			select {
			case <-asking:
				on = false
			default:
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for rounds.Load() < 100 { // by then the channels are their thread's own
		time.Sleep(100 * time.Microsecond)
	}
	for _, h := range []coroutine.Handle{serves, calls} {
		end := time.Now().Add(5 * time.Second) // with one core an answer takes a time slice
		for n := 0; n < scaled(500) && (n == 0 || time.Now().Before(end)); n++ {
			if i, ok := coroutine.Find(h.ID()); !ok ||
				time.Duration(clock.Now()-i.Since) > time.Hour {
				t.Errorf("it has been %v for %v", i.State, time.Duration(clock.Now()-i.Since))
			}
			if s := asks(t, h); !strings.Contains(s, "TestStackOfChannel.func") {
				t.Errorf("\n%s", s)
			}
		}
	}
	close(asking)
	calls.Join()
	serves.Join()
	over.Store(true)
}

// churn keeps sockets and channels of a Scheduler busy, while others ask for
// stacks.
type churn struct {
	t      *testing.T
	s      *scheduler.Scheduler
	rounds int
	work   stdsync.WaitGroup

	over           atomic.Bool
	answered, shut atomic.Int64
}

func (c *churn) run(fn func()) {
	if _, err := c.s.GoWith(scheduler.Spawn{Fn: fn}); err != nil {
		c.t.Error(err)
	}
}

// ask asks for stacks until it is over.
func (c *churn) ask() {
	for !c.over.Load() {
		var all []coroutine.Info
		coroutine.Range(func(i coroutine.Info) bool { all = append(all, i); return len(all) < 100 })
		for _, i := range all {
			switch text, err := i.Stack(context.Background()); {
			case err == nil && strings.HasPrefix(text, "coroutine "):
				c.answered.Add(1)
			case err == coroutine.ErrNotFound:
				c.shut.Add(1)
			default:
				c.t.Errorf("%v\n%s", err, text)
			}
		}
	}
}

// pass has values go through a connection and a channel.
func (c *churn) pass(capacity int) {
	near, far := connected(c.t)
	values := channel.Make[byte](capacity)
	c.work.Add(3)
	c.run(func() { defer c.work.Done(); c.send(near) })
	c.run(func() { defer c.work.Done(); c.forward(far, values) })
	c.run(func() { defer c.work.Done(); c.receive(values) })
}

func (c *churn) send(near *socket.TCPConn) {
	defer near.Close()
	for i := range c.rounds {
		if _, err := near.Write([]byte{byte(i)}); err != nil {
			c.t.Error(err)
		}
	}
}

func (c *churn) forward(far *socket.TCPConn, to *channel.Chan[byte]) {
	defer far.Close()
	defer to.Close()
	b := make([]byte, 1)
	for i := 0; ; i++ {
		if _, err := io.ReadFull(far, b); err != nil {
			if err != io.EOF || i != c.rounds {
				c.t.Errorf("after %d of %d: %v", i, c.rounds, err)
			}
			return
		}
		if b[0] != byte(i) {
			c.t.Errorf("%d came in place of %d", b[0], byte(i))
		}
		to.Send(b[0])
	}
}

func (c *churn) receive(from *channel.Chan[byte]) {
	i := 0
	for v := range from.All() {
		if v != byte(i) {
			c.t.Errorf("%d came in place of %d", v, byte(i))
		}
		i++
	}
	if i != c.rounds {
		c.t.Errorf("%d of %d came", i, c.rounds)
	}
}

// end ends the Scheduler, by force while coroutines wait, or on its own.
func (c *churn) end(force bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	if force {
		never := channel.Make[int](0)
		for range 50 {
			c.run(func() { never.Recv() })
			c.run(func() { netco.Sleep(time.Hour) })
		}
		cancel()
	}
	if err := c.s.Shutdown(ctx); err != nil && !(force && errors.Is(err, context.Canceled)) {
		c.t.Errorf("Shutdown: %v", err)
	}
	cancel()
}

// TestStackOfChurn: many ask, while sockets, channels and locks on two
// Processors are busy, what is sent must arrive, in order; in the end the
// Scheduler ends, in one round on its own and in the other by force, and the
// requests get an error then.
func TestStackOfChurn(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	for _, force := range []bool{false, true} {
		s, err := scheduler.New(scheduler.Options{Processors: 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		c := &churn{t: t, s: s, rounds: max(scaled(8000), 50)}
		var askers stdsync.WaitGroup
		for range 3 {
			askers.Go(c.ask)
		}
		asked := channel.Make[int](0)
		c.run(func() { asked.Recv() }) // its peers need one to the end
		for k := range 20 {
			c.pass(k % 3)
		}
		c.work.Wait()
		for c.answered.Load() == 0 { // the askers may begin late
			time.Sleep(100 * time.Microsecond)
		}
		asked.Close()
		c.end(force)
		c.over.Store(true)
		askers.Wait()
		if c.answered.Load() == 0 {
			t.Error("no stack was returned")
		}
		t.Logf("%d stacks, %d gone", c.answered.Load(), c.shut.Load())
	}
}
