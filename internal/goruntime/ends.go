package goruntime

import (
	"math"
	"os"
	"reflect"
	"sync"

	"github.com/netco-go/netco/asm"
)

// Timers and signals end waits without another goroutine.

// NoTimers reports whether no timer of Go's is set in the process: none of
// package time's, no sleep, no deadline of a connection of package net. A
// stopped timer may count until its time has come. It returns false if this Go
// release is not understood. From any thread; the first call takes some
// milliseconds.
func NoTimers() bool {
	return findEnds() && ends.nextTimer() == noTimer
}

// noTimer is runtime.maxWhen.
const noTimer = math.MaxInt64

// ends are two functions of the runtime. nextTimer returns the time of the next
// timer; the runtime's search for deadlocks calls it. goroutines calls f for
// every goroutine that ever was; tracebacks use it. Any thread may call them;
// nextTimer takes a lock.
var ends struct {
	nextTimer  func() int64
	goroutines func(func(g uintptr))
}

// findEnds fills in ends and reports whether it has found them.
var findEnds = sync.OnceValue(func() bool {
	if Verified() != nil || FindStandings() != nil {
		return false
	}
	found := findFuncs("runtime.timeSleepUntil", "runtime.forEachGRace")
	if found == nil {
		return false
	}
	ends.nextTimer = asm.At[func() int64](found[0])
	ends.goroutines = asm.At[func(func(uintptr))](found[1])
	return true
})

// SignalAwaited reports whether a goroutine waits in a Go channel of signals.
// It ignores goroutines for which except returns true. It returns true if this
// Go release is not understood. From any thread. It stops no goroutine, and
// takes some 10 ns for each, as many as there ever were at once.
func SignalAwaited(except func(g uintptr) bool) (awaited bool) {
	if !findEnds() {
		return true
	}
	ends.goroutines(func(g uintptr) {
		awaited = awaited || awaitsSignal(g) && !except(g)
	})
	return awaited
}

// awaitsSignal reports whether g, an identity that asm.Getg returned once, is
// in a receive or a select on a channel of signals, or on channels that are not
// known.
func awaitsSignal(g uintptr) bool {
	reason := reasonOf(g)
	if statusOf(g) != statusWaiting || reason != standings.receive && reason != standings.choice {
		return false
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

// channelsOf returns the channels that g waits in. false means that g may have
// run meanwhile, or waits in too many. A waiter's struct is reused but never
// freed. A channel's memory stays mapped, like that of a stack, see StackOf.
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
