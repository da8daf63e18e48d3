package sync_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// TestFutureOnce: a Future is completed once, by a value or by an error, and
// stays as it is.
func TestFutureOnce(t *testing.T) {
	failed := errors.New("failed")
	var f sync.Future[string]
	if f.Done() {
		t.Error("a new Future is done")
	}
	if !f.Set("a") || f.Set("b") || f.Fail(failed) {
		t.Error("not just the first of Set, Set, Fail counted")
	}
	if v, err := f.Get(); v != "a" || err != nil || !f.Done() {
		t.Errorf("Get: %q, %v; done %t", v, err, f.Done())
	}
	g := sync.NewFuture[int]()
	if !g.Fail(failed) || g.Set(1) || g.Fail(os.ErrClosed) {
		t.Error("not just the first of Fail, Set, Fail counted")
	}
	testenv.Gives(t, 0, failed, "Get")(g.Get())
	testenv.Panics(t, "sync: Future.Fail with a nil error", func() {
		new(sync.Future[int]).Fail(nil)
	})
}

// TestAsync: however the function ends, the Future is completed.
func TestAsync(t *testing.T) {
	var unhandled atomic.Int32
	testrun.StartWith(t, netco.Options{Processors: 2, OnPanic: func(netco.PanicInfo) {
		unhandled.Add(1)
	}})
	failed := errors.New("failed")
	check := func() {
		value := sync.Async(func() (int, error) { return 1, nil })
		testenv.Gives(t, 1, nil, "a value")(value.Get())
		fails := sync.Async(func() (int, error) { return 2, failed })
		testenv.Gives(t, 2, failed, "an error")(fails.Get())
		exits := sync.Async(func() (int, error) { runtime.Goexit(); return 0, nil })
		testenv.Fails(t, testenv.Err(exits.Get()), netco.ErrGoexit, "Goexit")
		_, err := sync.Async(func() (int, error) { return panicsInvalid() }).Get()
		var p *netco.PanicError
		if !errors.As(err, &p) || !errors.Is(err, os.ErrInvalid) || p.Value != os.ErrInvalid {
			t.Fatalf("a panic: %v", err)
		}
		if !strings.Contains(string(p.Stack), "sync_test.panicsInvalid") ||
			!strings.HasPrefix(p.Error(), "invalid argument\n") {
			t.Errorf("a panic's error: %v", p)
		}
		self := sync.Async(func() (uint64, error) { return netco.Self().ID(), nil })
		if in, err := self.Get(); in == 0 || err != nil {
			t.Errorf("not in a coroutine: %v", err)
		}
	}
	check()
	testrun.In(t, 1, check)
	testenv.Equal(t, unhandled.Load(), 0, "panics that reached OnPanic")
	site, _ := sync.Async(func() (string, error) {
		info, _ := netco.Self().Info()
		file, _ := info.Place()
		return file, nil
	}).Get()
	if !strings.HasSuffix(site, "future_test.go") {
		t.Errorf("created in %q", site)
	}
}

// TestAsyncEndedByForce: the Futures of functions that are ended by force, and
// of one that comes too late, are completed too.
func TestAsyncEndedByForce(t *testing.T) {
	testrun.Start(t, 2)
	waits := sync.Async(func() (int, error) { return 0, parkForever() })
	unwinds := sync.Async(func() (int, error) { waitAndUnwind(); return 0, nil })
	late := make(chan *sync.Future[int], 1)
	testenv.Must(netco.Go(func() {
		parkForever()
		late <- sync.Async(func() (int, error) { return 0, parkForever() })
	}))
	testrun.ShutdownByForce(t)
	for _, f := range []*sync.Future[int]{waits, unwinds, <-late} {
		testenv.Fails(t, testenv.Err(f.Get()), coroutine.ErrShutdown)
	}
}

//go:noinline
func panicsInvalid() (int, error) { panic(os.ErrInvalid) }

// parkForever returns at a forced shutdown.
func parkForever() error { return sync.Wait(context.Background()) }

// waitAndUnwind waits for a forced shutdown and ends the calling coroutine.
func waitAndUnwind() {
	s := sync.NewSemaphore(1)
	s.Acquire(1)
	s.Acquire(1)
}
