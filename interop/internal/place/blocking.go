package place

import (
	"context"
	"testing"
	"time"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/internal/testrun"
)

// Blocking runs fn, which may block its thread: on a coroutine through package blocking, on a goroutine in place.
func Blocking(fn func() error) error {
	_, err := blocking.Call(context.Background(), func() (none struct{}, _ error) {
		return none, fn()
	})
	return err
}

// A Way is how a place calls a library that may block.
type Way struct {
	Place
	call func(fn func() error) error
}

// Go starts a call there, as Place.Go does.
func (w Way) Go(fn func() error) (wait func() error) {
	return w.Place.Go(func() error { return w.call(fn) })
}

// Run makes a call there and returns its error, as Place.Run does.
func (w Way) Run(fn func() error) error { return w.Go(fn)() }

// Do makes a call there, as Place.Do does.
func (w Way) Do(t testing.TB, fn func() error) {
	t.Helper()
	w.Place.Do(t, func() error { return w.call(fn) })
}

// All makes n calls at once, as Place.All does.
func (w Way) All(n int, fn func(i int) error) error {
	return w.Place.All(n, func(i int) error { return w.call(func() error { return fn(i) }) })
}

// The ways. Goroutines always call the library themselves.
var (
	Direct  = []Way{{Goroutine, Directly}, {OneProcessor, Directly}, {Coroutine, Directly}}     // coroutines do, too
	Through = []Way{{Goroutine, Directly}, through(OneProcessor), through(Coroutine)}           // coroutines use package blocking
	Every   = []Way{Direct[0], Direct[1], Direct[2], through(OneProcessor), through(Coroutine)} // coroutines do either
)

// GoesOn reports whether a Processor goes on without a coroutine that blocks in
// a library. With the portable context backend it does not, nor after
// StartLocked.
func GoesOn() bool { return testrun.CanHandOn() == nil }

// Waiting returns the ways for what has coroutines of one Processor wait for one
// another inside a library, in its channels and mutexes.
func Waiting() []Way {
	if GoesOn() {
		return Every
	}
	return Through
}

// Directly runs fn in place.
func Directly(fn func() error) error { return fn() }

func through(p Place) Way {
	p.Name += ", through blocking"
	return Way{p, Blocking}
}

// settle waits for the ends of functions that package blocking runs.
func settle(t testing.TB) {
	t.Helper()
	p := blocking.Default()
	for begin := time.Now(); p.Stats().Running > 0; time.Sleep(time.Millisecond) {
		if time.Since(begin) > Limit {
			t.Errorf("package blocking has not come to rest: %+v", p.Stats())
			return
		}
	}
}
