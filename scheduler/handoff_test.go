package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"strings"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/channel"
	cocontext "github.com/netco-go/netco/context"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
)

// needHandoff skips a test of coroutines that are left behind or that move.
func needHandoff(t testing.TB) {
	t.Helper()
	if !cocontext.Direct() {
		t.Skip("with the portable backend no coroutine is left behind, all Processors are active " +
			"and coroutines do not move; NETCO_CONTEXT=asm has more")
	}
}

// blocker is a wait outside netco that lasts until it is released.
type blocker struct {
	name  string
	cause string // of its handoffs and stalls
	make  func(t *testing.T) (wait, release func())
}

// blockers are all kinds of waits outside netco. With an iterator of Go the
// goroutine of the coroutine is parked, and the iterator's goroutine blocks.
var blockers = []blocker{
	{"channel receive", diagnose.CauseChannel, func(*testing.T) (wait, release func()) {
		c := make(chan int)
		return func() { <-c }, func() { close(c) }
	}},
	{"channel send", diagnose.CauseChannel, func(*testing.T) (wait, release func()) {
		c := make(chan int)
		return func() { c <- 1 }, func() { <-c }
	}},
	{"nested select", diagnose.CauseChannel, func(*testing.T) (wait, release func()) {
		c, never := make(chan int), make(chan int)
		return func() {
			select {
			case <-c:
			case <-never:
			}
		}, func() { close(c) }
	}},
	{"context", diagnose.CauseChannel, func(*testing.T) (wait, release func()) {
		ctx, cancel := context.WithCancel(context.Background())
		return func() { <-ctx.Done() }, cancel
	}},
	{"Sleep", diagnose.CauseSleep, func(*testing.T) (wait, release func()) {
		var over atomic.Bool
		return func() {
			for !over.Load() {
				time.Sleep(20 * time.Millisecond)
			}
		}, func() { over.Store(true) }
	}},
	{"Mutex", diagnose.CauseMutex, func(*testing.T) (wait, release func()) {
		var mu stdsync.Mutex
		mu.Lock()
		return func() { through(&mu) }, mu.Unlock
	}},
	{"RWMutex for reading", diagnose.CauseMutex, func(*testing.T) (wait, release func()) {
		var mu stdsync.RWMutex
		mu.Lock()
		return func() { through(mu.RLocker()) }, mu.Unlock
	}},
	{"RWMutex for writing", diagnose.CauseMutex, func(*testing.T) (wait, release func()) {
		var mu stdsync.RWMutex
		mu.RLock()
		return func() { through(&mu) }, mu.RUnlock
	}},
	{"Cond", diagnose.CauseWait, func(*testing.T) (wait, release func()) {
		var mu stdsync.Mutex
		c, over := stdsync.NewCond(&mu), false
		return func() {
				mu.Lock()
				for !over {
					c.Wait()
				}
				mu.Unlock()
			}, func() {
				mu.Lock()
				over = true
				c.Signal()
				mu.Unlock()
			}
	}},
	{"WaitGroup", diagnose.CauseWait, func(*testing.T) (wait, release func()) {
		var g stdsync.WaitGroup
		g.Add(1)
		return g.Wait, g.Done
	}},
	{"system call", diagnose.CauseSyscall, func(t *testing.T) (wait, release func()) {
		var fds [2]int
		testenv.OK(t, unix.Pipe2(fds[:], unix.O_CLOEXEC))
		t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
		return func() {
			for {
				if _, err := unix.Read(fds[0], make([]byte, 1)); err != unix.EINTR {
					return
				}
			}
		}, func() { unix.Write(fds[1], []byte{1}) }
	}},
	{"file", diagnose.CauseIO, func(t *testing.T) (wait, release func()) {
		r, w, err := os.Pipe()
		testenv.OK(t, err)
		t.Cleanup(func() { r.Close(); w.Close() })
		return func() { r.Read(make([]byte, 1)) }, func() { w.Write([]byte{1}) }
	}},
	{"file that another reads", diagnose.CauseIO, func(t *testing.T) (wait, release func()) {
		if strings.HasPrefix(runtime.Version(), "go1.25") {
			t.Skip("Go 1.25 does not tell for which semaphore a goroutine waits; later releases do")
		}
		r, w, err := os.Pipe()
		testenv.OK(t, err)
		t.Cleanup(func() { r.Close(); w.Close() })
		var first atomic.Uintptr
		go func() {
			first.Store(asm.Getg())
			r.Read(make([]byte, 1))
		}()
		testenv.Until(t, "the first reader", func() bool {
			return first.Load() != 0 && goruntime.StandingOf(first.Load()) == goruntime.Blocked
		})
		return func() { r.Read(make([]byte, 1)) }, func() { w.Write([]byte{1, 1}) }
	}},
	{"bubble", diagnose.CauseWait, func(t *testing.T) (wait, release func()) {
		var over atomic.Bool
		return func() {
			synctest.Test(t, func(*testing.T) {
				for !over.Load() {
					unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil) // not by the bubble's clock
				}
			})
		}, func() { over.Store(true) }
	}},
	{"iterator that blocks", diagnose.CauseUnknown, func(*testing.T) (wait, release func()) {
		c := make(chan int)
		return pulls(func() { <-c }), func() { close(c) }
	}},
	{"iterator that parks", diagnose.CauseUnknown, func(*testing.T) (wait, release func()) {
		c := channel.Make[int](0)
		return pulls(func() { c.Recv() }), c.Close
	}},
	{"fiber that blocks", diagnose.CauseChannel, func(*testing.T) (wait, release func()) {
		c := make(chan int)
		return func() {
			f := coroutine.New(func(y *coroutine.Yielder[int, int], in int) int {
				in, _ = y.Yield(in + 1)
				<-c
				in, _ = y.Yield(in + 1)
				return in + 1
			})
			for i := range 3 {
				if out, err := f.Resume(i); out != i+1 || err != nil {
					panic(fmt.Sprint(out, err))
				}
			}
		}, func() { close(c) }
	}},
	{"fiber in a fiber", diagnose.CauseChannel, func(*testing.T) (wait, release func()) {
		c := make(chan int)
		return func() {
			inner := coroutine.New(func(y *coroutine.Yielder[int, int], in int) int {
				<-c
				in, _ = y.Yield(in)
				return in
			})
			outer := coroutine.New(func(y *coroutine.Yielder[int, int], in int) int {
				in, _ = inner.Resume(in)
				in, _ = y.Yield(in)
				in, _ = inner.Resume(in)
				return in
			})
			for i := range 2 {
				if out, err := outer.Resume(i); out != i || err != nil {
					panic(fmt.Sprint(out, err))
				}
			}
		}, func() { close(c) }
	}},
}

