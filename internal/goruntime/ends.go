package goruntime

import (
	"math"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/netco-go/netco/asm"
)

// What ends waits without any goroutine's doing: timers and signals.

// NoTimers reports whether no timer of Go's is set in the process: none of
// package time's, no sleep, no deadline of a connection of package net. One
// that was stopped may count until its time has come. It returns false if this
// Go release is not understood. From any thread; the first call takes some
// milliseconds.
func NoTimers() bool {
	next := nextTimer()
	return next != nil && next() == noTimer
}

// noTimer is runtime.maxWhen.
const noTimer = math.MaxInt64

// nextTimer returns the runtime's function that says when the next timer is
// due, as its own search for deadlocks asks; nil if it was not found. The
// runtime calls it without arguments on any thread, and it takes one lock.
var nextTimer = sync.OnceValue(func() func() int64 {
	if Verified() != nil {
		return nil
	}
	found := findFuncs("runtime.timeSleepUntil")
	if found == nil {
		return nil
	}
	next := asm.At[func() int64](found[0])
	for d := time.Millisecond; d < time.Second; d *= 2 { // this thread may lose its core
		fired := make(chan struct{})
		time.AfterFunc(d, func() { close(fired) })
		when := next()
		<-fired
		if when != noTimer {
			return next
		}
	}
	return nil
})

// AwaitsSignal reports whether the goroutine g, an identity that asm.Getg
// returned once, may be about to receive from a channel of signals: unless it
// is seen to wait for something else. From any thread. Precondition:
// FindStandings has succeeded.
func AwaitsSignal(g uintptr) bool {
	reason := reasonOf(g)
	if statusOf(g) != statusWaiting {
		return true
	}
	if reason != standings.receive && reason != standings.choice {
		return StandingOf(g) != Blocked
	}
	channels, ok := channelsOf(g)
	if !ok || len(channels) == 0 {
		return true
	}
	signal := reflect.ValueOf(reflect.TypeFor[os.Signal]()).Pointer()
	for _, c := range channels {
		for field := uintptr(0); field < channelSize; field += 8 {
			if asm.Load(c+field) == signal { // its element's type
				return true
			}
		}
	}
	return false
}

// channelSize is the least size of runtime.hchan in the releases verified.
const channelSize = 96

// mostChannels is how many cases of a select are followed.
const mostChannels = 64

// channelsOf returns the channels that g waits in. false means that it may have
// run meanwhile, or waits in too many. A waiter's struct is used again but
// never freed; a channel's memory stays mapped, as StackOf says of stacks'.
func channelsOf(g uintptr) (list []uintptr, ok bool) {
	first := asm.Load(g + standings.waiting)
	for w := first; w != 0; w = asm.Load(w + standings.link) {
		c := asm.Load(w + standings.channel)
		if asm.Load(w+sudogGoroutine) != g || c == 0 || len(list) == mostChannels {
			return nil, false
		}
		list = append(list, c)
	}
	return list, statusOf(g) == statusWaiting && asm.Load(g+standings.waiting) == first
}
