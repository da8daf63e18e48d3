package netco_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// TestDefaultEventLoop serves a client from a loop on the test's goroutine,
// which is the default Scheduler meanwhile.
func TestDefaultEventLoop(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	served, ended := 0, make(chan struct{})
	var over atomic.Bool
	var ln net.Listener
	first := true
	err := netco.EventLoop(netco.Options{Processors: 4}, func() bool {
		if !first {
			return !over.Load()
		}
		first = false
		s, err := netco.Default()
		if err != nil || s.Processors() != 1 {
			t.Errorf("the default Scheduler: %v", err)
		}
		testenv.Fails(t, netco.Start(netco.Options{}), netco.ErrStarted, "Start")
		testenv.Fails(t, netco.EventLoop(netco.Options{}, nil), netco.ErrStarted, "EventLoop")
		if ln, err = netco.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Error(err)
			return false
		}
		netco.Go(func() {
			testenv.Fails(t, netco.Serve(ln, func(c net.Conn) { served++; echoAll(c) }),
				netco.ErrShutdown, "Serve")
		})
		go func() { // an ordinary client on another thread
			defer close(ended)
			for range 20 {
				testenv.Equal(t, ask(t, ln.Addr()), "word")
			}
			over.Store(true)
			s, _ := netco.Default()
			s.Wake()
		}()
		return true
	})
	<-ended
	if err != nil || served != 20 {
		t.Errorf("%v, %d served", err, served)
	}
	if ln != nil {
		ln.Close()
	}
}

// TestEventLoopOrStart: of several who make the default Scheduler at once one
// succeeds, the others get the error.
func TestEventLoopOrStart(t *testing.T) {
	before := testenv.Snapshot()
	for i := range testenv.Rounds(200) {
		const n = 4
		results := make(chan error, n)
		for k := range n {
			go func() {
				if (i+k)%2 == 0 {
					results <- netco.EventLoop(netco.Options{}, nil)
				} else {
					results <- netco.Start(netco.Options{Processors: 1})
				}
			}()
		}
		for range n - 1 { // all but a loop that runs
			select {
			case err := <-results:
				if err != nil && !errors.Is(err, netco.ErrStarted) {
					t.Error(err)
				}
			case <-time.After(testenv.Limit):
				t.Fatal("two loops run, or something hangs")
			}
		}
		s := testenv.Must(netco.Default())
		if err := netco.Shutdown(context.Background()); err != nil || !s.Ended() {
			t.Errorf("Shutdown: %v", err)
		}
		for over := false; !over; { // the last may have come after that, and be the default one now
			select {
			case err := <-results:
				if over = true; err != nil && !errors.Is(err, netco.ErrStarted) {
					t.Error(err)
				}
			default:
				testrun.Shutdown(t)
				runtime.Gosched()
			}
		}
		testrun.Shutdown(t)
	}
	testenv.NoError(t, before.Leaks())
}
