package scheduler_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// patience is when a test gives up.
const patience = time.Minute

// observed is a Scheduler whose stalls a test looks at.
type observed struct {
	*scheduler.Scheduler
	stalls chan scheduler.Stall
}

// observe starts a Scheduler with the given threshold.
func observe(t *testing.T, processors int, threshold time.Duration) observed {
	t.Helper()
	o := observed{stalls: make(chan scheduler.Stall, 10_000)}
	o.Scheduler = start(t, scheduler.Options{Processors: processors, Watchdog: threshold,
		OnStall: o.record, LockThreads: true})
	return o
}

func (o observed) record(s scheduler.Stall) { o.stalls <- s }

// next returns the next report that fits. Other reports are no failure: on a
// busy machine a Processor may stall by itself.
func (o observed) next(t *testing.T, what string, fits func(scheduler.Stall) bool) scheduler.Stall {
	t.Helper()
	for limit := time.After(patience); ; {
		select {
		case s := <-o.stalls:
			if fits(s) {
				return s
			}
		case <-limit:
			t.Fatalf("waited for %s in vain; stalls: %+v", what, o.Stalls())
		}
	}
}

// named returns the next report of a coroutine of that name.
func (o observed) named(t *testing.T, name string, over bool) scheduler.Stall {
	t.Helper()
	return o.next(t, fmt.Sprintf("%q, over %v", name, over), func(s scheduler.Stall) bool {
		return s.Name == name && s.Over == over
	})
}

// caught returns the next report of a stall that begins on that Processor, and
// whether it fits.
func (o observed) caught(t *testing.T, processor int,
	fits func(scheduler.Stall) bool) (s scheduler.Stall, ok bool) {
	t.Helper()
	s = o.next(t, "a stall", func(s scheduler.Stall) bool {
		return s.Processor == processor && !s.Over
	})
	return s, fits(s)
}

// in fits the stall of a coroutine at a place for a cause.
func in(name, place, cause string) func(scheduler.Stall) bool {
	return func(s scheduler.Stall) bool {
		return s.Name == name && s.Cause == cause && strings.Contains(s.Stack, place)
	}
}

// insist makes attempts until an attempt has caught the stall that it wants. On
// a busy machine a thread may not get a CPU on its way into that stall. It has
// stalled there then, and a stall is reported once.
func insist(t *testing.T, attempt func() (s scheduler.Stall, caught bool)) {
	t.Helper()
	for n, end := 1, time.Now().Add(patience); ; n++ {
		s, caught := attempt()
		if caught || t.Failed() {
			return
		}
		if n >= 3 && time.Now().After(end) {
			t.Fatalf("not caught in %d attempts; the last: %+v", n, s)
		}
	}
}

// staller is a way to stall a Processor, and what the report says beside the
// cause.
type staller struct {
	blocker
	detail string
}

var stallers = []staller{
	{blockerCalled("channel receive"), "chan receive"},
	{blockerCalled("nested select"), "select"},
	{blockerCalled("Sleep"), "sleep"},
	{blockerCalled("Mutex"), "sync.Mutex.Lock"},
	{blockerCalled("RWMutex for reading"), "sync.RWMutex.RLock"},
	{blockerCalled("Cond"), "sync.Cond.Wait"},
	{blockerCalled("WaitGroup"), "sync.WaitGroup.Wait"},
	{blockerCalled("system call"), "unix.read"},
	{blockerCalled("file"), "IO wait"},
	{blocker{"lock of a file", diagnose.CauseSyscall, fileLock}, "syscall.Flock"},
	{blocker{"computation", diagnose.CauseComputation, computation}, ""},
}

func blockerCalled(name string) blocker {
	return blockers[slices.IndexFunc(blockers, func(b blocker) bool { return b.name == name })]
}

