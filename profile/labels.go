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
// "coroutine", with its name, until stop is called. Coroutines that live
// already get no label, so call Labels early: it costs time only at a
// coroutine's start and end, less for a coroutine without a name. Goroutines
// and unnamed coroutines that a coroutine starts inherit its labels, as always
// with labels; a named coroutine gets its own label instead.
//
// Labels that a coroutine sets with pprof.Do stay with it through all its
// waits. But pprof.Do replaces the goroutine's labels by the labels of its
// context, before and after the call: pass it [Context], and the name stays.
//
// At a coroutine's end its goroutine has no labels. A coroutine driven by hand
// has the label of the Scheduler's coroutine that first resumed it.
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

// relabel is label for a coroutine that may have the label of another name.
func relabel() {
	unlabel()
	label()
}

func unlabel() { pprof.SetGoroutineLabels(context.Background()) }

// known is a cache of the labels of recent names, indexed by the name's hash.
// It is bounded, and every start of a coroutine reads it without a lock.
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
