package coroutine

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
)

// TestRing passes a value round a ring of coroutines by Transfer.
func TestRing(t *testing.T) {
	homes(t, func(t *testing.T) {
		const n = 50
		rounds := scaled(100)
		var ring [n]Fiber[int, int]
		for i := range ring {
			ring[i] = New(func(y *Yielder[int, int], in int) int {
				for {
					if in >= n*rounds {
						return in
					}
					var err error
					if in, err = y.Transfer(ring[(i+1)%n], in+1); err != nil {
						t.Error(err)
						return -1
					}
				}
			})
		}
		ring[0].expect(t, 0, n*rounds, nil)
		dead := 0
		for i := range ring {
			if ring[i].Status() == StatusDead {
				dead++
			}
			if err := ring[i].Cancel(); err != nil {
				t.Error(err)
			}
		}
		if dead != 1 {
			t.Errorf("%d have ended, want the last", dead)
		}
	})
}

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

func (w *stage) errorf(format string, args ...any) {
	w.t.Helper()
	w.t.Errorf("seed %d: "+format, append([]any{w.seed}, args...)...)
	w.steps = 0
}

func (w *stage) fresh() int { w.value++; return w.value }

// idle returns an actor that can be resumed, or nil.
func (w *stage) idle() *actor {
	for range 8 {
		if a := w.all[w.rnd.IntN(len(w.all))]; a.status == StatusReady ||
			a.status == StatusSuspended {
			return a
		}
	}
	return nil
}

// look compares all statuses with the model's; self is the caller.
func (w *stage) look(self *actor) {
	for _, a := range w.all {
		want := a.status
		if want == StatusRunning && a != self {
			want = StatusNormal
		}
		if got := a.f.Status(); got != want {
			w.errorf("an actor is %v, want %v", got, want)
		}
	}
	want := uint64(0)
	if self != nil {
		want = self.f.ID()
	}
	if got := RunningID(); got != want {
		w.errorf("RunningID %d, want %d", got, want)
	}
}

// spawn makes an actor in place k.
func (w *stage) spawn(k int) {
	a := &actor{status: StatusReady}
	w.all[k] = a
	w.born++
	a.f = New(func(y *Yielder[int, int], in int) int {
		defer func() {
			if w.dropped != nil { // on a goroutine of its own
				w.dropped.Done()
				return
			}
			if a.cancel {
				if _, err := y.Yield(1); err != ErrCancelled {
					w.errorf("Yield when it is cancelled: %v", err)
				}
				if w.rnd.IntN(4) == 0 {
					w.pause(a)
				}
				if b := w.idle(); b != nil && w.rnd.IntN(4) == 0 {
					w.resume(a.driver, a, b)
				}
			}
			a.status = StatusDead
			w.done++
		}()
		mine := chain(4, uint64(k))
		for w.steps > 0 {
			w.steps--
			if a.status != StatusRunning || in != a.in {
				w.errorf("given %d, want %d; it is %v", in, a.in, a.status)
			}
			in = w.act(a, y, in)
			if !mine.intact(4) {
				w.errorf("its data is damaged")
			}
		}
		a.driver.out = w.fresh()
		return a.driver.out
	})
}

// act is one step of an actor. It returns what it was given last.
func (w *stage) act(a *actor, y *Yielder[int, int], in int) int {
	d := a.driver
	switch what := w.rnd.IntN(100); {
	case what < 30:
		d.out = w.fresh()
		a.status = StatusSuspended
		got, err := y.Yield(d.out)
		if err != nil {
			w.errorf("Yield: %v", err)
		}
		return got
	case what < 50:
		if b := w.idle(); b != nil {
			return w.transfer(a, y, b)
		}
	case what < 65:
		if b := w.idle(); b != nil && d.depth < 20 {
			w.resume(d, a, b)
		}
	case what < 70:
		if b := w.idle(); b != nil {
			w.cancel(d, a, b)
		}
	case what < 80:
		w.pause(a)
	case what < 84:
		w.refused(a, y, w.all[w.rnd.IntN(len(w.all))])
	case what < 90:
		deep(w.t, 1+w.rnd.IntN(30), func() { in = w.act(a, y, in) })
	case what == 90:
		d.err, d.out = ErrGoexit, 0
		runtime.Goexit()
	case what == 91:
		d.panic = w.fresh()
		panic(d.panic)
	case what == 92:
		d.out = w.fresh()
		w.respawn()
	default:
		w.look(a)
	}
	return in
}

// transfer has a go on as b, and returns what a is given then.
func (w *stage) transfer(a *actor, y *Yielder[int, int], b *actor) int {
	a.status, b.status = StatusSuspended, StatusRunning
	b.driver, b.in = a.driver, w.fresh()
	got, err := y.Transfer(b.f, b.in)
	if err != nil {
		w.errorf("Transfer: %v", err)
	}
	return got
}

