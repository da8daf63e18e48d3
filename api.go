// Package netco is a loop-per-core coroutine runtime for network daemons: code
// that reads like blocking code at the speed of an event loop.
//
// A coroutine is a function with a growable stack of its own, run by one of a
// few loops (Processors), each with an epoll instance and a timer heap. It lets
// others of its Processor run where it waits: in [Yield], [Sleep], on a
// connection from [Listen] or [Dial], in packages sync and channel, when it
// joins another.
//
//	ln, err := netco.Listen("tcp", "127.0.0.1:7000")
//	...
//	netco.Run(func() {
//		netco.Serve(ln, func(c net.Conn) { defer c.Close(); io.Copy(c, c) })
//	})
//
// [Serve] is an accept loop that starts a coroutine for each connection by
// [Go].
//
// The functions here work on one default Scheduler, which starts when it is
// first needed; [Start] starts it with options of one's own. After [Shutdown]
// it does not start by itself again. Package scheduler has Schedulers as
// instances. Ordinary goroutines that use connections, locks and channels need
// no Scheduler.
//
// In a bubble of testing/synctest goroutines may use everything that needs no
// Scheduler, by the bubble's clock; other functions return [ErrBubble].
//
// A coroutine that blocks otherwise, in a Go channel, a sync.Mutex, time.Sleep,
// a file or C, makes the others of its Processor late for some milliseconds;
// then the Processor goes on without it. README.md, "What blocks a Processor",
// lists the cost, and the cases in which the Processor waits instead. netco's
// own channels, locks and timers do not delay other coroutines, and package
// blocking bounds the number of blocking calls. A coroutine that computes
// always makes the others wait. A coroutine must not use netco while it holds
// runtime.LockOSThread.
package netco

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// Options are the settings of a Scheduler.
type Options = scheduler.Options

// PanicInfo describes a panic to Options.OnPanic.
type PanicInfo = scheduler.PanicInfo

// Errors; all work with errors.Is.
var (
	ErrShutdown     = coroutine.ErrShutdown
	ErrStarted      = engine.ErrStarted
	ErrNotStarted   = engine.ErrNotStarted
	ErrNoProcessor  = engine.ErrNoProcessor
	ErrInCoroutine  = engine.ErrInCoroutine
	ErrJoinSelf     = coroutine.ErrJoinSelf
	ErrNotCoroutine = coroutine.ErrNotCoroutine // of functions for coroutines only
	ErrBubble       = coroutine.ErrBubble       // in a bubble of testing/synctest
	ErrGoexit       = coroutine.ErrGoexit       // of a Future or Fiber ended by it
	ErrDeadlock     = diagnose.ErrDeadlock

	ErrTooManyCoroutines = processor.ErrTooManyCoroutines // see Options.MaxCoroutines
)

// def holds the default Scheduler: nil before its start and after its Shutdown.
// mu serialises changes of def and of engine.DefaultOver.
var def struct {
	mu sync.Mutex
	s  atomic.Pointer[scheduler.Scheduler]
}

func init() {
	coroutine.SetDefault(start, func() error {
		_, err := Default()
		return err
	})
}

// Default returns the default Scheduler, starting it with default options if it
// has not been started yet. After [Shutdown] the error is ErrShutdown, until
// Start or Run is called. Does not park.
func Default() (*scheduler.Scheduler, error) { return running(false) }

// running is Default. With again it starts a Scheduler after Shutdown, too.
func running(again bool) (*scheduler.Scheduler, error) {
	if s := def.s.Load(); s != nil {
		return s, nil
	}
	def.mu.Lock()
	defer def.mu.Unlock()
	if s := def.s.Load(); s != nil {
		return s, nil
	}
	switch {
	case clock.InBubble():
		return nil, ErrBubble
	case engine.DefaultOver && !again:
		return nil, ErrShutdown
	}
	return startLocked(Options{})
}

func startLocked(o Options) (*scheduler.Scheduler, error) {
	s, err := scheduler.New(o)
	if err != nil {
		return nil, err
	}
	if err := s.Start(); err != nil {
		return nil, err
	}
	processor.SetDefaultGroup(engine.Of(s).Group()) // first: Shutdown of s takes it back
	def.s.Store(s)
	engine.DefaultOver = false
	return s, nil
}

// Start starts the default Scheduler with the given options. It returns
// ErrStarted if the default Scheduler is running already. After Shutdown it may
// be called again.
func Start(o Options) error {
	_, err := startDefault(o)
	return err
}

// startDefault is Start, and returns the Scheduler.
func startDefault(o Options) (*scheduler.Scheduler, error) {
	def.mu.Lock()
	defer def.mu.Unlock()
	if def.s.Load() != nil {
		return nil, ErrStarted
	}
	return startLocked(o)
}