// pulls returns a function that pulls two values from an iterator, which calls
// wait in between.
func pulls(wait func()) func() {
	return func() {
		next, stop := iter.Pull(iter.Seq[int](func(yield func(int) bool) {
			if yield(1) {
				wait()
				yield(2)
			}
		}))
		defer stop()
		for i := range 2 {
			if v, ok := next(); v != i+1 || !ok {
				panic(fmt.Sprint(v, ok))
			}
		}
	}
}

// pulse is a coroutine that sleeps for short times and counts them.
type pulse struct {
	beats atomic.Int64
	stop  atomic.Bool
}

func (p *pulse) run() {
	for !p.stop.Load() {
		p.beats.Add(1)
		processor.Sleep(100 * time.Microsecond)
	}
}

// goes waits for many further beats.
func (p *pulse) goes(t testing.TB) {
	t.Helper()
	from := p.beats.Load()
	testenv.Until(t, "the others of the Processor", func() bool { return p.beats.Load() > from+30 })
}

func handoffs(s *scheduler.Scheduler) (n uint64) {
	for _, p := range engine.Of(s).Processors() {
		n += p.Coroutines().Handoffs.Load()
	}
	return n
}

// inherited is a Local that a coroutine inherits from its maker.
var inherited = coroutine.NewLocal(coroutine.LocalOptions[string]{Inherit: func(s *string) string {
	return *s + "'"
}})

