// Package place is where a test's code runs: on ordinary goroutines, or on coroutines of one or of several Processors.
package place

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/netco-go/netco"
)

// Limit is when a test gives up waiting. No test passes by waiting that long.
const Limit = time.Minute

// A Place is where code runs.
type Place struct {
	Name       string
	Processors int
	coroutine  bool
}

// The places. One Processor shows what holds it up: everything else stands still then.
var (
	Goroutine    = Place{"goroutine", 2, false}
	OneProcessor = Place{"coroutine, one Processor", 1, true}
	Coroutine    = Place{"coroutine, two Processors", 2, true}
)

// Each runs a test in each place, netco started for it.
func Each(t *testing.T, body func(t *testing.T, p Place)) {
	for _, p := range []Place{Goroutine, OneProcessor, Coroutine} {
		t.Run(p.Name, func(t *testing.T) {
			Start(t, p.Processors)
			body(t, p)
		})
	}
}

// EachWay runs a test in each of the places that ways are of, netco started for it.
func EachWay(t *testing.T, ways []Way, body func(t *testing.T, w Way)) {
	for _, w := range ways {
		t.Run(w.Name, func(t *testing.T) {
			Start(t, w.Processors)
			body(t, w)
		})
	}
}

// Start starts the default Scheduler. The test's end shuts it down, which must find nothing left over.
func Start(t testing.TB, processors int) {
	t.Helper()
	startWith(t, netco.Options{Processors: processors})
}

// StartLocked is Start with threads of the Processors' own: a coroutine that
// blocks in a library holds up its Processor.
func StartLocked(t testing.TB, processors int) {
	t.Helper()
	startWith(t, netco.Options{Processors: processors, LockThreads: true})
}

func startWith(t testing.TB, o netco.Options) {
	t.Helper()
	if err := netco.Start(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Limit)
		defer cancel()
		if err := netco.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		settle(t)
	})
}

// Go starts fn there. The function it returns waits for it and returns its error; it is for the test's goroutine.
func (p Place) Go(fn func() error) (wait func() error) {
	done := make(chan error, 1)
	run := func() {
		err := errors.New("ended without returning")
		defer func() { done <- err }()
		err = fn()
	}
	if !p.coroutine {
		go run()
	} else if _, err := netco.Go(run); err != nil {
		done <- err
	}
	return func() error { return <-done }
}

// Run runs fn there, waits for it and returns its error. For the test's goroutine.
func (p Place) Run(fn func() error) error { return p.Go(fn)() }

// Do is Run; an error ends the test. For the test's goroutine.
func (p Place) Do(t testing.TB, fn func() error) {
	t.Helper()
	if err := p.Run(fn); err != nil {
		t.Fatal(err)
	}
}

// All runs fn n times at once, each with its number, waits for all of them, and returns their errors.
func (p Place) All(n int, fn func(i int) error) error {
	waits := make([]func() error, n)
	for i := range n {
		waits[i] = p.Go(func() error { return fn(i) })
	}
	errs := make([]error, n)
	for i, wait := range waits {
		if err := wait(); err != nil {
			errs[i] = fmt.Errorf("%d: %w", i, err)
		}
	}
	return errors.Join(errs...)
}
