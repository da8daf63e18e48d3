package coroutine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// TestSimulation runs several executors on one goroutine, turn by turn in
// random order, with inboxes that deliver in random order and at random times,
// and with early, late, duplicate, stale and lost-looking wakes. It knows for
// which tickets a wake has been begun, and checks that no park ends without
// one, that none with one lasts beyond the delivery of everything under way,
// and that every coroutine ends. In some of its worlds coroutines move from one
// executor to another, and wait shared. NETCO_SEED repeats a run.
func TestSimulation(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	seeds := make([]uint64, testenv.Rounds(300))
	for i := range seeds {
		seeds[i] = rand.Uint64()<<2 | uint64(i&3) // worlds of all kinds
	}
	if env := os.Getenv("NETCO_SEED"); env != "" {
		seed := testenv.Must(strconv.ParseUint(env, 10, 64))
		seeds = []uint64{seed}
	}
	total := simStats{}
	for _, seed := range seeds {
		done := make(chan *world)
		go func() {
			w := newWorld(seed)
			if !w.roams {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			defer func() { done <- w }() // also when a check has ended the goroutine
			w.run()
		}()
		w := <-done
		if len(w.faults) > 0 {
			t.Fatalf("NETCO_SEED=%d: %s\n%+v", seed, w.faults[0], w.stats)
		}
		total.add(w.stats)
	}
	t.Logf("%d seeds: %+v", len(seeds), total)
	for _, what := range []string{"early", "stale", "stolen", "goexits", "timeouts", "panics",
		"crossing", "moves", "taken", "refused"} {
		stays := what != "moves" && what != "taken" && what != "refused"
		testenv.True(t, total[what] != 0 || len(seeds) <= 3 || !stays && !context.Direct(),
			"the simulation has no %s", what)
	}
}

// simStats counts what has happened, by its name.
type simStats map[string]int

func (s simStats) add(o simStats) {
	for what, n := range o {
		s[what] += n
	}
}

// simHost is the Processor of one executor of the world.
type simHost struct {
	bareHost
	w     *world
	ex    Executor
	inbox []*Coroutine
	moved []*Coroutine // on their way here
	owes  bool         // MayShare has refused a shared wait
	last  *Coroutine   // the last to wait shared here
}

// Reserve and Send implement Host.
func (h *simHost) Reserve(Host) bool  { return true }
func (h *simHost) Send(co *Coroutine) { h.moved = append(h.moved, co) }

// settleSome settles the first n of those that have moved here.
func (h *simHost) settleSome(n int) {
	for _, co := range h.moved[:n] {
		h.ex.Settle(co)
	}
	h.moved = h.moved[n:]
}

// BeginShared, MayShare and EndShared implement Host.
func (h *simHost) BeginShared() { h.w.away++ }
func (h *simHost) MayShare() bool {
	if h.last.ex.Load() != h.ex.shared {
		h.w.fault("MayShare is called before wakers can take the coroutine")
	}
	if h.w.rnd.IntN(8) == 0 {
		h.w.stats["refused"]++
		h.owes = true
		return false
	}
	return true
}
func (h *simHost) EndShared(from Host) {
	h.w.away--
	h.owes = false
	if from != h {
		h.w.stats["taken"]++
	}
}

// announced is a park as wakers see it.
type announced struct {
	co     *Coroutine
	life   uint64 // its id: the struct may be another coroutine by the time of the wake
	ticket uint64
}

func announce(co *Coroutine) announced { return announced{co, co.ID(), co.Ticket()} }

// simTimer is a deadline, which is never cancelled.
type simTimer struct {
	at int64
	announced
}

type world struct {
	rnd    *rand.Rand
	roams  bool
	hosts  []*simHost
	now    int64
	timers []simTimer
	open   []announced                     // parks that wakers may find, old ones included
	begun  map[announced]map[Wake]struct{} // wakes begun
	shared map[announced]struct{}          // parks by ParkShared
	away   int                             // coroutines that wait shared
	lives  int                             // coroutines that have not ended
	births int                             // still to come
	stats  simStats
	faults []string
}

func newWorld(seed uint64) *world {
	w := &world{
		rnd:    rand.New(rand.NewPCG(seed, 7)),
		stats:  simStats{},
		begun:  make(map[announced]map[Wake]struct{}),
		shared: make(map[announced]struct{}),
		births: 120,
	}
	w.roams = seed&1 == 0
	for range 2 + w.rnd.IntN(3) {
		h := &simHost{w: w}
		h.ex.Init(Config{Host: h, Idle: w.rnd.IntN(4)})
		w.hosts = append(w.hosts, h)
	}
	if w.roams && seed&2 == 0 {
		var executors []*Executor
		for _, h := range w.hosts {
			executors = append(executors, &h.ex)
		}
		Share(executors)
	}
	return w
}

func (w *world) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// Post implements Host. It is a fault that a coroutine is in two inboxes or
// twice in one: its node has one link.
func (h *simHost) Post(co *Coroutine) {
	h.w.stats["crossing"]++
	for _, other := range h.w.hosts {
		for _, queued := range other.inbox {
			if queued == co {
				h.w.fault("coroutine %d is posted twice", co.ID())
			}
		}
	}
	h.inbox = append(h.inbox, co)
	h.ex.RequestPreempt()
}

// ParkUntil implements Host.
func (h *simHost) ParkUntil(co *Coroutine, reason Reason, deadline int64) Wake {
	a := announce(co)
	h.w.timers = append(h.w.timers, simTimer{deadline, a})
	return co.Park(reason)
}

// Panicked implements Host.
func (h *simHost) Panicked(co *Coroutine, value any, stack []byte) bool {
	h.w.stats["panics"]++
	if value != "planned" {
		h.w.fault("panic: %v\n%s", value, stack)
	}
	return true
}

// wake begins a wake.
func (w *world) wake(a announced, why Wake) {
	if w.begun[a] == nil {
		w.begun[a] = make(map[Wake]struct{})
	} else {
		w.stats["duplicate"]++
	}
	w.begun[a][why] = struct{}{}
	a.co.MakeReady(a.ticket, why)
}

// stir is what any thread may do at any time: wake a random park, old or new.
func (w *world) stir() {
	if len(w.open) > 0 && w.rnd.IntN(2) == 0 {
		a := w.open[w.rnd.IntN(len(w.open))]
		if a.co.ticket != a.ticket { // all on one goroutine, so it may read that
			w.stats["stale"]++
		}
		w.wake(a, WakeReady)
	}
	if len(w.open) > 200 {
		w.open = append(w.open[:0], w.open[100:]...)
	}
}

// body is what a coroutine runs.
func (w *world) body(home func() *simHost) {
	h := home()
	co := Current()
	defer func() {
		w.lives--
		w.stats["ends"]++
	}()
	for range w.rnd.IntN(30) {
		if co != Current() || co.Executor() != &h.ex || !h.ex.OnThread() {
			w.fault("a coroutine runs as another")
		}
		switch w.rnd.IntN(10) {
		case 0, 1, 2:
			h = w.park(h, co)
		case 3:
			Yield()
		case 4:
			w.stir()
		case 5:
			w.birth(h)
		case 6:
			if w.rnd.IntN(20) == 0 {
				w.stats["goexits"]++
				runtime.Goexit()
			}
		case 7:
			if w.rnd.IntN(20) == 0 {
				panic("planned")
			}
		case 9:
			to := w.hosts[w.rnd.IntN(len(w.hosts))]
			if co.MoveTo(&to.ex) {
				h = to
				w.stats["moves"]++
			} else if w.roams && to != h && context.Direct() {
				w.fault("a coroutine did not move")
			}
		case 8:
			if w.rnd.IntN(20) == 0 { // announces a park and ends without it
				a := announce(co)
				w.open = append(w.open, a)
				if w.rnd.IntN(2) == 0 {
					w.wake(a, WakeReady)
				}
				return
			}
		}
	}
}

// park has a coroutine wait, and returns where it is then.
func (w *world) park(h *simHost, co *Coroutine) *simHost {
	a := announce(co)
	w.open = append(w.open, a)
	w.stats["parks"]++
	for range w.rnd.IntN(3) {
		w.stir() // before the park: early, when it hits this one
	}
	if w.rnd.IntN(4) == 0 {
		w.stats["early"]++
		w.wake(a, WakeReady)
	}
	var why Wake
	if co.CanShare() && w.rnd.IntN(2) == 0 {
		h.last, w.shared[a] = co, struct{}{}
		why = co.ParkShared(ReasonUser)
		delete(w.shared, a)
		if why == WakeReady {
			w.begun[a] = map[Wake]struct{}{why: {}} // it may return early
		}
		h = co.Executor().host.(*simHost)
	} else if w.rnd.IntN(2) == 0 {
		deadline := w.now + w.rnd.Int64N(50)
		if why = h.ParkUntil(co, ReasonSleep, deadline); why == WakeTimeout {
			w.stats["timeouts"]++
			if w.now < deadline {
				w.fault("a timeout %d early", deadline-w.now)
			}
		}
	} else {
		why = co.Park(ReasonUser)
	}
	if _, ok := w.begun[a][why]; !ok {
		w.fault("park %d ended with %v, begun were %v", a.ticket, why, w.begun[a])
	}
	if co.Ticket() != a.ticket+1 {
		w.fault("ticket %d became %d", a.ticket, co.Ticket())
	}
	return h
}

// birth starts a coroutine in one of the ways there are: here, elsewhere, or
// made here and adopted elsewhere (stolen).
func (w *world) birth(h *simHost) {
	if w.births == 0 {
		return
	}
	w.births--
	w.lives++
	to := w.hosts[w.rnd.IntN(len(w.hosts))]
	fn := func() { w.body(func() *simHost { return to }) }
	switch {
	case h == to:
		h.ex.Spawn(Spawn{Fn: fn})
	case h != nil && w.rnd.IntN(2) == 0:
		w.stats["stolen"]++
		to.ex.Adopt(Make(&h.ex, &Spawn{Fn: fn}))
	default:
		to.ex.Adopt(Make(nil, &Spawn{Fn: fn}))
	}
}

// run drives the world until every coroutine has ended.
func (w *world) run() {
	for _, h := range w.hosts {
		h.ex.Enter()
	}
	for step := 0; (w.births > 0 || w.lives > 0) && len(w.faults) == 0; step++ {
		w.turn(w.hosts[w.rnd.IntN(len(w.hosts))])
		w.now += w.rnd.Int64N(4)
		if w.rnd.IntN(4) == 0 {
			w.birth(nil)
		}
		w.stir()
		if step%64 == 63 {
			w.settle()
		}
		if step > 200_000 {
			w.fault("%d coroutines do not end", w.lives)
		}
	}
	if len(w.faults) > 0 {
		return // coroutines are left where they are: the test is over
	}
	if w.away != 0 {
		w.fault("%d wait shared at the end", w.away)
	}
	for _, h := range w.hosts {
		w.deliver(h)
		if n := h.ex.Stats.Live.Load(); n != 0 {
			w.fault("%d live at the end", n)
		}
		h.ex.Leave()
		if n := h.ex.Stats.Workers.Load(); n != 0 {
			w.fault("%d workers are left", n)
		}
	}
	if goruntime.RaceEnabled {
		runtime.GC() // so that the race detector's shadow of 2,400 stacks does not pile up
	}
}

// turn is what a Processor does in one.
func (w *world) turn(h *simHost) {
	h.ex.ClearPreempt()
	w.rnd.Shuffle(len(h.inbox), func(i, j int) { h.inbox[i], h.inbox[j] = h.inbox[j], h.inbox[i] })
	for range w.rnd.IntN(len(h.inbox) + 1) {
		co := h.inbox[0]
		h.inbox = h.inbox[1:]
		h.ex.Arrive(co)
	}
	w.rnd.Shuffle(len(w.timers), func(i, j int) {
		w.timers[i], w.timers[j] = w.timers[j], w.timers[i]
	})
	for i := 0; i < len(w.timers); {
		timer := w.timers[i]
		if timer.at > w.now || w.rnd.IntN(3) == 0 { // now or some time later
			i++
			continue
		}
		w.timers = append(w.timers[:i], w.timers[i+1:]...)
		w.wake(timer.announced, WakeTimeout)
	}
	h.settleSome(w.rnd.IntN(len(h.moved) + 1))
	h.ex.Run(w.rnd.IntN(20), math.MaxInt64)
	if h.owes {
		w.fault("a shared wait that was refused goes on")
	}
}

// deliver hands over everything in h's inbox.
func (w *world) deliver(h *simHost) {
	for len(h.inbox) > 0 {
		co := h.inbox[0]
		h.inbox = h.inbox[1:]
		h.ex.Arrive(co)
	}
}

// busy reports whether anything is left to deliver or run. An executor whose
// turn is over may be busy again by what another one passes on to it.
func (h *simHost) busy() bool {
	return len(h.inbox) > 0 || len(h.moved) > 0 || h.ex.Queued() > 0
}

// settle delivers and runs everything there is; then no park for which a wake
// was begun may be left.
func (w *world) settle() {
	for slices.ContainsFunc(w.hosts, (*simHost).busy) {
		for _, h := range w.hosts {
			h.ex.ClearPreempt()
			w.deliver(h)
			h.settleSome(len(h.moved))
			h.ex.Run(1000, math.MaxInt64)
		}
	}
	for _, h := range w.hosts {
		for worker := range workers {
			co := worker.co.Load()
			if co == nil || co.ex.Load() != &h.ex {
				continue
			}
			if co.State() != Waiting {
				w.fault("coroutine %d is %v when nothing is left to run", co.ID(), co.State())
				continue
			}
			w.settled(announce(co))
		}
	}
	for a := range w.shared {
		w.settled(a)
	}
}

// settled checks a coroutine that waits when nothing is left to run.
func (w *world) settled(a announced) {
	if len(w.begun[a]) > 0 {
		w.fault("coroutine %d: the wake for ticket %d is lost", a.life, a.ticket)
	} else if w.births == 0 {
		w.wake(a, WakeReady) // no other may be left to do so
	}
}

// TestPreemptDoesNotStarve: work for the loop must not keep ready coroutines
// from running: a RequestPreempt between the loop's reading of its inboxes and
// Run must not make Run return at once, or it would for as long as other
// threads keep sending.
func TestPreemptDoesNotStarve(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	ran := 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var ex Executor
		ex.Init(Config{Host: new(thread), Idle: 1})
		ex.Enter()
		for range 3 {
			ex.Spawn(Spawn{Fn: func() { ran++ }})
		}
		for i := 1; i <= 3; i++ {
			ex.RequestPreempt()
			if n := ex.Run(256, math.MaxInt64); n != 1 || ran != i {
				t.Errorf("turn %d: %d resumed, %d ran, want 1 more", i, n, ran)
			}
		}
		ex.ClearPreempt()
		ex.Leave()
	}()
	<-done
}
