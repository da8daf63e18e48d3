package goruntime_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// findStandings is goruntime.FindStandings for tests: where it fails, they have
// no more to see.
func findStandings(t *testing.T) {
	t.Helper()
	err := goruntime.FindStandings()
	if (err == nil) != (goruntime.Verified() == nil) {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
}

// stateOf returns what a stack dump says that the goroutine g does.
func stateOf(t *testing.T, g uintptr) string {
	t.Helper()
	id := testenv.Must(goruntime.Goid(g))
	dump := make([]byte, 1<<20)
	dump = dump[:runtime.Stack(dump, true)]
	_, rest, _ := bytes.Cut(dump, fmt.Appendf(nil, "goroutine %d [", id))
	state, _, _ := bytes.Cut(rest, []byte("]"))
	return string(state)
}

// awaitStanding waits until the goroutine g is in the given state of a stack
// dump and has the given standing.
func awaitStanding(t *testing.T, g uintptr, state string, want goruntime.Standing) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		got, standing := stateOf(t, g), goruntime.StandingOf(g)
		if strings.HasPrefix(got, state) && standing == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("[%s] has standing %d, want %d of [%s]", got, standing, want, state)
		}
	}
}

// started runs f on a goroutine of which it returns the identity, and a
// function that waits for its end.
func started(f func()) (g uintptr, wait func()) {
	is := make(chan uintptr, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		is <- asm.Getg()
		f()
	}()
	return <-is, func() { <-done }
}

// wait is one thing that a goroutine can wait for.
type wait struct {
	name, state string
	block, free func()
}

// waits are all kinds.
func waits(t *testing.T) []wait { return append(goWaits(), systemWaits(t)...) }

// goWaits are those for other goroutines.
func goWaits() []wait {
	var (
		c, d            = make(chan int), make(chan int)
		full            = make(chan int, 1)
		mutex, condLock sync.Mutex
		rw, rw2         sync.RWMutex
		cond            = sync.NewCond(&condLock)
		group           sync.WaitGroup
		once            sync.Once
		over, awake     atomic.Bool
	)
	full <- 1
	mutex.Lock()
	rw.Lock()
	rw2.RLock()
	group.Add(1)
	inOnce := make(chan int)
	_, onceOver := started(func() { once.Do(func() { <-inOnce }) })
	inOnce2 := func() { once.Do(func() {}) }
	return []wait{
		{"channel, empty", "chan receive", func() { <-c }, func() { c <- 1 }},
		{"channel, range", "chan receive", func() {
			for range d {
			}
		}, func() { close(d) }},
		{"channel, unbuffered", "chan send", func() { c <- 1 }, func() { <-c }},
		{"channel, full", "chan send", func() { full <- 1 }, func() { <-full }},
		{"select", "select", func() {
			select {
			case <-c:
			case full <- 1:
			}
		}, func() { c <- 1 }},
		{"sleep", "sleep", func() {
			for !over.Load() {
				time.Sleep(20 * time.Millisecond)
			}
		}, func() { over.Store(true) }},
		{"Mutex", "sync.Mutex.Lock", func() { mutex.Lock() }, mutex.Unlock},
		{"RWMutex, read", "sync.RWMutex.RLock", func() { rw.RLock() }, rw.Unlock},
		{"RWMutex, write", "sync.RWMutex.Lock", func() { rw2.Lock() }, rw2.RUnlock},
		{"Cond", "sync.Cond.Wait", func() {
			condLock.Lock()
			for !awake.Load() {
				cond.Wait()
			}
			condLock.Unlock()
		}, func() {
			condLock.Lock()
			awake.Store(true)
			condLock.Unlock()
			cond.Broadcast()
		}},
		{"WaitGroup", "sync.WaitGroup.Wait", func() { group.Wait() }, group.Done},
		{"Once", "sync.Mutex.Lock", inOnce2, func() { close(inOnce); onceOver() }},
	}
}

