package goruntime

import (
	"errors"
	"reflect"
	"runtime"
	"slices"
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
	// Unblocked: it runs or could run, or the runtime itself has stopped it, as
	// for the collector.
	Unblocked Standing = iota
	// Blocked: it waits for other code, or is in a system call or in C.
	Blocked
	// Switched: it is parked in a coro.
	Switched
)

// The fields of a goroutine's struct that show its standing, from its number
// on: runtime.g has atomicstatus, stackLock, goid, schedlink, waitsince,
// waitreason; and later on racectx, waiting.
const (
	statusBeforeGoid = 8
	reasonAfterGoid  = 24
	waitingAfterCtx  = 8

	statusRunning = 2
	statusSyscall = 3
	statusWaiting = 4
	statusScan    = 0x1000 // a bit: the collector scans the stack
)

// waitReasons are a release's values of runtime.waitReason for waits of user
// code, for a wait for a semaphore, and for a goroutine parked in a coro. Waits
// of user code do not include a wait for the collector, to which any allocation
// may lead: such a goroutine may be in the middle of anything.
type waitReasons struct {
	release             string // a prefix of runtime.Version
	user                []uint8
	chanReceive, choice uint8
	semaphore           uint8
	coroutine           uint8
	racectxAfterGoid    uintptr
	namesSemaphores     bool    // g.waiting is set for them, too
	waiterLink          uintptr // of runtime.sudog: its waitlink
	waiterChannel       uintptr // and its channel
}

var knownReasons = []waitReasons{
	// IO wait; nil channels; select; select without cases; channels; sleep;
	// sync.Cond, Mutex, RWMutex twice, WaitGroup; runtime.GC; synctest.Run
	{"go1.25", []uint8{2, 3, 4, 9, 10, 14, 15, 20, 21, 22, 23, 24, 25, 27, 40},
		14, 9, 19, 38, 152, false, 64, 80},
	{"go1.26", []uint8{2, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 27, 40},
		19, 18, 13, 38, 160, true, 72, 96},
	{"go1.27", []uint8{2, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 27, 40},
		19, 18, 13, 38, 160, true, 72, 96},
}

// The fields of a semaphore's waiter, runtime.sudog, that name its goroutine
// and the semaphore.
const (
	sudogGoroutine = 0
	sudogAddress   = 32
)

var errStandings = errors.New("the marks of a waiting goroutine in this Go release were not found")

// standings has the facts about this release that StandingOf needs. Written
// once, by FindStandings.
var standings struct {
	racectx   uintptr
	waiting   uintptr
	semaphore int // the reason, or -1 if a waiter does not name its semaphore
	reason    [256]Standing
	stacks    bool // whether StackOf works

	receive, choice uint8   // the reasons of a receive and a select
	link, channel   uintptr // in a waiter
}

// FindStandings prepares StandingOf. The error says that this Go release is not
// understood. The first call takes some 100 µs.
var FindStandings = sync.OnceValue(findStandings)

func findStandings() error {
	if err := findGoroutines(); err != nil {
		return err
	}
	var known *waitReasons
	for i := range knownReasons {
		if strings.HasPrefix(runtime.Version(), knownReasons[i].release) {
			known = &knownReasons[i]
		}
	}
	if known == nil {
		return errStandings
	}
	for _, reason := range known.user {
		standings.reason[reason] = Blocked
	}
	standings.reason[known.coroutine] = Switched
	standings.racectx = goidInG + known.racectxAfterGoid
	standings.waiting = standings.racectx + waitingAfterCtx
	standings.semaphore = -1
	if known.namesSemaphores {
		standings.semaphore = int(known.semaphore)
	}
	standings.receive, standings.choice = known.chanReceive, known.choice
	standings.link, standings.channel = known.waiterLink, known.waiterChannel
	return known.probe()
}

// probe checks the offsets on goroutines whose state it knows.
func (w *waitReasons) probe() error {
	var receiving, choosing atomic.Uintptr
	over, other := make(chan struct{}), make(chan struct{})
	defer close(over)
	receive := func() { receiving.Store(asm.Getg()); <-over }
	go receive()
	go func() {
		choosing.Store(asm.Getg())
		select {
		case <-over:
		case <-other:
		}
	}()
	is := func(g uintptr, status uint32, reason uint8) bool {
		return g != 0 && statusOf(g) == status &&
			(status != statusWaiting || reasonOf(g) == reason && waitsInSudog(g))
	}
	one, two := reflect.ValueOf(over).Pointer(), reflect.ValueOf(other).Pointer()
	in := func(g uintptr, want ...uintptr) bool {
		got, ok := channelsOf(g)
		slices.Sort(got)
		slices.Sort(want)
		return ok && slices.Equal(got, want)
	}
	for end := time.Now().Add(time.Second); ; runtime.Gosched() {
		if is(asm.Getg(), statusRunning, 0) && is(receiving.Load(), statusWaiting, w.chanReceive) &&
			is(choosing.Load(), statusWaiting, w.choice) && in(receiving.Load(), one) &&
			in(choosing.Load(), one, two) {
			probeStack(receiving.Load(),
				runtime.FuncForPC(reflect.ValueOf(receive).Pointer()).Name())
			return nil
		}
		if time.Now().After(end) {
			return errStandings
		}
	}
}

// StandingOf returns the standing of the goroutine for which asm.Getg returned
// g at some time; g may belong to another goroutine by now. From any thread.
// Precondition: FindStandings has succeeded.
func StandingOf(g uintptr) Standing {
	switch statusOf(g) {
	case statusSyscall:
		return Blocked
	case statusWaiting:
		reason := reasonOf(g)
		if int(reason) == standings.semaphore && waitsForUserSemaphore(g) {
			return Blocked
		}
		return standings.reason[reason]
	}
	return Unblocked
}

// waitsForUserSemaphore reports whether g, which waits for a semaphore, does so
// in user code: for one of internal/poll's, as the second reader of a file
// does, or its Close. Those semaphores are on the heap. The runtime's own are
// variables, less than 4 GiB from this package's variables, since instructions
// reach both by offsets of 32 bits.
//
// A waiter's struct is reused for other goroutines, so its goroutine is checked
// again, twice, after its semaphore was read.
func waitsForUserSemaphore(g uintptr) bool {
	waiter := asm.Load(g + standings.waiting)
	if waiter == 0 {
		return false
	}
	at := asm.Load(waiter + sudogAddress)
	for range 2 {
		if asm.Load(waiter+sudogGoroutine) != g || asm.Load(g+standings.waiting) != waiter ||
			asm.Load(waiter+sudogAddress) != at {
			return false
		}
	}
	here := reflect.ValueOf(&standings).Pointer()
	return (max(at, here)-min(at, here))>>32 != 0
}

// waitsInSudog reports whether g.waiting refers to a waiter of g's, which waits
// in a channel.
func waitsInSudog(g uintptr) bool {
	waiter := asm.Load(g + standings.waiting)
	return waiter != 0 && asm.Load(waiter+sudogGoroutine) == g
}

func statusOf(g uintptr) uint32 {
	return uint32(asm.Load(g+goidInG-statusBeforeGoid)) &^ statusScan
}

func reasonOf(g uintptr) uint8 { return uint8(asm.Load(g + goidInG + reasonAfterGoid)) }