// usesAll uses every part of netco, and returns the first error.
func usesAll(name string) error {
	if co := coroutine.Current(); co == nil || co.Name() != name {
		return fmt.Errorf("Current is not %s", name)
	}
	if got := *inherited.Get(); got != name {
		return fmt.Errorf("its local is %q", got)
	}
	coroutine.Yield()
	processor.Sleep(time.Millisecond)
	c, got := channel.Make[string](0), ""
	var mu sync.RWMutex
	var wg sync.WaitGroup
	if err := mu.LockTimeout(time.Minute); err != nil {
		return err
	}
	wg.Go(func() {
		c.Send(*inherited.Get())
		mu.RLock()
		defer mu.RUnlock()
	})
	got, _ = c.Recv()
	mu.Unlock()
	wg.Wait()
	if got != name+"'" {
		return fmt.Errorf("a child's local is %q", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := c.RecvContext(ctx); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("RecvContext: %v", err)
	}
	if _, err := c.RecvTimeout(time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("RecvTimeout: %v", err)
	}
	return echoes()
}

// echoes sends bytes over a connection to an echo server of its own.
func echoes() error {
	l, err := new(socket.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if c, err := l.Accept(); err == nil {
			io.Copy(c, c)
			c.Close()
		}
	})
	c, err := new(socket.Dialer).Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	var b [3]byte
	if _, err = c.Write([]byte("abc")); err == nil {
		_, err = io.ReadFull(c, b[:])
	}
	if err != nil || string(b[:]) != "abc" {
		return fmt.Errorf("echo: %q, %v", b, err)
	}
	c.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err = c.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("Read under a deadline: %v", err)
	}
	return nil
}

// TestHandoff: while a coroutine is blocked outside netco the others of its
// Processor run, and when it is released it rejoins and can use all of netco,
// several times over. The handoff is counted by its cause and by the user's
// call, unless the coroutine had woken by then.
func TestHandoff(t *testing.T) {
	needHandoff(t)
	for _, b := range blockers {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, scheduler.Options{Processors: 1})
			var p pulse
			s.Go(p.run)
			defer p.stop.Store(true)
			var last scheduler.Handoff
			// A sleep may end early, and the thread may have lost its core in
			// a system call on the way.
			caught := func() bool {
				return last.Cause == diagnose.CauseSyscall && last.Cause != b.cause
			}
			for round := 0; round < 2 || last.BlockedAt == "" || caught() && round < 10; round++ {
				name := fmt.Sprintf("blocks %d", round)
				wait, release := b.make(t)
				var in, out atomic.Bool
				before := counted(s)
				h := testenv.Must(s.GoWith(scheduler.Spawn{Name: name, Fn: func() {
					inherited.Set(name)
					if err := usesAll(name); err != nil {
						t.Error("before:", err)
					}
					in.Store(true)
					wait()
					out.Store(true)
					for range 2 {
						if err := usesAll(name); err != nil {
							t.Error("afterwards:", err)
						}
					}
				}}))
				testenv.Until(t, "the coroutine", in.Load)
				p.goes(t)
				testenv.Until(t, "a handoff", func() bool { return counted(s) > before })
				for _, one := range s.Handoffs() {
					if one.Coroutine == h.ID() && !ofUse(one.BlockedAt) {
						last = one
						testenv.Equal(t, one.Name, name, "it is counted as")
					}
				}
				testenv.True(t, !out.Load(), "the blocker does not block")
				release()
				err := h.Join()
				testenv.True(t, err == nil && out.Load(), "Join: %v", err)
				p.goes(t)
			}
			testenv.True(t, last.Cause == b.cause &&
				strings.Contains(last.BlockedAt, "/scheduler/handoff_test.go") &&
				(last.Detail != "" || last.Cause == diagnose.CauseUnknown), "%+v", last)
		})
	}
}