// systemWaits are those for files and the kernel.
func systemWaits(t *testing.T) []wait {
	r, w, err := os.Pipe()
	testenv.OK(t, err)
	var fds [2]int
	testenv.OK(t, syscall.Pipe2(fds[:], syscall.O_CLOEXEC))
	t.Cleanup(func() {
		r.Close()
		w.Close()
		syscall.Close(fds[0])
		syscall.Close(fds[1])
	})
	one, in, out := []byte{1}, make([]byte, 1), make([]byte, 1)
	return []wait{
		{"system call", "syscall", func() { syscall.Read(fds[0], in) }, func() {
			syscall.Write(fds[1], one)
		}},
		{"file", "IO wait", func() { r.Read(out) }, func() { w.Write(one) }},
		{"bubble", "synctest.Run", func() {
			synctest.Test(t, func(*testing.T) { syscall.Read(fds[0], in) })
		}, func() { syscall.Write(fds[1], one) }},
	}
}

// TestBlocked: a goroutine that waits for what other code brings about is
// Blocked, whatever it waits for, and is not before and after.
func TestBlocked(t *testing.T) {
	findStandings(t)
	for _, c := range waits(t) {
		t.Run(c.name, func(t *testing.T) {
			var begin atomic.Bool
			g, end := started(func() {
				for !begin.Load() {
					runtime.Gosched()
				}
				c.block()
				for begin.Load() {
					runtime.Gosched()
				}
			})
			for range 100 {
				if s := goruntime.StandingOf(g); s != goruntime.Unblocked {
					t.Fatalf("standing %d before it waits", s)
				}
			}
			begin.Store(true)
			awaitStanding(t, g, c.state, goruntime.Blocked)
			c.free()
			testenv.Until(t, "the end of the wait", func() bool {
				return goruntime.StandingOf(g) == goruntime.Unblocked
			})
			begin.Store(false)
			end()
		})
	}
}

// foreverVar makes a child process of the tests see goroutines that wait for
// ever, which no test can end.
const foreverVar = "NETCO_TEST_FOREVER"

