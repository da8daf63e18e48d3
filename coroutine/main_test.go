package coroutine

import (
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/mpsc"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) {
	if LockedInInit != nil {
		LockedInInit()
		return
	}
	makeThreads(8)
	testenv.Main(m)
}

// makeThreads has Go make threads, which it keeps, before tests count them.
func makeThreads(n int) {
	var locked, over sync.WaitGroup
	locked.Add(n)
	for range n {
		over.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			locked.Done()
			locked.Wait()
		})
	}
	over.Wait()
}

// spell returns a function that is true for d: a hammer ends its rounds then,
// where each takes a time slice of the system's.
func spell(d time.Duration) (goesOn func() bool) {
	end := time.Now().Add(d)
	return func() bool { return time.Now().Before(end) }
}

// thread hosts an executor on a goroutine of its own, locked to its thread
// unless it roams, with what a Processor has, in the simplest form.
type thread struct {
	bareHost
	ex      Executor
	roams   bool // constant: coroutines may move here and away
	inbox   mpsc.Queue[Coroutine]
	bell    chan struct{} // capacity 1
	entered chan struct{} // closed when the executor can be moved to
	stopped chan struct{}
	panics  func(co *Coroutine, value any, stack []byte) bool

	mu     sync.Mutex
	births []*Coroutine // under mu
	moved  []*Coroutine // under mu
	coming int          // under mu
	holds  bool         // under mu: what has moved here waits
	over   bool         // under mu: end when nothing lives
	force  bool         // under mu: Stop
}

// newThread starts a thread. Its coroutines have ended when stop returns.
func newThread(c Config) *thread { return startThread(new(thread), c) }

// newRoamer is newThread for a loop that is not locked to a thread.
func newRoamer(c Config) *thread { return startThread(&thread{roams: true}, c) }

func startThread(th *thread, c Config) *thread {
	th.bell, th.entered, th.stopped = make(chan struct{}, 1), make(chan struct{}),
		make(chan struct{})
	c.Host = th
	th.ex.Init(c)
	go th.loop()
	<-th.entered
	return th
}

// Post, ParkUntil and Panicked implement Host.
func (th *thread) Post(co *Coroutine) {
	th.inbox.Push(co.Node())
	th.ring()
}

// ParkUntil never stops its timer: it fires late, for an old ticket, more often
// than not.
func (th *thread) ParkUntil(co *Coroutine, reason Reason, deadline int64) Wake {
	ticket := co.Ticket()
	time.AfterFunc(time.Duration(deadline-clock.Now()),
		func() { co.MakeReady(ticket, WakeTimeout) })
	return co.Park(reason)
}

func (th *thread) Panicked(co *Coroutine, value any, stack []byte) bool {
	return th.panics != nil && th.panics(co, value, stack)
}

// StartHere, Reserve and Send implement the rest.
func (th *thread) StartHere(s Spawn) (Handle, error) { return th.ex.Spawn(s).Handle(), nil }

func (th *thread) Reserve(Host) bool {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.coming++
	return true
}

func (th *thread) Send(co *Coroutine) {
	th.mu.Lock()
	th.coming--
	th.moved = append(th.moved, co)
	th.mu.Unlock()
	th.ring()
}

// hold keeps what moves here waiting, until it is called with false.
func (th *thread) hold(on bool) {
	th.mu.Lock()
	th.holds = on
	th.mu.Unlock()
	th.ring()
}

func (th *thread) ring() {
	select {
	case th.bell <- struct{}{}:
	default:
	}
}

func (th *thread) spawn(fn func()) Handle { return th.submit(Make(nil, &Spawn{Fn: fn})) }

// submit gives th a coroutine from Make.
func (th *thread) submit(co *Coroutine) Handle {
	h := co.Handle()
	th.mu.Lock()
	th.births = append(th.births, co)
	th.mu.Unlock()
	th.ring()
	return h
}

func (th *thread) stop() {
	th.mu.Lock()
	th.over = true
	th.mu.Unlock()
	th.ring()
	<-th.stopped
}

// stopByForce makes every park end first.
func (th *thread) stopByForce() {
	th.mu.Lock()
	th.force = true
	th.mu.Unlock()
	th.stop()
}

func (th *thread) loop() {
	defer close(th.stopped)
	if !th.roams {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	ex := &th.ex
	ex.Enter()
	close(th.entered)
	defer ex.Leave()
	for idle := 0; ; {
		for n := th.inbox.Take(); n != nil; {
			co := n.Value
			n = n.Next()
			ex.Arrive(co)
		}
		th.mu.Lock()
		for _, co := range th.births {
			ex.Adopt(co)
		}
		th.births = th.births[:0]
		if !th.holds {
			for _, co := range th.moved {
				ex.Settle(co)
			}
			th.moved = nil
		}
		over := th.over && ex.Stats.Live.Own() == 0 && len(th.moved)+th.coming == 0 &&
			th.inbox.Empty()
		force := th.force && !ex.Stopping()
		th.mu.Unlock()
		if over {
			return
		}
		if force {
			ex.Stop()
		}
		switch {
		case ex.Queued() > 0:
			ex.Run(256, math.MaxInt64)
			idle = 0
		case idle < 100:
			idle++
			runtime.Gosched()
		default:
			<-th.bell
		}
	}
}

// on runs fn as a coroutine of a fresh executor and returns when all coroutines
// have ended.
func on(c Config, fn func(ex *Executor)) {
	th := newThread(c)
	th.spawn(func() { fn(&th.ex) })
	th.stop()
}

// plain is the usual configuration.
var plain = Config{Idle: 64}