func fileLock(t *testing.T) (wait, release func()) {
	name := filepath.Join(t.TempDir(), "lock")
	open := func() int {
		fd := testenv.Must(syscall.Open(name, syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC,
			0o600))
		t.Cleanup(func() { syscall.Close(fd) })
		return fd
	}
	held, wanted := open(), open()
	testenv.OK(t, syscall.Flock(held, syscall.LOCK_EX))
	return func() { syscall.Flock(wanted, syscall.LOCK_EX) },
		func() { syscall.Flock(held, syscall.LOCK_UN) }
}

func computation(*testing.T) (wait, release func()) {
	var over atomic.Bool
	return func() {
		for !over.Load() {
		}
	}, func() { over.Store(true) }
}

// stallIn calls a blocker's wait; its name must be in the stack.
//
//go:noinline
func stallIn(wait func()) { wait() }

// fits reports whether s is a stall by st. Where others have the CPUs, a
// computation was not scheduled.
func (st staller) fits(s scheduler.Stall) bool {
	if st.cause == diagnose.CauseComputation && s.Cause == diagnose.CauseNotScheduled {
		s.Cause = st.cause
	}
	return in(st.name, "stallIn", st.cause)(s)
}

// TestStalls: a stall of each kind is reported once, with its coroutine, place,
// cause and length.
func TestStalls(t *testing.T) {
	for _, b := range stallers {
		t.Run(b.name, func(t *testing.T) {
			insist(t, func() (scheduler.Stall, bool) { return stallBy(t, b) })
		})
	}
}

// stallBy makes one attempt at a stall.
func stallBy(t *testing.T, b staller) (s scheduler.Stall, caught bool) {
	const threshold = 20 * time.Millisecond
	wait, release := b.make(t)
	before := time.Now()
	o := observe(t, 2, threshold)
	var id atomic.Uint64
	var done atomic.Bool
	testenv.Must(o.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(1), Name: b.name, Fn: func() {
		id.Store(coroutine.Current().ID())
		stallIn(wait)
		done.Store(true)
	}}))
	if s, caught = o.caught(t, 1, b.fits); !caught {
		release()
		shutdown(t, o.Scheduler)
		return s, false
	}
	if done.Load() {
		t.Fatal("the test did not stall")
	}
	if s.Processor != 1 || s.Coroutine != id.Load() || s.Length < threshold ||
		s.Began.Before(before) || s.Began.After(time.Now()) {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(s.Detail, b.detail) {
		t.Errorf("cause %q, detail %q", s.Cause, s.Detail)
	}
	if !strings.Contains(s.Site, "watchdog_test.go:") ||
		!strings.HasSuffix(s.Site, "scheduler_test.stallBy") {
		t.Errorf("site %q", s.Site)
	}
	if strings.Contains(s.Stack, "testing.(*M).Run") {
		t.Errorf("stack %s", s.Stack)
	}
	if all := o.Stalls(); len(all) == 0 || !recorded(all, s) {
		t.Errorf("not in Stalls: %+v", all)
	}
	release()
	end := o.named(t, b.name, true)
	if !continues(end, s) {
		t.Errorf("at its end: %+v", end)
	}
	shutdown(t, o.Scheduler)
	n := 0
	for _, s := range o.Stalls() {
		if s.Name == b.name {
			n++
		}
	}
	if n != 1 || o.StallCount(1) < 1 {
		t.Errorf("%d on record, %d counted", n, o.StallCount(1))
	}
	for len(o.stalls) > 0 {
		if s := <-o.stalls; s.Name == b.name {
			t.Errorf("reported once more: %+v", s)
		}
	}
	return s, true
}

func recorded(all []scheduler.Stall, s scheduler.Stall) bool {
	return slices.ContainsFunc(all, func(one scheduler.Stall) bool { return continues(one, s) })
}

// continues reports whether now is a later report of the earlier stall. On a
// busy machine the stall's cause may have been found meanwhile.
func continues(now, earlier scheduler.Stall) bool {
	found := earlier.Cause == diagnose.CauseNotScheduled ||
		strings.HasPrefix(earlier.Detail, "many coroutines")
	return now.Began.Equal(earlier.Began) && now.Coroutine == earlier.Coroutine &&
		(found || now.Length >= earlier.Length && now.Stack == earlier.Stack)
}