// TestBlockedForever: nil channels, and select without cases.
func TestBlockedForever(t *testing.T) {
	findStandings(t)
	if os.Getenv(foreverVar) == "" {
		exe := testenv.Must(os.Executable())
		cmd := exec.Command(exe, "-test.run=^TestBlockedForever$")
		cmd.Env = append(os.Environ(), foreverVar+"=1", "GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		testenv.Emulated(t, err)
		testenv.True(t, err == nil && string(out) == foreverVar, "%v\n%.2000s", err, out)
		return
	}
	var none chan int
	for _, c := range []wait{
		{state: "chan receive (nil chan)", block: func() { <-none }},
		{state: "chan send (nil chan)", block: func() { none <- 1 }},
		{state: "select (no cases)", block: func() { select {} }},
	} {
		g, _ := started(c.block)
		awaitStanding(t, g, c.state, goruntime.Blocked)
	}
	fmt.Print(foreverVar)
	os.Exit(0)
}

// semaphores is whether it is known which semaphore a goroutine waits for.
var semaphores = !strings.HasPrefix(runtime.Version(), "go1.25")

// TestSemaphores: a goroutine that waits for the file that another reads or
// writes is Blocked; one that waits for a semaphore of the runtime's own, of
// which an allocation may have to wait for some, is not.
func TestSemaphores(t *testing.T) {
	findStandings(t)
	ofFile := goruntime.Unblocked
	if semaphores {
		ofFile = goruntime.Blocked
	}
	t.Run("second reader", func(t *testing.T) {
		r, w, err := os.Pipe()
		testenv.OK(t, err)
		defer r.Close()
		defer w.Close()
		read := func() { r.Read(make([]byte, 1)) }
		first, firstEnds := started(read)
		awaitStanding(t, first, "IO wait", goruntime.Blocked)
		second, secondEnds := started(read)
		awaitStanding(t, second, "semacquire", ofFile)
		w.Write([]byte("ab"))
		firstEnds()
		secondEnds()
		awaitStanding(t, second, "", goruntime.Unblocked)
	})
	t.Run("runtime", func(t *testing.T) {
		began, goOn := make(chan struct{}), make(chan struct{})
		testenv.OK(t, trace.Start(&stuckWriter{began, goOn}))
		<-began
		stopper, stopped := started(trace.Stop) // waits until what was traced has been read
		awaitStanding(t, stopper, "semacquire", goruntime.Unblocked)
		close(goOn)
		stopped()
	})
}

// stuckWriter blocks in Write until goOn is closed.
type stuckWriter struct{ began, goOn chan struct{} }

func (w *stuckWriter) Write(p []byte) (int, error) {
	select {
	case w.began <- struct{}{}:
	case <-w.goOn:
	}
	<-w.goOn
	return len(p), nil
}

// TestCollecting: a goroutine that calls runtime.GC is Blocked while it waits
// for the cycle; what else it waits for there are semaphores of the runtime's.
func TestCollecting(t *testing.T) {
	findStandings(t)
	var stop atomic.Bool
	g, ends := started(func() {
		for !stop.Load() {
			runtime.GC()
		}
	})
	testenv.Until(t, "it to wait for a cycle", func() bool {
		return goruntime.StandingOf(g) == goruntime.Blocked
	})
	stop.Store(true)
	ends()
}

// TestUnblocked: one that runs, and one that has ended.
func TestUnblocked(t *testing.T) {
	findStandings(t)
	awaitStanding(t, asm.Getg(), "running", goruntime.Unblocked)
	over, ends := started(func() {})
	ends()
	awaitStanding(t, over, "", goruntime.Unblocked)
}

// TestSwitched: whichever side of a coro does not run is Switched.
func TestSwitched(t *testing.T) {
	findStandings(t)
	testenv.OK(t, goruntime.LinkCoro())
	var c asm.Frame
	here := asm.Getg()
	switchTo := func() {
		goruntime.RaceRelease(unsafe.Pointer(&c))
		asm.Switch(&c, &c)
		goruntime.RaceAcquire(unsafe.Pointer(&c))
	}
	c.Coro = goruntime.NewCoro(func(goruntime.Coro) {
		goruntime.RaceAcquire(unsafe.Pointer(&c))
		defer goruntime.RaceRelease(unsafe.Pointer(&c))
		c.G = asm.Getg()
		awaitStanding(t, here, "coroutine", goruntime.Switched)
		switchTo()
	})
	switchTo()
	awaitStanding(t, c.G, "coroutine", goruntime.Switched)
	awaitStanding(t, here, "running", goruntime.Unblocked)
	switchTo()
}

// deep calls f with so much below it on the stack that scanning it takes long.
//
//go:noinline
func deep(levels int, f func()) (n int) {
	var frame [64]*int
	frame[levels%64] = &n
	if levels == 0 {
		f()
	} else {
		n = deep(levels-1, f)
	}
	*frame[levels%64]++
	return n
}

// TestBlockedUnderGC: it is no less Blocked while the collector or a stack dump
// looks at its stack.
func TestBlockedUnderGC(t *testing.T) {
	findStandings(t)
	over := make(chan struct{})
	var gs [4]uintptr
	var ends [len(gs)]func()
	for i := range gs {
		gs[i], ends[i] = started(func() { deep(1000, func() { <-over }) })
		awaitStanding(t, gs[i], "chan receive", goruntime.Blocked)
	}
	var stop atomic.Bool
	_, disturbed := started(func() {
		for dump := make([]byte, 1<<16); !stop.Load(); {
			runtime.GC()
			runtime.Stack(dump, true)
		}
	})
	end := time.Now().Add(time.Duration(testenv.Rounds(500)) * time.Millisecond)
	for time.Now().Before(end) {
		for _, g := range gs {
			if s := goruntime.StandingOf(g); s != goruntime.Blocked {
				t.Errorf("standing %d", s)
			}
		}
	}
	stop.Store(true)
	disturbed()
	close(over)
	for _, end := range ends {
		end()
	}
}