// ofUse reports whether a call was made by usesAll, which may block, too.
func ofUse(call string) bool {
	return strings.Contains(call, ".usesAll") || strings.Contains(call, ".echoes")
}

// aside is a coroutine that is left behind until it is released. It waits for a
// Go channel.
type aside struct {
	s       *scheduler.Scheduler
	h       coroutine.Handle
	release func()
	p       pulse
}

// leave has a new Scheduler of one Processor leave a coroutine behind. The
// coroutine calls after when it is released.
func leave(t *testing.T, o scheduler.Options, after func()) *aside {
	t.Helper()
	needHandoff(t)
	o.Processors = 1
	a := &aside{s: start(t, o)}
	c := make(chan int)
	a.release = stdsync.OnceFunc(func() { close(c) })
	a.s.Go(a.p.run)
	var err error
	if a.h, err = a.s.GoWith(scheduler.Spawn{Name: "aside", Fn: func() {
		<-c
		after()
	}}); err != nil {
		t.Fatal(err)
	}
	testenv.Until(t, "the handoff", func() bool { // the pulse may be left behind, too
		info, _ := coroutine.Find(a.h.ID())
		return info.State == coroutine.Outside
	})
	return a
}

// ends releases the coroutine, and shuts the Scheduler down.
func (a *aside) ends(t *testing.T) {
	t.Helper()
	a.release()
	testenv.Fails(t, a.h.Join(), nil, "Join")
	a.p.goes(t)
	a.p.stop.Store(true)
	shutdown(t, a.s)
}

// TestHandoffEnds: a coroutine that is left behind may end without another call
// of netco.
func TestHandoffEnds(t *testing.T) {
	t.Run("return", func(t *testing.T) {
		leave(t, scheduler.Options{}, func() {}).ends(t)
	})
	t.Run("Goexit", func(t *testing.T) {
		deferred := false
		leave(t, scheduler.Options{}, func() {
			defer func() { deferred = coroutine.Current().Name() == "aside" }()
			runtime.Goexit()
		}).ends(t)
		testenv.True(t, deferred, "the deferred call did not run in the coroutine")
	})
	t.Run("panic", func(t *testing.T) {
		var info scheduler.PanicInfo
		leave(t, scheduler.Options{OnPanic: func(i scheduler.PanicInfo) { info = i }}, func() {
			panic("aside")
		}).ends(t)
		testenv.True(t, info.Value == "aside" && info.Name == "aside" &&
			strings.Contains(string(info.Stack), "TestHandoffEnds"), "OnPanic got %v of %q",
			info.Value, info.Name)
	})
	t.Run("with a Local and children", func(t *testing.T) {
		var did []string
		l := coroutine.NewLocal(coroutine.LocalOptions[int]{Drop: func(*int) {
			time.Sleep(20 * time.Millisecond) // the coroutine is left behind again
			coroutine.Yield()
			did = append(did, "dropped")
		}})
		var a *aside
		ready, started := make(chan struct{}), make(chan struct{})
		a = leave(t, scheduler.Options{}, func() {
			<-ready
			a.s.GoWith(scheduler.Spawn{Child: true, Fn: func() {
				defer func() { did = append(did, "child ended") }()
				close(started)
				processor.Sleep(time.Hour)
			}})
			<-started // a child that has not begun would not run
			l.Set(1)
			time.Sleep(20 * time.Millisecond)
		})
		close(ready)
		a.ends(t)
		testenv.Equal(t, strings.Join(did, ", "), "child ended, dropped")
	})
}

// TestHandoffStop: a coroutine that is stopped while it is left behind ends at
// its next wait in netco, and not before.
func TestHandoffStop(t *testing.T) {
	var woke, unwound, past atomic.Bool
	a := leave(t, scheduler.Options{}, func() {
		defer unwound.Store(true)
		woke.Store(true)
		processor.Sleep(time.Hour)
		past.Store(true)
	})
	a.h.Stop()
	a.p.goes(t)
	testenv.True(t, !woke.Load(), "Stop has ended a wait outside of netco")
	a.ends(t)
	testenv.True(t, unwound.Load() && !past.Load(), "its next wait has not unwound it")
}

