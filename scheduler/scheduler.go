package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/netco-go/netco/asm"
	cocontext "github.com/netco-go/netco/context"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/processor"
)

// Scheduler is a set of Processors. Its methods may be called from any thread.
type Scheduler struct {
	opt      Options
	refusals processor.LogLimit
	observer *diagnose.Observer

	mu     sync.Mutex
	state  state  // under mu; procs is constant once it is running
	forced forced // under mu
	done   chan struct{}

	group atomic.Pointer[processor.Group] // set by Start
	procs []*processor.Processor
}

type state int

const (
	fresh state = iota
	running
	ending
	ended
)

// New makes a Scheduler. The error says which option is wrong.
func New(o Options) (*Scheduler, error) {
	logs := o.Logger != nil || o.Slog != nil
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Scheduler{opt: o, done: make(chan struct{}), observer: diagnose.New(diagnose.Config{
		Logger: o.Logger, Logs: logs, Quiet: o.Quiet, Watchdog: o.Watchdog, OnStall: o.OnStall,
	})}, nil
}

// Start makes the threads and their fds. It returns ErrStarted the second time
// and after Shutdown, ErrBubble in a bubble of testing/synctest, or the
// operating system's error, after which the Scheduler is as before.
//
// The first Scheduler with as many Processors as GOMAXPROCS raises that by one,
// unless the environment sets GOMAXPROCS. From then on the Go runtime does not
// adjust GOMAXPROCS to a CPU quota.
func (s *Scheduler) Start() error {
	if clock.InBubble() {
		return coroutine.ErrBubble
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != fresh {
		return engine.ErrStarted
	}
	group, err := s.makeLocked(s.opt.Processors)
	if err != nil {
		return err
	}
	spareP(len(s.procs))
	for i, p := range s.procs {
		if err := p.Start(); err != nil {
			for _, unstarted := range s.procs[i+1:] {
				unstarted.Discard()
			}
			group.Advance(processor.Stopped)
			for _, started := range s.procs[:i] {
				<-started.Ended()
			}
			return err
		}
	}
	if !s.opt.LockThreads {
		group.StartMonitor(s.opt.Logger)
	}
	s.runningLocked(group)
	return nil
}

// makeLocked makes a group of n Processors. It does not start them.
func (s *Scheduler) makeLocked(n int) (*processor.Group, error) {
	group := processor.NewGroup(s)
	group.OnHandoff, group.OnRefused = s.observer.NoteHandoff, s.logRefusal
	group.SetMaxCoroutines(s.opt.MaxCoroutines)
	s.procs = nil
	for i := range n {
		p, err := processor.New(s.config(group, i))
		if err != nil {
			group.Discard()
			return nil, fmt.Errorf("netco: processor %d: %w", i, err)
		}
		s.procs = append(s.procs, p)
	}
	group.SetMinActive(s.opt.MinActive)
	return group, nil
}

// runningLocked has the Scheduler take work.
func (s *Scheduler) runningLocked(group *processor.Group) {
	s.group.Store(group)
	s.observer.Watch(group)
	s.state = running
	s.opt.Logger.Info("scheduler started", zap.Int("processors", len(s.procs)),
		zap.String("context", cocontext.Backend()), zap.String("reason", cocontext.BackendReason()))
}

func (s *Scheduler) config(group *processor.Group, i int) processor.Config {
	cpu := -1
	if len(s.opt.CPUs) > 0 {
		cpu = s.opt.CPUs[i%len(s.opt.CPUs)]
	}
	return processor.Config{
		Group:      group,
		Index:      i,
		CPU:        cpu,
		LockThread: s.opt.LockThreads,
		NoSpin:     s.opt.NoSpin,
		Idle:       max(s.opt.PoolCap, 0),
		BufferSize: s.opt.BufferSize,
		MaxBuffers: s.opt.BufferMemory / s.opt.BufferSize,
		Logger:     s.opt.Logger,
		OnPanic:    s.opt.OnPanic,
	}
}

// Processors returns how many Processors there are; 0 before Start. Does not
// park.
func (s *Scheduler) Processors() int { return len(s.members()) }

// members returns the Processors, in the order of their numbers; nil before
// Start. It takes no lock. The caller must not change the slice.
func (s *Scheduler) members() []*processor.Processor {
	if g := s.group.Load(); g != nil {
		return g.Members()
	}
	return nil
}

// Engine is for netco's own packages.
func (s *Scheduler) Engine() engine.Engine { return engine.New(s.group.Load(), s.observer) }

// Logger returns the Scheduler's logger. It is not nil.
func (s *Scheduler) Logger() *zap.Logger { return s.opt.Logger }

// here returns the caller's Processor if it belongs to s, nil otherwise.
func (s *Scheduler) here() *processor.Processor {
	if p := processor.Current(); p != nil && p.Group() == s.group.Load() {
		return p
	}
	return nil
}

// enter returns the caller's Processor if it belongs to s, nil otherwise. The
// error says why the caller may not start coroutines. For a coroutine of s only
// the phase counts, which processor.Group.Go checks.
func (s *Scheduler) enter() (here *processor.Processor, err error) {
	if here = s.here(); here != nil {
		return here, nil
	}
	if processor.Current() == nil && clock.InBubble() {
		return nil, coroutine.ErrBubble
	}
	defer coroutine.Rejoin() // taking the lock may have blocked
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state {
	case fresh:
		return nil, engine.ErrNotStarted
	case ending, ended:
		return nil, coroutine.ErrShutdown
	}
	return nil, nil
}

// Spawn says what to start as a coroutine, and how. Only Fn must be set.
type Spawn = coroutine.Spawn

// OnProcessor is Spawn.On for Processor i, counted from 0.
func OnProcessor(i int) coroutine.Place { return coroutine.OnProcessor(i) }

var errLocalOn = errors.New("netco: Spawn has both Local, the caller's Processor, and On")

// Current returns the Scheduler of the calling coroutine, or nil on an ordinary
// goroutine. It takes a few nanoseconds and does not park.
func Current() *Scheduler {
	if p := processor.Current(); p != nil {
		return schedulerOf(p)
	}
	return nil
}

// schedulerOf returns the Scheduler that a Processor belongs to, or nil.
func schedulerOf(p *processor.Processor) *Scheduler {
	s, _ := p.Group().Owner.(*Scheduler)
	return s
}

// Go starts fn as a coroutine on the least loaded of the active Processors (see
// Options.MinActive). The error is ErrNotStarted, ErrShutdown,
// ErrTooManyCoroutines, or ErrBubble in a bubble of testing/synctest. Does not
// park.
//
//go:noinline
func (s *Scheduler) Go(fn func()) (coroutine.Handle, error) {
	return s.GoWith(coroutine.SpawnAt(fn, asm.CallerPC()))
}

// GoWith is Go with the options in sp. It returns Go's errors; ErrNoProcessor
// for a Processor that does not exist; ErrNotCoroutine for a Child of an
// ordinary goroutine; or an error for a Spawn that contradicts itself.
//
//go:noinline
func (s *Scheduler) GoWith(sp Spawn) (coroutine.Handle, error) {
	if sp.Site == 0 {
		sp.Site = asm.CallerPC()
	}
	here, err := s.enter()
	if err != nil {
		return coroutine.Handle{}, err
	}
	var on *processor.Processor
	if i, ok := sp.On.Processor(); ok {
		if on, err = s.place(i, sp.Local); err != nil {
			return coroutine.Handle{}, err
		}
		sp.Pinned = true
	}
	if sp.Child && coroutine.Current() == nil {
		return coroutine.Handle{}, coroutine.ErrNotCoroutine
	}
	return s.group.Load().Go(here, on, &sp)
}

// place returns Processor i for a Spawn that names it.
func (s *Scheduler) place(i int, local bool) (*processor.Processor, error) {
	procs := s.members()
	switch {
	case local:
		return nil, errLocalOn
	case i < 0 || i >= len(procs):
		return nil, fmt.Errorf("%w: %d of %d", engine.ErrNoProcessor, i, len(procs))
	}
	return procs[i], nil
}

// Run is GoWith, and returns when no coroutine of the Scheduler lives any more.
// It may be called again, and by several goroutines. In a coroutine of this
// Scheduler it returns ErrInCoroutine: it would wait for its caller. When all
// coroutines of the process wait for one another for ever, and there is a
// watchdog, Run returns a *DeadlockError about a second later; the coroutines
// stay as they are. Blocks.
//
//go:noinline
func (s *Scheduler) Run(sp Spawn) error {
	if sp.Site == 0 {
		sp.Site = asm.CallerPC()
	}
	if s.here() != nil {
		return engine.ErrInCoroutine
	}
	stuck, over := diagnose.Running() // before the start: a deadlock may be found at any time after
	defer over()
	h, err := s.GoWith(sp)
	if err != nil {
		return err
	}
	quiet := make(chan error, 1)
	go func() {
		err := h.Join() // so that a Run beside another Run's end does not miss its own coroutine
		if err == nil {
			err = s.wait(context.Background())
		}
		quiet <- err
	}()
	select {
	case err := <-quiet:
		return err
	case deadlock := <-stuck:
		return deadlock
	}
}

// wait blocks until no coroutine lives, or ctx is over.
func (s *Scheduler) wait(ctx context.Context) error {
	for s.group.Load().Active() {
		select {
		case <-s.group.Load().Quiet():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Shutdown ends the Scheduler. It refuses new work, lets coroutines finish
// until ctx is over, then ends all their waits, and at last ends the Processors
// and closes their fds. It returns nil if every coroutine finished by itself,
// and ctx's error if waits were ended by force. If coroutines remain five
// seconds later, it returns an error that wraps ctx's and says how many: a
// coroutine that computes, or blocks outside netco, cannot be ended, and its
// Processor stays. [Scheduler.EndedByForce] and Options.Logger say which
// coroutines. Called again, it waits for the first call to finish, or for its
// own ctx. From a coroutine of this Scheduler it returns ErrInCoroutine, in a
// bubble of testing/synctest ErrBubble. Blocks.
func (s *Scheduler) Shutdown(ctx context.Context) error {
	if s.here() != nil {
		return engine.ErrInCoroutine
	}
	bubble := clock.InBubble()
	s.mu.Lock()
	switch s.state {
	case fresh:
		s.state = ended
		close(s.done)
		s.mu.Unlock()
		return nil
	case ended:
		s.mu.Unlock()
		return nil
	case ending:
		s.mu.Unlock()
		if bubble {
			return coroutine.ErrBubble
		}
		select {
		case <-s.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if bubble { // its clock would not reach ctx's deadline while Shutdown waits outside
		s.mu.Unlock()
		return coroutine.ErrBubble
	}
	s.state = ending
	s.mu.Unlock()
	err := s.end(ctx)
	s.observer.Stop()
	s.mu.Lock()
	s.state = ended
	close(s.done)
	s.mu.Unlock()
	s.opt.Logger.Info("scheduler ended", zap.Error(err))
	return err
}

func (s *Scheduler) end(ctx context.Context) error {
	s.group.Load().Advance(processor.Draining)
	err := s.wait(ctx)
	if err != nil {
		s.noteForced()
		s.group.Load().Advance(processor.Stopping)
		grace, cancel := context.WithTimeout(context.Background(), engine.UnwindGrace)
		defer cancel()
		if s.wait(grace) != nil {
			s.opt.Logger.Error("coroutines have not ended by force", zap.Int("count", s.Live()),
				zap.Strings("coroutines", diagnose.Alive(s.group.Load())))
			s.group.Load().Advance(processor.Stopped) // Processors end with their coroutines
			go s.group.Load().Wait()
			return fmt.Errorf("netco: %d coroutines have not ended: %w", s.Live(), err)
		}
	}
	s.group.Load().Advance(processor.Stopped)
	s.group.Load().Wait()
	return err
}

// Ended reports whether Shutdown has finished.
func (s *Scheduler) Ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == ended
}

// Live returns how many coroutines live now.
func (s *Scheduler) Live() int {
	n := 0
	for _, p := range s.members() {
		n -= int(p.Coroutines().Ended.Load())
	}
	for _, p := range s.members() { // a coroutine that moves may be in no Processor's Live
		n += int(p.Coroutines().Spawned.Load())
	}
	return n
}
