package diagnose_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

// observe starts one with the given threshold.
func observe(t *testing.T, processors int, threshold time.Duration) observed {
	t.Helper()
	o := observed{stalls: make(chan scheduler.Stall, 10_000)}
	o.Scheduler = start(t, scheduler.Options{Processors: processors, Watchdog: threshold,
		OnStall: o.record, LockThreads: true})
	return o
}

func (o observed) record(s scheduler.Stall) { o.stalls <- s }

// next returns the next report that fits. Others are no failure: on a busy
// machine a Processor may stall for reasons of its own.
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

// caught returns the next report of a stall of that Processor that begins, and
// whether it fits.
func (o observed) caught(t *testing.T, processor int,
	fits func(scheduler.Stall) bool) (s scheduler.Stall, ok bool) {
	t.Helper()
	s = o.next(t, "a stall", func(s scheduler.Stall) bool {
		return s.Processor == processor && !s.Over
	})
	return s, fits(s)
}

// in fits a coroutine that has been found at a place for a cause.
func in(name, place, cause string) func(scheduler.Stall) bool {
	return func(s scheduler.Stall) bool {
		return s.Name == name && s.Cause == cause && strings.Contains(s.Stack, place)
	}
}

// insist makes attempts until one has caught what it wants. A thread that
// others keep from the CPUs on its way into a stall has stalled there, and a
// stall is reported once: that attempt shows nothing.
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

// kind is a way to stall.
type kind struct {
	name, cause, detail string
	stall               func() // is named in the stack
	release             func()
}

// kinds makes one of each. They are good for one stall.
func kinds(t *testing.T) []kind { return append(goKinds(t), systemKinds(t)...) }

// goKinds are those in which Go's runtime has the coroutine's thread wait, and
// a computation.
func goKinds(t *testing.T) []kind {
	receive, selected, sleep, compute := make(chan int), make(chan int), new(atomic.Bool),
		new(atomic.Bool)
	var mu sync.Mutex
	mu.Lock()
	var rw sync.RWMutex
	rw.Lock()
	var wg sync.WaitGroup
	wg.Add(1)
	var condMu sync.Mutex
	cond, awake := sync.NewCond(&condMu), false
	return []kind{
		{"receive", diagnose.CauseChannel, "chan receive", func() { <-receive }, func() {
			close(receive)
		}},
		{"select", diagnose.CauseChannel, "select", func() {
			select {
			case <-selected:
			case <-t.Context().Done():
			}
		}, func() { close(selected) }},
		{"mutex", diagnose.CauseMutex, "sync.Mutex.Lock", func() { mu.Lock() }, func() {
			mu.Unlock()
		}},
		{"rwmutex", diagnose.CauseMutex, "sync.RWMutex.RLock", func() { rw.RLock() }, func() {
			rw.Unlock()
		}},
		{"waitgroup", diagnose.CauseWait, "sync.WaitGroup.Wait", func() { wg.Wait() }, func() {
			wg.Done()
		}},
		{"cond", diagnose.CauseWait, "sync.Cond.Wait", func() {
			condMu.Lock()
			for !awake {
				cond.Wait()
			}
			condMu.Unlock()
		}, func() {
			condMu.Lock()
			awake = true
			condMu.Unlock()
			cond.Signal()
		}},
		{"sleep", diagnose.CauseSleep, "sleep", func() {
			for !sleep.Load() {
				time.Sleep(200 * time.Millisecond)
			}
		}, func() { sleep.Store(true) }},
		{"computation", diagnose.CauseComputation, "", func() {
			for !compute.Load() {
			}
		}, func() { compute.Store(true) }},
	}
}

