package scheduler_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
)

// waiting waits until h's coroutine waits for reason.
func waiting(t testing.TB, h coroutine.Handle, reason coroutine.Reason) {
	t.Helper()
	testenv.Until(t, fmt.Sprint("a wait for ", reason), func() bool {
		i, ok := coroutine.Find(h.ID())
		return ok && i.State == coroutine.Waiting && i.Reason == reason
	})
}

// stackOf returns the stack of h's coroutine.
func stackOf(ctx context.Context, h coroutine.Handle) (string, error) {
	info, _ := h.Info()
	return info.Stack(ctx)
}

// asks returns the stack of h's coroutine without its headline.
func asks(t testing.TB, h coroutine.Handle) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s := testenv.Must(stackOf(ctx, h))
	_, s, _ = strings.Cut(s, "\n")
	return s
}

// connected returns the two ends of a connection.
func connected(t testing.TB) (near, far *socket.TCPConn) {
	t.Helper()
	l := testenv.Must(conet.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	defer l.Close()
	near = testenv.Must(conet.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr)))
	return near, testenv.Must(l.AcceptTCP())
}

// TestStackOfWaits: the stack of a coroutine that waits in a function of netco
// shows that function and the user's functions below it. Reading the stack does
// not disturb the wait.
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
		h := testenv.Must(netco.GoWith(netco.Spawn{On: netco.OnProcessor(0),
			Fn: func() { c.wait() }}))
		waiting(t, h, c.reason)
		for range 5 {
			s := asks(t, h)
			testenv.True(t, strings.Contains(strings.SplitN(s, "\n", 2)[0], c.top) &&
				strings.Contains(s, "TestStackOfWaits.func"), "%v:\n%s", c.reason, s)
		}
		if c.wake == nil {
			h.Stop()
		} else {
			c.wake()
		}
		testenv.NoError(t, h.Join())
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

// TestStackOfChannel: the stacks of two coroutines that use channels owned by
// their thread can be read while both run on, beside other ready coroutines.
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
	serves := testenv.Must(netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
		for v := range there.All() {
			back.Send(v + 1)
		}
	}}))
	asking := make(chan struct{})
	var rounds atomic.Int64
	calls := testenv.Must(netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
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
	}}))
	for rounds.Load() < 100 { // by then the thread owns the channels
		time.Sleep(100 * time.Microsecond)
	}
	for _, h := range []coroutine.Handle{serves, calls} {
		end := time.Now().Add(5 * time.Second) // with one core an answer takes a time slice
		for n := 0; n < testenv.Rounds(500) && (n == 0 || time.Now().Before(end)); n++ {
			if i, ok := coroutine.Find(h.ID()); !ok ||
				time.Duration(clock.Now()-i.Since) > time.Hour {
				t.Errorf("it has been %v for %v", i.State, time.Duration(clock.Now()-i.Since))
			}
			s := asks(t, h)
			testenv.True(t, strings.Contains(s, "TestStackOfChannel.func"), "\n%s", s)
		}
	}
	close(asking)
	calls.Join()
	serves.Join()
	over.Store(true)
}
