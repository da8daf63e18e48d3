package cosync

import (
	"runtime"

	"github.com/netco-go/netco/coroutine"
)

// OnceFunc returns a function that calls f once, however often and from wherever it is called. Those who call it meanwhile wait, as in
// [Once.Do]. If f panics, the returned function panics with the same value on every call. If f ends its coroutine or goroutine
// (runtime.Goexit), as all waits do when the scheduler ends by force, then so does every call.
func OnceFunc(f func()) func() {
	o := &onceCall{f: f}
	return o.call
}

// OnceValue is [OnceFunc] for a function that returns a value, which is returned by every call.
func OnceValue[T any](f func() T) func() T {
	var result T
	call := OnceFunc(func() { result = f() })
	return func() T {
		call()
		return result
	}
}

// OnceValues is [OnceValue] for two values.
func OnceValues[T1, T2 any](f func() (T1, T2)) func() (T1, T2) {
	var r1 T1
	var r2 T2
	call := OnceFunc(func() { r1, r2 = f() })
	return func() (T1, T2) {
		call()
		return r1, r2
	}
}

// onceCall is a call that is made once. Its fields but once are written in once.Do.
type onceCall struct {
	once     Once
	f        func() // nil when it has been called: what it holds on to is not kept
	returned bool
	panicked any // not nil: what f has panicked with
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
			panic(o.panicked) // here the stack still shows where it comes from
		}
	}()
	o.f()
	o.returned = true
}
