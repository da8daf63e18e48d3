package stacks

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

const self = "github.com/netco-go/netco/internal/stacks."

// subject is a goroutine that does something on a thread of its own.
type subject struct {
	id   uint64
	done chan struct{}
}

func run(t *testing.T, f func()) subject {
	t.Helper()
	s, id := subject{done: make(chan struct{})}, make(chan uint64)
	go func() {
		defer close(s.done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		n := testenv.Must(goruntime.Goid(asm.Getg()))
		id <- n
		root(f)
	}()
	s.id = <-id
	return s
}

// stack returns the goroutine's among All.
func (s subject) stack() (Stack, error) {
	for _, one := range testenv.Must(All(MaxAll)) {
		if one.ID == s.id {
			return one, nil
		}
	}
	return Stack{}, ErrGone
}

//go:noinline
func root(f func()) { f() }

// until waits for a stack in which f has been reached.
func until(t *testing.T, take func() (Stack, error), state string) (s Stack) {
	t.Helper()
	testenv.Until(t, "the stack", func() bool {
		var err error
		s, err = take()
		return err == nil && (state == "" || s.State == state) &&
			slices.Contains(s.Funcs, self+"root")
	})
	return s
}

// TestOthersStacks takes the stacks of goroutines in several states, by both
// ways.
func TestOthersStacks(t *testing.T) {
	hold := make(chan struct{})
	var mu sync.Mutex
	mu.Lock()
	var stop atomic.Bool
	var pipe [2]int
	testenv.OK(t, syscall.Pipe2(pipe[:], syscall.O_CLOEXEC))
	defer syscall.Close(pipe[0])
	defer syscall.Close(pipe[1])
	for _, c := range []struct {
		state, top string
		f          func()
		end        func()
	}{
		{"chan receive", "runtime.gopark", func() { <-hold }, func() { close(hold) }},
		{"sync.Mutex.Lock", "runtime.gopark", func() { mu.Lock() }, func() { mu.Unlock() }},
		{"syscall", "", func() { syscall.Read(pipe[0], make([]byte, 1)) }, func() {
			syscall.Write(pipe[1], []byte{1})
		}},
		{"runnable", "", func() {
			for !stop.Load() {
			}
		}, func() { stop.Store(true) }},
	} {
		who := run(t, c.f)
		s := until(t, who.stack, c.state)
		if !strings.Contains(s.Text, "stacks_test.go:") || strings.Contains(s.Text, "goroutine ") &&
			!strings.Contains(s.Text, "created by") {
			t.Errorf("%s: %s", c.state, s.Text)
		}
		p := until(t, func() (Stack, error) {
			all, err := ByRoot(self + "root")
			if len(all) == 0 {
				return Stack{}, err
			}
			return all[0], err
		}, "")
		if c.top != "" && p.Funcs[0] != c.top || !strings.Contains(p.Text, "stacks_test.go:") {
			t.Errorf("%s: by root: %s", c.state, p.Text)
		}
		c.end()
		<-who.done
		testenv.Until(t, "its end", func() bool {
			return errors.Is(testenv.Err(who.stack()), ErrGone) &&
				errors.Is(testenv.Err(ByRoot(self+"root")), ErrGone)
		})
	}
}

// TestTooMany: the world is not stopped for ten thousand goroutines, nor for
// deep ones.
func TestTooMany(t *testing.T) {
	end := make(chan struct{})
	var others sync.WaitGroup
	for range MaxShort {
		others.Go(func() { <-end })
	}
	testenv.Fails(t, testenv.Err(All(MaxShort)), ErrTooMany)
	// As garbage, the text would keep the watchdog unsure of a deadlock.
	testenv.Until(t, "an All without a new buffer", func() bool {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		testenv.Must(All(MaxAll))
		runtime.ReadMemStats(&after)
		return after.TotalAlloc-before.TotalAlloc < MaxShort<<12
	})
	close(end)
	others.Wait()
	others.Go(func() {
		deep(maxShortBytes, func() { testenv.Fails(t, testenv.Err(All(MaxShort)), ErrTooMany) })
	})
	others.Wait()
}

// deep calls f on a stack of some bytes.
func deep(bytes int, f func()) byte {
	if frame := [1 << 16]byte{}; bytes > 0 {
		return deep(bytes-len(frame), f) + frame[bytes%len(frame)]
	}
	f()
	return 0
}

func TestParse(t *testing.T) {
	const one = `goroutine 70 [chan receive, 2 minutes, locked to thread]:
main.(*T[...]).Method(0xc000012345, {0x1, 0x2}, ...)
	/b.go:22 +0x31
main.glob..func1({0x1?, 0x2?})
	/b.go:33 +0x31
...12 frames elided...
main.last(...)
	/b.go:44
created by main.(*T).start in goroutine 7
	/b.go:55 +0x31
`
	s, ok := parse(one)
	if !ok || s.ID != 70 || s.State != "chan receive" ||
		!slices.Equal(s.Funcs, []string{"main.(*T[...]).Method", "main.glob..func1",
			"main.last"}) || !strings.HasPrefix(s.Text, "main.(*T[...])") ||
		!strings.HasSuffix(s.Text, "/b.go:55 +0x31") {
		t.Errorf("%v, %+v", ok, s)
	}
	for state, want := range map[string]string{
		"[select (no cases)]:":                "select (no cases)",
		"[running (scan), locked to thread]:": "running", "gp=0x1 m=3 mp=0x2 [sleep]:": "sleep",
	} {
		if s, ok := parse("goroutine 7 " + state + "\nmain.a()\n\t/a.go:1\n"); !ok ||
			s.State != want {
			t.Errorf("%s: %v, %q", state, ok, s.State)
		}
	}
	if _, ok := parse("goroutine 7 [runn"); ok {
		t.Error("a goroutine that was cut off")
	}
}

// TestOfThread: a thread that blocks in a system call, one that computes, and
// one that is not there.
func TestOfThread(t *testing.T) {
	var pipe [2]int
	testenv.OK(t, syscall.Pipe2(pipe[:], syscall.O_CLOEXEC))
	defer syscall.Close(pipe[0])
	defer syscall.Close(pipe[1])
	tid := make(chan int, 1)
	who := run(t, func() {
		tid <- syscall.Gettid()
		syscall.Read(pipe[0], make([]byte, 1))
	})
	id := <-tid
	var th Thread
	testenv.Until(t, "its wait", func() bool { th = OfThread(id); return th.State == 'S' })
	testenv.Equal(t, th.Fault, false, "a fault")
	syscall.Write(pipe[1], []byte{1})
	<-who.done
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	testenv.Equal(t, OfThread(syscall.Gettid()), (Thread{State: 'R'}), "the test's own")
	for _, tid := range []int{0, -1, 1 << 30} {
		testenv.Equal(t, OfThread(tid), (Thread{}), tid)
	}
}

func TestStateOf(t *testing.T) {
	for stat, want := range map[string]byte{"": 0, "12 (a b) S 1": 'S', "12 (a) R) D 1": 'D',
		"12 (a)": 0, "12 (a) ": 0} {
		testenv.Equal(t, stateOf([]byte(stat)), want, stat)
	}
}

// TestBystander: All knows a goroutine while that is marked, and others never.
func TestBystander(t *testing.T) {
	hold, goOn, marked := make(chan int), make(chan int), make(chan uintptr, 1)
	s := run(t, func() {
		over := Bystander()
		marked <- asm.Getg()
		<-hold
		over()
		<-goOn
	})
	g := <-marked
	waits := func(t *testing.T, marked bool) {
		one := until(t, s.stack, "chan receive")
		testenv.Equal(t, IsBystander(g), marked, "marked")
		testenv.Equal(t, one.Bystander, marked, "as All finds it")
		for _, other := range testenv.Must(All(MaxAll)) {
			if other.Bystander && other.ID != s.id {
				t.Errorf("another is: %+v", other)
			}
		}
	}
	waits(t, true)
	hold <- 1
	testenv.Until(t, "it to be no bystander", func() bool { return !IsBystander(g) })
	waits(t, false)
	goOn <- 1
	<-s.done
}

func TestMain(m *testing.M) { testenv.Main(m) }