// TestHandoffShutdown: a graceful Shutdown waits for a coroutine that is left
// behind.
func TestHandoffShutdown(t *testing.T) {
	finished := false
	a := leave(t, scheduler.Options{}, func() {
		processor.Sleep(time.Millisecond)
		finished = true
	})
	ended := make(chan error, 1)
	go func() { ended <- a.s.Shutdown(context.Background()) }()
	testenv.Until(t, "the end to begin", func() bool {
		return engine.Of(a.s).Group().Phase() >= processor.Draining
	})
	a.p.goes(t)
	a.p.stop.Store(true)
	testenv.True(t, len(ended) <= 0, "Shutdown has not waited")
	a.release()
	err := <-ended
	testenv.True(t, err == nil && finished, "Shutdown: %v, finished: %v", err, finished)
}

// TestHandoffForced: a forced Shutdown unwinds a coroutine that was left behind
// when the coroutine rejoins.
func TestHandoffForced(t *testing.T) {
	unwound, past := false, false
	a := leave(t, scheduler.Options{}, func() {
		defer func() { unwound = true }()
		processor.Sleep(time.Hour)
		past = true
	})
	ended := make(chan error, 1)
	go func() { ended <- a.s.Shutdown(testenv.Over()) }()
	testenv.Until(t, "the end by force", func() bool {
		return engine.Of(a.s).Group().Phase() >= processor.Stopping
	})
	a.release()
	if err := <-ended; err != context.Canceled || !unwound || past {
		t.Errorf("Shutdown: %v, unwound: %v, past its wait: %v", err, unwound, past)
	}
}

// TestHandoffLooks: Find and Stack show that a coroutine is left behind, and
// where it is blocked. While it computes there, Stack fails with ErrBusy.
func TestHandoffLooks(t *testing.T) {
	back := make(chan struct{})
	var busy atomic.Bool
	busy.Store(true)
	a := leave(t, scheduler.Options{}, func() {
		for busy.Load() {
			runtime.Gosched()
		}
		for more := true; more; {
			processor.Sleep(time.Millisecond)
			select {
			case <-back:
				more = false
			default:
			}
		}
	})
	info, ok := coroutine.Find(a.h.ID())
	testenv.True(t, ok && info.State == coroutine.Outside && info.Name == "aside",
		"LookUp: %+v, %v", info, ok)
	text, err := stackOf(context.Background(), a.h)
	testenv.True(t, err == nil && strings.Contains(text, "[outside]:\ngithub.com/") &&
		strings.Contains(text, "handoff_test.go:"), "Stack, while it is blocked: %v\n%s", err,
		text)
	a.release()
	testenv.Until(t, "no answer, because it computes", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		text, err = stackOf(ctx, a.h)
		return errors.Is(err, coroutine.ErrBusy)
	})
	stack := make(chan error, 1)
	go func() {
		text, err := stackOf(context.Background(), a.h)
		if err == nil && !strings.Contains(text, "TestHandoffLooks") {
			err = errors.New(text)
		}
		stack <- err
	}()
	a.p.goes(t)
	busy.Store(false)
	testenv.Fails(t, <-stack, nil, "Stack, once it is back")
	close(back)
	a.ends(t)
}

// startHeld starts a Scheduler, and a coroutine of it that runs held.
func startHeld(t *testing.T, o scheduler.Options, held func()) *scheduler.Scheduler {
	s := start(t, o)
	testenv.Must(s.Go(held))
	return s
}

// loopHeld is startHeld with an event loop.
func loopHeld(t *testing.T, o scheduler.Options, held func()) *scheduler.Scheduler {
	s := fresh(t, o)
	begun := false
	go s.EventLoop(func() bool {
		if !begun {
			begun = true
			s.GoWith(scheduler.Spawn{Local: true, Fn: held})
		}
		return true
	})
	return s
}