// Shutdown ends the default Scheduler: see [scheduler.Scheduler.Shutdown]. If
// the default Scheduler is not running, Shutdown only does the following:
// functions that would start it on demand, such as Go, return ErrShutdown from
// then on, until Start or Run is called. Blocks; not to be called from a
// coroutine (ErrInCoroutine).
func Shutdown(ctx context.Context) error {
	def.mu.Lock() // a start may be under way
	s := def.s.Load()
	engine.DefaultOver = engine.DefaultOver || s == nil
	def.mu.Unlock()
	if s == nil {
		return nil
	}
	err := s.Shutdown(ctx)
	if s.Ended() {
		defaultEnded(s)
	}
	return err
}

// defaultEnded is called when s has ended. It clears def if s is the default
// Scheduler.
func defaultEnded(s *scheduler.Scheduler) {
	def.mu.Lock()
	defer def.mu.Unlock()
	if def.s.CompareAndSwap(s, nil) {
		engine.DefaultOver = true
	}
}

// callers returns the caller's own Scheduler if the caller is a coroutine, else
// the result of running.
func callers(again bool) (*scheduler.Scheduler, error) {
	if s := scheduler.Current(); s != nil {
		return s, nil
	}
	return running(again)
}

// start starts a coroutine on the caller's own Scheduler if the caller is a
// coroutine, else on the default Scheduler.
func start(sp Spawn) (Handle, error) {
	s, err := callers(false)
	if err != nil {
		return Handle{}, err
	}
	return s.GoWith(sp)
}

// Run starts fn as a coroutine and returns when no coroutine lives any more. It
// starts the default Scheduler if need be, and a new one after Shutdown. It may
// be called again. From a coroutine it returns ErrInCoroutine. When all
// coroutines wait for one another for ever it returns a
// [scheduler.DeadlockError], about a second later. Blocks.
//
//go:noinline
func Run(fn func()) error {
	site := asm.CallerPC()
	s, err := callers(true)
	if err != nil {
		return err
	}
	return s.Run(coroutine.SpawnAt(fn, site))
}

// Go starts fn as a coroutine on the least loaded of the active Processors (see
// Options.MinActive). At a wait the coroutine may move to another Processor,
// with the connection that it waits for. Go does not wait. From an ordinary
// goroutine it starts the default Scheduler if it has not been started yet. The
// error is ErrShutdown, also after Shutdown until Start or Run is called,
// ErrTooManyCoroutines, or the error of starting the Scheduler.
//
//go:noinline
func Go(fn func()) (Handle, error) {
	return start(coroutine.SpawnAt(fn, asm.CallerPC()))
}

// Spawn describes a coroutine for GoWith to start:
//
//	here := netco.OnProcessor(1)
//	h, err := netco.GoWith(netco.Spawn{Name: "clerk", On: here, Fn: work})
//
// Its fields for users are
//
//	Fn    func()  the coroutine runs it
//	Name  string  logs, panics and listings show it
//	On    Place   the Processor where it starts and stays; by default the
//	              least loaded, and it may move
//	Local bool    the caller's Processor, where both stay from then on: among
//	              such coroutines nothing runs in parallel. On an ordinary
//	              goroutine it changes nothing
//	Child bool    it ends with the caller, its parent; some 100 bytes more
//
// When the parent of a child ends, by return, by runtime.Goexit, by a panic
// that Options.OnPanic has dealt with or by force, each of its children is
// stopped ([Handle.Stop]): its waits end as when the Scheduler ends by force.
// The parent has ended only when all its children have ended: its own deferred
// calls run first, then the children end, then its Locals are dropped, then
// Join returns. Children of children end the same way. A child that ends by
// itself is forgotten at once.
//
// To let children finish their work, Join them or use an errgroup.Group before
// the parent ends. A child that ignores its stop delays its parent's end.
type Spawn = coroutine.Spawn

// Place is Spawn.On, from OnProcessor.
type Place = coroutine.Place

// OnProcessor is the Place of Processor i, from 0 to one less than
// Options.Processors.
func OnProcessor(i int) Place { return coroutine.OnProcessor(i) }

// GoWith is Go with the settings of s. The error is Go's; ErrNoProcessor for a
// Processor that does not exist; ErrNotCoroutine for a Child of an ordinary
// goroutine; or an error for Local together with On. It does not wait.
//
//go:noinline
func GoWith(s Spawn) (Handle, error) {
	s.Site = asm.CallerPC()
	return start(s)
}

// Yield lets the other ready coroutines of the caller's Processor run first. On
// an ordinary goroutine it is runtime.Gosched. It does not allocate.
func Yield() { coroutine.Yield() }

// Sleep parks the calling coroutine for d; on an ordinary goroutine it is
// time.Sleep. With d <= 0 it yields. When the Scheduler ends by force the
// coroutine ends there, running its deferred calls. It does not allocate.
func Sleep(d time.Duration) { processor.Sleep(d) }