// systemKinds are those in which a file or the kernel does.
func systemKinds(t *testing.T) []kind {
	var raw [2]int
	testenv.OK(t, syscall.Pipe2(raw[:], syscall.O_CLOEXEC))
	r, w, err := os.Pipe()
	testenv.OK(t, err)
	lock := filepath.Join(t.TempDir(), "lock")
	mine, theirs := openLock(t, lock), openLock(t, lock)
	testenv.OK(t, syscall.Flock(mine, syscall.LOCK_EX))
	t.Cleanup(func() {
		for _, fd := range append(raw[:], mine, theirs) {
			syscall.Close(fd)
		}
		r.Close()
		w.Close()
	})
	return []kind{
		{"read", diagnose.CauseSyscall, "syscall.read", func() {
			syscall.Read(raw[0], make([]byte, 1))
		}, func() { syscall.Write(raw[1], []byte{1}) }},
		{"flock", diagnose.CauseSyscall, "syscall.Flock", func() {
			syscall.Flock(theirs, syscall.LOCK_EX)
		}, func() { syscall.Flock(mine, syscall.LOCK_UN) }},
		{"pipe", diagnose.CauseIO, "IO wait", func() { r.Read(make([]byte, 1)) }, func() {
			w.Write([]byte{1})
		}},
	}
}

func openLock(t *testing.T, name string) int {
	fd := testenv.Must(syscall.Open(name, syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0o600))
	return fd
}

// fits reports whether a stall was found in k. Where others have the CPUs, what
// should compute did not.
func (k kind) fits(s scheduler.Stall) bool {
	if k.cause == diagnose.CauseComputation && s.Cause == diagnose.CauseNotScheduled {
		s.Cause = k.cause
	}
	return in(k.name, "Kinds.func", k.cause)(s)
}

// TestStalls stalls a Processor in each way there is and checks what is said of
// it: once, by whom, where, why and for how long.
func TestStalls(t *testing.T) {
	for i, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			insist(t, func() (scheduler.Stall, bool) { return stallBy(t, kinds(t)[i]) })
		})
	}
}

// stallBy makes one attempt at a stall of that kind.
func stallBy(t *testing.T, k kind) (s scheduler.Stall, caught bool) {
	const threshold = 20 * time.Millisecond
	before := time.Now()
	o := observe(t, 2, threshold)
	var id atomic.Uint64
	var done atomic.Bool
	testenv.Must(o.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(1), Name: k.name, Fn: func() {
		id.Store(coroutine.Current().ID())
		k.stall()
		done.Store(true)
	}}))
	if s, caught = o.caught(t, 1, k.fits); !caught {
		k.release()
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
	if !strings.Contains(s.Detail, k.detail) {
		t.Errorf("cause %q, detail %q", s.Cause, s.Detail)
	}
	if !strings.Contains(s.Site, "watchdog_test.go:") ||
		!strings.HasSuffix(s.Site, "diagnose_test.stallBy") {
		t.Errorf("site %q", s.Site)
	}
	if strings.Contains(s.Stack, "testing.(*M).Run") {
		t.Errorf("stack %s", s.Stack)
	}
	if all := o.Stalls(); len(all) == 0 || !recorded(all, s) {
		t.Errorf("not in Stalls: %+v", all)
	}
	k.release()
	end := o.named(t, k.name, true)
	if !continues(end, s) {
		t.Errorf("at its end: %+v", end)
	}
	shutdown(t, o.Scheduler)
	n := 0
	for _, s := range o.Stalls() {
		if s.Name == k.name {
			n++
		}
	}
	if n != 1 || o.StallCount(1) < 1 {
		t.Errorf("%d on record, %d counted", n, o.StallCount(1))
	}
	for len(o.stalls) > 0 {
		if s := <-o.stalls; s.Name == k.name {
			t.Errorf("reported once more: %+v", s)
		}
	}
	return s, true
}

func recorded(all []scheduler.Stall, s scheduler.Stall) bool {
	return slices.ContainsFunc(all, func(one scheduler.Stall) bool { return continues(one, s) })
}

// continues reports whether a stall is an earlier one that has gone on. On a
// busy machine its cause may have been found meanwhile.
func continues(now, earlier scheduler.Stall) bool {
	found := earlier.Cause == diagnose.CauseNotScheduled ||
		strings.HasPrefix(earlier.Detail, "many coroutines")
	return now.Began.Equal(earlier.Began) && now.Coroutine == earlier.Coroutine &&
		(found || now.Length >= earlier.Length && now.Stack == earlier.Stack)
}
