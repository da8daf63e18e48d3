package coroutine

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
)

// stage is a set of coroutines that do at random all that they can, with what
// the model expects of them.
type stage struct {
	t     *testing.T
	seed  uint64
	rnd   *rand.Rand
	steps int    // to go
	park  func() // nil if there is nothing to wait for
	all   []*actor
	value int // the last given
	done  int // actors that have ended
	born  int

	dropped *sync.WaitGroup // set when nothing can resume them any more
}

// actor is one coroutine as the model knows it.
type actor struct {
	f      Fiber[int, int]
	status Status // StatusRunning for all that run or wait
	in     int    // what it is to be given when it goes on
	driver *driver
	cancel bool
}

// driver is a goroutine, or coroutine of an executor, that resumes actors, and
// those they resume.
type driver struct {
	out   int // what the next Resume that returns is to return
	err   error
	panic any
	depth int
}

func (s *stage) errorf(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("seed %d: "+format, append([]any{s.seed}, args...)...)
	s.steps = 0
}

func (s *stage) fresh() int { s.value++; return s.value }

// idle returns an actor that can be resumed, or nil.
func (s *stage) idle() *actor {
	for range 8 {
		if a := s.all[s.rnd.IntN(len(s.all))]; a.status == StatusCreated ||
			a.status == StatusSuspended {
			return a
		}
	}
	return nil
}

// look compares all statuses with the model's; self is the caller.
func (s *stage) look(self *actor) {
	for _, a := range s.all {
		want := a.status
		if want == StatusRunning && a != self {
			want = StatusNormal
		}
		if got := a.f.Status(); got != want {
			s.errorf("an actor is %v, want %v", got, want)
		}
	}
	want := uint64(0)
	if self != nil {
		want = self.f.ID()
	}
	if got := RunningID(); got != want {
		s.errorf("RunningID %d, want %d", got, want)
	}
}

// spawn makes an actor in place k.
func (s *stage) spawn(k int) {
	a := &actor{status: StatusCreated}
	s.all[k] = a
	s.born++
	a.f = New(func(y *Yielder[int, int], in int) int {
		defer func() {
			if s.dropped != nil { // on a goroutine of its own
				s.dropped.Done()
				return
			}
			if a.cancel {
				if _, err := y.Yield(1); err != ErrCancelled {
					s.errorf("Yield when it is cancelled: %v", err)
				}
				if s.rnd.IntN(4) == 0 {
					s.pause(a)
				}
				switch b := s.idle(); {
				case b == nil || s.rnd.IntN(2) == 0:
				case s.rnd.IntN(2) == 0:
					s.resume(a.driver, a, b)
				default:
					s.cancel(a.driver, a, b)
				}
			}
			a.status = StatusDead
			s.done++
		}()
		mine := chain(4, uint64(k))
		for s.steps > 0 {
			s.steps--
			if a.status != StatusRunning || in != a.in {
				s.errorf("given %d, want %d; it is %v", in, a.in, a.status)
			}
			in = s.act(a, y, in)
			if !mine.intact(4) {
				s.errorf("its data is damaged")
			}
		}
		a.driver.out = s.fresh()
		return a.driver.out
	})
}

// act is one step of an actor. It returns what it was given last.
func (s *stage) act(a *actor, y *Yielder[int, int], in int) int {
	d := a.driver
	switch what := s.rnd.IntN(100); {
	case what < 30:
		d.out = s.fresh()
		a.status = StatusSuspended
		got, err := y.Yield(d.out)
		if err != nil {
			s.errorf("Yield: %v", err)
		}
		return got
	case what < 50:
		if b := s.idle(); b != nil {
			return s.transfer(a, y, b)
		}
	case what < 65:
		if b := s.idle(); b != nil && d.depth < 20 {
			s.resume(d, a, b)
		}
	case what < 70:
		if b := s.idle(); b != nil {
			s.cancel(d, a, b)
		}
	case what < 80:
		s.pause(a)
	case what < 84:
		s.refused(a, y, s.all[s.rnd.IntN(len(s.all))])
	case what < 90:
		deep(s.t, 1+s.rnd.IntN(30), func() { in = s.act(a, y, in) })
	case what == 90:
		d.err, d.out = ErrGoexit, 0
		runtime.Goexit()
	case what == 91:
		d.panic = s.fresh()
		panic(d.panic)
	case what == 92:
		d.out = s.fresh()
		s.respawn()
	default:
		s.look(a)
	}
	return in
}

// transfer has a go on as b, and returns what a is given then.
func (s *stage) transfer(a *actor, y *Yielder[int, int], b *actor) int {
	a.status, b.status = StatusSuspended, StatusRunning
	b.driver, b.in = a.driver, s.fresh()
	got, err := y.Transfer(b.f, b.in)
	if err != nil {
		s.errorf("Transfer: %v", err)
	}
	return got
}

// refused has a do to b, if b runs or is dead, what gets an error.
func (s *stage) refused(a *actor, y *Yielder[int, int], b *actor) {
	want := map[Status]error{StatusRunning: ErrRunning, StatusDead: ErrDead}[b.status]
	if want == nil {
		return
	}
	if _, err := b.f.Resume(1); err != want {
		s.errorf("Resume of one that is %v: %v", b.status, err)
	}
	if err := b.f.Cancel(); want == ErrRunning && err != want || want == ErrDead && err != nil {
		s.errorf("Cancel of one that is %v: %v", b.status, err)
	}
	if b == a {
		want = ErrTransferSelf
	}
	if _, err := y.Transfer(b.f, 1); err != want {
		s.errorf("Transfer to one that is %v: %v", b.status, err)
	}
}