// TestNoHandoff: a Processor with a thread or CPU of its own, or in an event
// loop, waits for a coroutine that is blocked, and the watchdog reports the
// stall. If handoffs are impossible because of the backend, one line in the log
// says so at the start.
func TestNoHandoff(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, o scheduler.Options, held func()) *scheduler.Scheduler
		says int
	}{
		{"LockThreads", func(t *testing.T, o scheduler.Options, held func()) *scheduler.Scheduler {
			o.LockThreads = true
			return startHeld(t, o, held)
		}, 0},
		{"CPUs", func(t *testing.T, o scheduler.Options, held func()) *scheduler.Scheduler {
			o.CPUs = []int{firstCPU(t)}
			return startHeld(t, o, held)
		}, 0},
		{"EventLoop", loopHeld, 0},
		{"backend", startHeld, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.says > 0 && cocontext.Direct() {
				t.Skip("the backend can; NETCO_CONTEXT=portable cannot")
			}
			core, lines := observer.New(zap.WarnLevel)
			release := make(chan struct{})
			var held, stalled atomic.Bool
			s := c.run(t, scheduler.Options{
				Processors: 1, Logger: zap.New(core),
				Watchdog: 50 * time.Millisecond, // a monitor would check many times
				OnStall:  func(stall scheduler.Stall) { stalled.Store(!stall.Over) },
			}, func() { held.Store(true); <-release })
			testenv.Until(t, "the watchdog", func() bool { return held.Load() && stalled.Load() })
			testenv.Equal(t, handoffs(s), 0, "handoffs")
			testenv.Equal(t, engine.Of(s).Processors()[0].Coroutines().Standbys.Load(), 0,
				"standbys")
			close(release)
			shutdown(t, s)
			said := lines.FilterMessage(
				"a coroutine that blocks outside netco holds up its processor")
			testenv.Equal(t, said.Len(), c.says, "lines in the log")
		})
	}
}

// TestHandoffThreadLocked: a coroutine may lock its thread while it is left
// behind, and must unlock it before it rejoins. If it does not, the program
// ends and names the coroutine.
func TestHandoffThreadLocked(t *testing.T) {
	a := leave(t, scheduler.Options{}, func() {
		runtime.LockOSThread()
		time.Sleep(time.Millisecond)
		runtime.UnlockOSThread()
	})
	a.ends(t)
	out, status := child(t, "rejoin locked")
	testenv.True(t, status == 2 && strings.Contains(out, `"culprit"`) &&
		strings.Contains(out, "comes back to netco while it holds runtime.LockOSThread"),
		"status %d:\n%.2000s", status, out)
}

// TestNoHandoffLocked: a coroutine that is locked to its thread is not left
// behind, since it could not rejoin.
func TestNoHandoffLocked(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 1})
	h := testenv.Must(s.Go(func() {
		runtime.LockOSThread()
		time.Sleep(50 * time.Millisecond) // many checks of the monitor
		coroutine.Current()
		runtime.UnlockOSThread()
		coroutine.Yield()
	}))
	h.Join()
	testenv.Equal(t, handoffs(s), 0, "handoffs")
	shutdown(t, s)
}

func init() {
	children["rejoin locked"] = func() {
		s, _ := scheduler.New(scheduler.Options{Processors: 1})
		s.Start()
		c := make(chan int)
		h, _ := s.GoWith(scheduler.Spawn{Name: "culprit", Fn: func() {
			<-c
			runtime.LockOSThread()
			coroutine.Current()
		}})
		for handoffs(s) == 0 {
			time.Sleep(time.Millisecond)
		}
		close(c)
		h.Join()
		fmt.Println("it goes on")
	}
}

// through locks and unlocks mu.
func through(mu stdsync.Locker) {
	mu.Lock()
	defer mu.Unlock()
}
