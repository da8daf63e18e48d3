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
	// Blocked: it waits for what other code does, or is in a system call or in
	// C.
	Blocked
	// Switched: it is parked in a coro.
	Switched
)

// The fields of a goroutine's struct that show it, from its number on:
// runtime.g has atomicstatus, stackLock, goid, schedlink, waitsince,
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

// waitReasons are the values of runtime.waitReason that a release has for waits
// of user code, for a goroutine that waits for a semaphore, and for one that is
// parked in a coro. A wait that an allocation may lead to, for the collector,
// is not among the first: such a goroutine may be in the middle of anything.
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

// The fields of a semaphore's waiter, runtime.sudog, that name what it waits
// for.
const (
	sudogGoroutine = 0
	sudogAddress   = 32
)

var errStandings = errors.New("how this Go release marks a goroutine that waits was not found")

// standings is what StandingOf needs of this release. Written once, by
// FindStandings.
var standings struct {
	racectx   uintptr
	waiting   uintptr
	semaphore int // the reason, or -1 if which one is not known
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

// probe checks the offsets on goroutines of which it knows what they do.
func (k *waitReasons) probe() error {
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
		if is(asm.Getg(), statusRunning, 0) && is(receiving.Load(), statusWaiting, k.chanReceive) &&
			is(choosing.Load(), statusWaiting, k.choice) && in(receiving.Load(), one) &&
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

// StandingOf returns the standing of a goroutine of which asm.Getg gave g at
// some time; it may be another goroutine's by now. From any thread.
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
// does, or its Close. Those are on the heap. The runtime's own are variables of
// its, and so less than 4 GiB from this package's: what reaches both has 32
// bits for that.
//
// A waiter's struct is used again, for other goroutines, so whose it is is read
// before and after, twice.
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

// waitsInSudog reports whether g.waiting refers to a waiter of g's. g waits in
// a channel.
func waitsInSudog(g uintptr) bool {
	waiter := asm.Load(g + standings.waiting)
	return waiter != 0 && asm.Load(waiter+sudogGoroutine) == g
}

func statusOf(g uintptr) uint32 {
	return uint32(asm.Load(g+goidInG-statusBeforeGoid)) &^ statusScan
}

func reasonOf(g uintptr) uint8 { return uint8(asm.Load(g + goidInG + reasonAfterGoid)) }
