package goruntime

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/asm"
)

// Standing is how far a goroutine is from running, as another thread sees it.
type Standing uint8

// The standings.
const (
	Unblocked Standing = iota // it runs or could run, or the runtime itself has stopped it, for the collector say
	Blocked                   // it waits for something that other code brings about, or is in a system call or in C
	Switched                  // it is parked in a coro
)

// What of a goroutine's struct tells that, from its number on: runtime.g has
// atomicstatus, stackLock, goid, schedlink, waitsince, waitreason, eleven bytes,
// raceignore; and later on racectx, waiting.
const (
	statusBeforeGoid = 8
	reasonAfterGoid  = 24
	ignoreAfterGoid  = 36
	waitingAfterCtx  = 8

	statusRunning = 2
	statusSyscall = 3
	statusWaiting = 4
	statusScan    = 0x1000 // a bit: the collector looks at the stack
)

// waitReasons are the values of runtime.waitReason that a release has for waits
// of user code, and for a goroutine that is parked in a coro. A wait of the
// collector's, or for a semaphore, which the collector uses too, is not among
// them: such a goroutine may be in the middle of anything.
type waitReasons struct {
	release             string // a prefix of runtime.Version
	user                []uint8
	chanReceive, choice uint8
	coroutine           uint8
	racectxAfterGoid    uintptr
}

var knownReasons = []waitReasons{
	// IO wait; nil channels; select; select without cases; channels; sleep; sync.Cond, Mutex, RWMutex twice, WaitGroup
	{"go1.25", []uint8{2, 3, 4, 9, 10, 14, 15, 20, 21, 22, 23, 24, 25}, 14, 9, 38, 152},
	{"go1.26", []uint8{2, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25}, 19, 18, 38, 160},
	{"go1.27", []uint8{2, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25}, 19, 18, 38, 160},
}

var errStandings = errors.New("how this Go release marks a goroutine that waits was not found")

// sudogGoroutine is where what g.waiting refers to, a runtime.sudog, has its
// goroutine.
const sudogGoroutine = 0

// standings is what StandingOf goes by. Written once, by FindStandings.
var standings struct {
	goid    uintptr
	racectx uintptr
	waiting uintptr
	reason  [256]Standing
}

// FindStandings prepares StandingOf. The error says that this Go release is not
// understood. The first call takes some 100 µs.
var FindStandings = sync.OnceValue(findStandings)

func findStandings() error {
	goid, err := asm.GoidOffset()
	if err != nil {
		return err
	}
	var known *waitReasons
	for i := range knownReasons {
		if strings.HasPrefix(runtime.Version(), knownReasons[i].release) && Verified() == nil {
			known = &knownReasons[i]
		}
	}
	if known == nil {
		return errStandings
	}
	standings.goid = goid
	for _, reason := range known.user {
		standings.reason[reason] = Blocked
	}
	standings.reason[known.coroutine] = Switched
	standings.racectx = goid + known.racectxAfterGoid
	standings.waiting = standings.racectx + waitingAfterCtx
	return known.probe()
}

// probe looks at goroutines of which it knows what they do.
func (k *waitReasons) probe() error {
	var receiving, choosing atomic.Uintptr
	over := make(chan struct{})
	defer close(over)
	go func() { receiving.Store(asm.Getg()); <-over }()
	go func() {
		choosing.Store(asm.Getg())
		select {
		case <-over:
		case <-make(chan struct{}):
		}
	}()
	is := func(g uintptr, status uint32, reason uint8) bool {
		return g != 0 && statusOf(g) == status && (status != statusWaiting || reasonOf(g) == reason && waitsInSudog(g))
	}
	for end := time.Now().Add(time.Second); ; runtime.Gosched() {
		if is(asm.Getg(), statusRunning, 0) && is(receiving.Load(), statusWaiting, k.chanReceive) &&
			is(choosing.Load(), statusWaiting, k.choice) {
			return nil
		}
		if time.Now().After(end) {
			return errStandings
		}
	}
}

// StandingOf returns the standing of a goroutine of which asm.Getg gave g at
// some time; it may be another goroutine's by now. From any thread.
// Precondition: FindStandings has succeeded.
func StandingOf(g uintptr) Standing {
	switch statusOf(g) {
	case statusSyscall:
		return Blocked
	case statusWaiting:
		return standings.reason[reasonOf(g)]
	}
	return Unblocked
}

// waitsInSudog reports whether g.waiting refers to a waiter of g's. g waits in a
// channel.
func waitsInSudog(g uintptr) bool {
	waiter := asm.Load(g + standings.waiting)
	return waiter != 0 && asm.Load(waiter+sudogGoroutine) == g
}

func statusOf(g uintptr) uint32 {
	return uint32(asm.Load(g+standings.goid-statusBeforeGoid)) &^ statusScan
}

func reasonOf(g uintptr) uint8 { return uint8(asm.Load(g + standings.goid + reasonAfterGoid)) }
