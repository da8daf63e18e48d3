package profile

import (
	"context"
	"hash/maphash"
	"runtime/pprof"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// key is the label whose value is a coroutine's name.
const key = "coroutine"

// Labels gives each named coroutine that starts from now on the profiler label
// "coroutine", with its name, until stop is called. Those that live already are
// not labelled, so call it early: it costs something at a coroutine's start and
// end only, and at those of one without a name less. Goroutines that a
// coroutine starts, and coroutines without a name, begin with its labels, as
// always with labels; one with a name has that label in their place.
//
// Labels that a coroutine sets with pprof.Do stay with it through all its
// waits. But pprof.Do sets the labels of the context that it is given, and
// after it those again, instead of adding to what the goroutine has: give it
// [Context], and the name stays.
//
// At a coroutine's end its goroutine has no labels. A coroutine driven by hand
// has the label of that of a Scheduler which has first resumed it.
func Labels() (stop func()) {
	return coroutine.AddHooks(coroutine.Hooks{Start: label, End: unlabel, Renamed: relabel})
}

// Context returns ctx with the calling coroutine's label, for pprof.Do; ctx
// itself if it has no name, or on an ordinary goroutine.
func Context(ctx context.Context) context.Context {
	co := coroutine.Current()
	if co == nil || co.Name() == "" {
		return ctx
	}
	return pprof.WithLabels(ctx, pprof.Labels(key, co.Name()))
}

func label() {
	if co := coroutine.Current(); co != nil {
		if name := co.Name(); name != "" {
			pprof.SetGoroutineLabels(labelled(name))
		}
	}
}

// relabel is label for one that may have another name's.
func relabel() {
	unlabel()
	label()
}

func unlabel() { pprof.SetGoroutineLabels(context.Background()) }

// known holds the labels of names used lately, each in the place its hash says:
// bounded, whatever names there are, and read without a lock at every start.
var known [256]atomic.Pointer[named]

type named struct {
	name string
	ctx  context.Context // with its label
}

var seed = maphash.MakeSeed()

// labelled returns a context that has the label for name.
func labelled(name string) context.Context {
	at := &known[maphash.String(seed, name)%uint64(len(known))]
	n := at.Load()
	if n == nil || n.name != name {
		n = &named{name, pprof.WithLabels(context.Background(), pprof.Labels(key, name))}
		at.Store(n)
	}
	return n.ctx
}
