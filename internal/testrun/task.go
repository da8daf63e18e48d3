package testrun

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// Place is where code can run.
type Place struct {
	Name string
	Run  func(func()) // starts the function there, and does not wait for it
}

var (
	First     = Place{"coroutine", On(0).Run}
	Second    = Place{"coroutine elsewhere", On(1).Run}
	Goroutine = Place{"goroutine", func(f func()) { go f() }}

	// Places are all kinds, and Coroutines those with one. They need two
	// Processors.
	Places     = []Place{First, Second, Goroutine}
	Coroutines = Places[:2]
)

// On is a coroutine on Processor i.
func On(i int) Place {
	return Place{fmt.Sprint("coroutine on ", i), func(f func()) {
		if _, err := GoOn(i, f); err != nil {
			panic(err)
		}
	}}
}

// Each runs f as a subtest for each place.
func Each(t *testing.T, f func(t *testing.T, p Place)) {
	t.Helper()
	for _, p := range Places {
		t.Run(p.Name, func(t *testing.T) { f(t, p) })
	}
}

// Task is a function that runs in a place.
type Task struct {
	Started, Done chan struct{}
	Co            *coroutine.Coroutine // nil on a goroutine

	g uintptr // the goroutine, as asm.Getg returns it
}

// Go starts f in p.
func (p Place) Go(f func()) *Task {
	k := &Task{Started: make(chan struct{}), Done: make(chan struct{})}
	p.Run(func() {
		defer close(k.Done)
		k.Co, k.g = coroutine.Current(), asm.Getg()
		close(k.Started)
		f()
	})
	return k
}

// Do runs f in p and returns when it has ended.
func (p Place) Do(t testing.TB, f func()) {
	t.Helper()
	p.Go(f).Wait(t)
}

// Wait waits for the task to end.
func (tk *Task) Wait(t testing.TB) {
	t.Helper()
	testenv.Await(t, tk.Done, "the task to end")
}

// WaitAll waits for the tasks to end.
func WaitAll(t testing.TB, tasks ...*Task) {
	t.Helper()
	for _, k := range tasks {
		k.Wait(t)
	}
}

// Over reports whether the task has ended.
func (tk *Task) Over() bool {
	select {
	case <-tk.Done:
		return true
	default:
		return false
	}
}

// Park starts f in p, and waits until it is parked for the given reason, on a
// goroutine for any.
func (p Place) Park(t testing.TB, reason coroutine.Reason, f func()) *Task {
	t.Helper()
	k := p.Go(f)
	k.UntilParked(t, reason)
	return k
}

// UntilParked waits until the task is parked for the given reason, on a
// goroutine for any.
func (tk *Task) UntilParked(t testing.TB, reason coroutine.Reason) {
	t.Helper()
	testenv.Await(t, tk.Started, "the task to start")
	testenv.Until(t, "the task to park", func() bool {
		if tk.Over() {
			t.Fatalf("the task has ended instead of waiting for %v", reason)
		}
		return tk.Parked(reason)
	})
}

// Parked reports whether the task is parked for the given reason, on a
// goroutine for any: it waits in a channel or in a select.
func (tk *Task) Parked(reason coroutine.Reason) bool {
	<-tk.Started
	if tk.Co != nil {
		return tk.Co.State() == coroutine.Waiting && tk.Co.Reason() == reason
	}
	testenv.MustOK(goruntime.FindStacks())
	var pcs [8]uintptr
	calls := goruntime.Frames(pcs[:goruntime.StackOf(tk.g, pcs[:])])
	inChannel := slices.ContainsFunc(calls, func(f runtime.Frame) bool {
		return f.Function == "runtime.chanrecv" || f.Function == "runtime.selectgo"
	})
	return inChannel && !tk.Over() // another goroutine may be g afterwards
}
