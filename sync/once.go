package sync

import (
	"runtime"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// Once calls a function once, as sync.Once does. The zero value is ready for
// use. It must not be copied after first use.
type Once struct {
	_    noCopy
	done atomic.Bool
	m    Mutex
}

// Do calls f if this is the first call of Do. Other calls wait until the f of
// the first call has returned: a coroutine parks, a goroutine blocks. f may
// park. As with [sync.Once], an f that panics or ends its coroutine counts as
// called, and an f that calls Do deadlocks. A forced shutdown ends a waiting
// coroutine ([coroutine.Unwind]).
func (o *Once) Do(f func()) {
	if !o.done.Load() {
		o.doSlow(f)
	}
}

func (o *Once) doSlow(f func()) {
	o.m.Lock()
	defer o.m.Unlock()
	if !o.done.Load() {
		defer o.done.Store(true)
		f()
	}
}

// OnceFunc returns a function that calls f once, on its first call. Other calls
// wait for the first, as in [Once.Do]. If f panics, every call panics with the
// same value. If f ends its coroutine or goroutine (runtime.Goexit), as all
// waits do at a forced shutdown, so does every call.
func OnceFunc(f func()) func() {
	o := &onceCall{f: f}
	return o.call
}

// OnceValue is [OnceFunc] for a function with a result, which every call
// returns.
func OnceValue[T any](f func() T) func() T {
	var result T
	call := OnceFunc(func() { result = f() })
	return func() T {
		call()
		return result
	}
}

// OnceValues is [OnceValue] for two results.
func OnceValues[T1, T2 any](f func() (T1, T2)) func() (T1, T2) {
	var r1 T1
	var r2 T2
	call := OnceFunc(func() { r1, r2 = f() })
	return func() (T1, T2) {
		call()
		return r1, r2
	}
}

// onceCall is the state of a OnceFunc. Its other fields are written in once.Do.
type onceCall struct {
	once     Once
	f        func() // nil after the call, so that its closure can be freed
	returned bool
	panicked any // the value of the panic of f, or nil
}

func (o *onceCall) call() {
	o.once.Do(o.first)
	switch {
	case o.returned:
	case o.panicked != nil:
		panic(o.panicked)
	default:
		runtime.Goexit()
	}
}

func (o *onceCall) first() {
	defer func() {
		o.f = nil
		if o.returned {
			return
		}
		if o.panicked = coroutine.Recovered(recover()); o.panicked != nil {
			panic(o.panicked) // the stack still has the frames of f
		}
	}()
	o.f()
	o.returned = true
}

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