// refused has a do to b, if b runs or is dead, what gets an error.
func (w *stage) refused(a *actor, y *Yielder[int, int], b *actor) {
	want := map[Status]error{StatusRunning: ErrRunning, StatusDead: ErrDead}[b.status]
	if want == nil {
		return
	}
	if _, err := b.f.Resume(1); err != want {
		w.errorf("Resume of one that is %v: %v", b.status, err)
	}
	if err := b.f.Cancel(); want == ErrRunning && err != want || want == ErrDead && err != nil {
		w.errorf("Cancel of one that is %v: %v", b.status, err)
	}
	if b == a {
		want = ErrTransferSelf
	}
	if _, err := y.Transfer(b.f, 1); err != want {
		w.errorf("Transfer to one that is %v: %v", b.status, err)
	}
}

func (w *stage) pause(a *actor) {
	if w.park != nil {
		w.park()
		if a.status != StatusRunning {
			w.errorf("somebody has changed it while it waited")
		}
	}
}

// respawn puts a new actor in a dead one's place.
func (w *stage) respawn() {
	if k := w.rnd.IntN(len(w.all)); w.all[k].status == StatusDead {
		w.spawn(k)
	}
}

// resume has self, nil for the driver, resume b.
func (w *stage) resume(d *driver, self, b *actor) {
	b.status, b.in, b.driver = StatusRunning, w.fresh(), d
	d.depth++
	defer func() {
		d.depth--
		if r := recover(); r != nil {
			if e, ok := r.(*PanicError); !ok || e.Value != d.panic {
				w.errorf("Resume panics with %.200v, want %v", r, d.panic)
			}
			d.panic = nil
		}
	}()
	got, err := b.f.Resume(b.in)
	if got != d.out || err != d.err || d.panic != nil {
		w.errorf("Resume: %d, %v, want %d, %v", got, err, d.out, d.err)
	}
	d.err = nil
}

func (w *stage) cancel(d *driver, self, b *actor) {
	ready := b.status == StatusReady
	b.cancel = true
	b.driver = d
	if !ready {
		b.status = StatusRunning
	}
	d.depth++
	if err := b.f.Cancel(); err != nil {
		w.errorf("Cancel: %v", err)
	}
	d.depth--
	d.err = nil
	if ready {
		b.status = StatusDead
		w.done++
	}
	if b.status != StatusDead {
		w.errorf("cancelled, it is %v", b.status)
	}
}

// drive resumes actors until the steps are used up.
func (w *stage) drive() {
	d := &driver{}
	for w.steps > 0 {
		w.steps--
		switch b := w.idle(); {
		case b == nil:
			w.respawn()
		case w.rnd.IntN(20) == 0:
			w.cancel(d, nil, b)
		default:
			w.resume(d, nil, b)
		}
		if w.rnd.IntN(10) == 0 {
			w.look(nil)
		}
		if w.rnd.IntN(5) == 0 {
			w.respawn()
		}
		if w.park != nil {
			w.park()
		}
	}
}

// end cancels what is left.
func (w *stage) end() {
	d := &driver{}
	for _, a := range w.all {
		if a.status == StatusRunning {
			w.errorf("an actor runs although nobody drives it")
		} else if a.status != StatusDead {
			w.cancel(d, nil, a)
		}
	}
	if w.done != w.born {
		w.errorf("%d of %d actors have ended", w.done, w.born)
	}
}

// drop drops all references to what is left, and waits for its end.
func (w *stage) drop() {
	var dropped sync.WaitGroup
	w.dropped = &dropped
	for _, a := range w.all {
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
	within(t, 2*time.Minute)
	before := runtime.NumGoroutine()
	t.Run("goroutine", func(t *testing.T) {
		for i := range scaled(100) {
			w := newStage(t, 2+i%30, 2000)
			w.drive()
			if i%10 == 9 {
				w.drop()
			} else {
				w.end()
			}
		}
	})
	settleGoroutines(t, before)
	for name, c := range map[string]Config{
		"coroutines":             {Idle: 64},
		"coroutines, small pool": {Idle: 3},
		"coroutines, no pool":    {Idle: 0},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range scaled(60) {
				on(c, func(ex *Executor) {
					w := newStage(t, 2+i%30, 3000)
					w.park = func() {
						switch w.rnd.IntN(8) {
						case 0:
							w.parkFor(ex)
						case 1:
							ex.Spawn(Spec{Fn: func() { Yield() }})
							Yield()
						case 2, 3, 4:
							Yield()
						}
					}
					var drivers []Handle
					for range 1 + i%4 {
						drivers = append(drivers, ex.Spawn(Spec{Fn: w.drive}).Handle())
					}
					for _, h := range drivers {
						h.Join()
					}
					w.end()
				})
			}
		})
		settleGoroutines(t, before)
	}
}

// parkFor parks the calling coroutine until another, or a timer on another
// thread, wakes it.
func (w *stage) parkFor(ex *Executor) {
	co := Current()
	if w.rnd.IntN(20) == 0 {
		if why := ex.Host().ParkUntil(co, ReasonSleep,
			clock.Now()+int64(w.rnd.IntN(20_000))); why != WakeTimeout {
			w.errorf("a park ended by %v", why)
		}
	} else {
		ticket := co.Ticket()
		ex.Spawn(Spec{Fn: func() { co.Ready(ticket, WakeReady) }})
		if why := co.Park(ReasonUser); why != WakeReady {
			w.errorf("a park ended by %v", why)
		}
	}
	if Current() != co {
		w.errorf("after a park it runs as another")
	}
}
