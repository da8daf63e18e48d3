// Package sync is the standard library's package sync for coroutines. It has
// all of that package's names and no others, so that a lock held across a wait
// is one changed import:
//
//	import "sync"                              // before
//	import "github.com/netco-go/netco/sync"    // after
//
// A coroutine that must wait parks, and its Processor runs others meanwhile; an
// ordinary goroutine blocks, as with the standard's. Both may share a value, on
// any number of threads.
//
// # What is netco's
//
// [Mutex], [Cond] and [Once], with [OnceFunc], [OnceValue] and [OnceValues],
// are package cosync's, and [RWMutex] is package rwmutex's; they have bounded
// waits besides, such as LockTimeout. [WaitGroup] is cosync's, with the
// standard's Go. Zero values are ready for use. Values must not be copied after
// first use.
//
// # What is the standard's
//
// [Locker], [Map] and [Pool] are aliases of the standard's types. Map and Pool
// hold locks of their own only while they compute, and never while they call a
// function of the program's, so a coroutine may use them as they are. A
// Mutex or RWMutex of this package is a [Locker] of the standard's to any
// library.
//
// # What differs
//
//   - Misuse, such as the Unlock of a Mutex that is not locked, panics with the
//     text of package cosync or rwmutex, and changes nothing. The standard's
//     ends the program with a fatal error.
//   - At a forced shutdown of the scheduler, a wait ends its coroutine: the
//     deferred calls run (coroutine.Unwind).
//   - Bounded waits, on coroutines and goroutines, are part of the types.
//   - A function that takes the standard's *sync.Mutex, *sync.WaitGroup or
//     *sync.Cond does not take those of this package, and does not compile.
//   - What waits on a lock of this package in a bubble of testing/synctest is
//     durably blocked, also on a Mutex; the standard's Mutex is not.
package sync

import (
	stdsync "sync"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/cosync"
	"github.com/netco-go/netco/internal/beside"
	"github.com/netco-go/netco/rwmutex"
)

// Types that park coroutines and block ordinary goroutines.
type (
	Mutex   = cosync.Mutex
	RWMutex = rwmutex.RWMutex
	Cond    = cosync.Cond
	Once    = cosync.Once
)

// Types of the standard library, see there. None of their methods waits for
// what a coroutine does between two calls.
type (
	Locker = stdsync.Locker
	Map    = stdsync.Map
	Pool   = stdsync.Pool
)

// NewCond returns a Cond with the given L, which should be a Mutex or RWMutex
// of this package.
func NewCond(l Locker) *Cond { return cosync.NewCond(l) }

// OnceFunc returns a function that calls f once, on its first call. Other calls
// wait until it has returned: coroutines park. f may park. If f panics, every
// call panics with the same value.
func OnceFunc(f func()) func() { return cosync.OnceFunc(f) }

// OnceValue is [OnceFunc] for a function with a result, which every call
// returns.
func OnceValue[T any](f func() T) func() T { return cosync.OnceValue(f) }

// OnceValues is [OnceValue] for two results.
func OnceValues[T1, T2 any](f func() (T1, T2)) func() (T1, T2) { return cosync.OnceValues(f) }

// WaitGroup waits for a number of coroutines or goroutines to end. It is
// [cosync.WaitGroup] with the standard's Go. The zero value is ready for use.
type WaitGroup struct {
	cosync.WaitGroup
}

// Go adds 1 to the count and calls f on a coroutine, as netco.Go does, if a
// coroutine calls it, and else on a goroutine. The count falls again when f
// returns. It does not park.
//
// f runs in any case, as the standard's does: where a coroutine is refused,
// because of Options.MaxCoroutines or a shutdown, on a goroutine.
// [cosync.WaitGroup.Go] returns such an error.
//
//go:noinline
func (wg *WaitGroup) Go(f func()) {
	site := asm.CallerPC()
	wg.Add(1)
	beside.Go(f, wg.Done, site)
}