func (s *stage) pause(a *actor) {
	if s.park != nil {
		s.park()
		if a.status != StatusRunning {
			s.errorf("somebody has changed it while it waited")
		}
	}
}

// respawn puts a new actor in a dead one's place.
func (s *stage) respawn() {
	if k := s.rnd.IntN(len(s.all)); s.all[k].status == StatusDead {
		s.spawn(k)
	}
}

// resume has self, nil for the driver, resume b.
func (s *stage) resume(d *driver, self, b *actor) {
	b.status, b.in, b.driver = StatusRunning, s.fresh(), d
	d.depth++
	defer func() {
		d.depth--
		if r := recover(); r != nil {
			if e, ok := r.(*PanicError); !ok || e.Value != d.panic {
				s.errorf("Resume panics with %.200v, want %v", r, d.panic)
			}
			d.panic = nil
		}
	}()
	got, err := b.f.Resume(b.in)
	if got != d.out || err != d.err || d.panic != nil {
		s.errorf("Resume: %d, %v, want %d, %v", got, err, d.out, d.err)
	}
	d.err = nil
}

func (s *stage) cancel(d *driver, self, b *actor) {
	ready := b.status == StatusCreated
	b.cancel = true
	b.driver = d
	if !ready {
		b.status = StatusRunning
	}
	d.depth++
	if err := b.f.Cancel(); err != nil {
		s.errorf("Cancel: %v", err)
	}
	d.depth--
	d.err = nil
	if ready {
		b.status = StatusDead
		s.done++
	}
	if b.status != StatusDead {
		s.errorf("cancelled, it is %v", b.status)
	}
}

// drive resumes actors until the steps are used up.
func (s *stage) drive() {
	d := &driver{}
	for s.steps > 0 {
		s.steps--
		switch b := s.idle(); {
		case b == nil:
			s.respawn()
		case s.rnd.IntN(20) == 0:
			s.cancel(d, nil, b)
		default:
			s.resume(d, nil, b)
		}
		if s.rnd.IntN(10) == 0 {
			s.look(nil)
		}
		if s.rnd.IntN(5) == 0 {
			s.respawn()
		}
		if s.park != nil {
			s.park()
		}
	}
}

// end cancels what is left.
func (s *stage) end() {
	d := &driver{}
	for _, a := range s.all {
		if a.status == StatusRunning {
			s.errorf("an actor runs although nobody drives it")
		} else if a.status != StatusDead {
			s.cancel(d, nil, a)
		}
	}
	if s.done != s.born {
		s.errorf("%d of %d actors have ended", s.done, s.born)
	}
}

// drop drops all references to what is left, and waits for its end.
func (s *stage) drop() {
	var dropped sync.WaitGroup
	s.dropped = &dropped
	for _, a := range s.all {
		if a.status == StatusSuspended {
			dropped.Add(1)
		}
		a.f = Fiber[int, int]{} // which it refers to itself
	}
	over := make(chan struct{})
	go func() { dropped.Wait(); close(over) }()
	for {
		select {
		case <-over:
			return
		default:
			runtime.GC()
		}
	}
}

func newStage(t *testing.T, actors, steps int) *stage {
	w := &stage{t: t, seed: rand.Uint64(), steps: steps}
	w.rnd = rand.New(rand.NewPCG(w.seed, 3))
	w.all = make([]*actor, actors)
	for k := range w.all {
		w.spawn(k)
	}
	return w
}

// TestModel does everything at random on a goroutine, and in coroutines of an
// executor that wait in between, so that the contexts end up in one another's
// slots.
func TestModel(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	before := runtime.NumGoroutine()
	t.Run("goroutine", func(t *testing.T) {
		for i := range testenv.Rounds(100) {
			w := newStage(t, 2+i%30, 2000)
			w.drive()
			if i%10 == 9 {
				w.drop()
			} else {
				w.end()
			}
		}
	})
	testenv.Settle(t, before)
	for name, c := range map[string]Config{
		"coroutines":             {Idle: 64},
		"coroutines, small pool": {Idle: 3},
		"coroutines, no pool":    {Idle: 0},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range testenv.Rounds(60) {
				on(c, func(ex *Executor) { newStage(t, 2+i%30, 3000).driveIn(ex, 1+i%4) })
			}
		})
		testenv.Settle(t, before)
	}
}

// parkFor parks the calling coroutine until another, or a timer on another
// thread, wakes it.
func (s *stage) parkFor(ex *Executor) {
	co := Current()
	if s.rnd.IntN(20) == 0 {
		if why := ex.Host().ParkUntil(co, ReasonSleep,
			clock.Now()+int64(s.rnd.IntN(20_000))); why != WakeTimeout {
			s.errorf("a park ended by %v", why)
		}
	} else {
		ticket := co.Ticket()
		ex.Spawn(Spawn{Fn: func() { co.MakeReady(ticket, WakeReady) }})
		if why := co.Park(ReasonUser); why != WakeReady {
			s.errorf("a park ended by %v", why)
		}
	}
	if Current() != co {
		s.errorf("after a park it runs as another")
	}
}
