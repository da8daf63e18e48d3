package explore

import (
	"hash/maphash"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/waitq"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// toy is a lock that is handed over, with a choice of bugs.
type toy struct {
	guard  waitq.Guard
	held   bool
	queue  waitq.Queue
	bug    string
	inside int
}

func (t *toy) lock(limit coroutine.Limit) error {
	t.guard.Lock()
	if !t.held {
		t.held = true
		t.guard.Unlock()
		return nil
	}
	if t.bug == "lets the guard go in between" {
		t.guard.Unlock()
		t.guard.Lock()
	}
	return t.waitLocked(limit)
}

func (t *toy) waitLocked(limit coroutine.Limit) error {
	w := waitq.Acquire(coroutine.Limit{})
	t.queue.Push(w, 1)
	t.guard.Unlock()
	why := waitq.Wait(w, coroutine.ReasonLock, limit, &t.guard, t.leave)
	waitq.Release(w)
	if why == coroutine.WakeShutdown && limit == (coroutine.Limit{}) {
		waitq.Unwind()
	}
	if why == coroutine.WakeReady {
		return nil
	}
	return coroutine.ErrShutdown
}

func (t *toy) leave(w *coroutine.Waiter) {
	if t.bug != "stays in the queue" {
		t.queue.Remove(w)
	}
}

func (t *toy) unlock() {
	if t.bug == "moves before it wakes" {
		t.unlockMoving()
		return
	}
	t.guard.Lock()
	if !t.queue.Empty() {
		t.guard.Take(&t.queue, t.queue.Front())
		if t.bug == "hands over and frees" {
			t.held = false
		}
	} else {
		t.held = false
	}
	t.guard.Unlock()
}

// unlockMoving is unlock that moves between the claim and the wake.
func (t *toy) unlockMoving() {
	w := waitq.Acquire(coroutine.Limit{})
	t.guard.Lock()
	if t.held = !t.queue.Empty(); t.held {
		t.guard.Take(&t.queue, t.queue.Front())
	}
	u := waitq.Begin()
	u.Add(t.guard.Release())
	waitq.Release(w)
	u.Wake()
}

// program has a thread for each field of threads: "!" stoppable, "g" a
// goroutine, "t" bounded, "c" bounded by a context.
func program(bug, threads string) func(*World) Program {
	return func(w *World) Program {
		l := &toy{bug: bug}
		p := Program{
			State: func(b []byte) []byte {
				held := byte(0)
				if l.held {
					held = 1
				}
				return w.AppendQueue(append(b, held, byte(l.inside)), &l.queue)
			},
			Check: func(*Thread) string {
				w.Queue(&l.queue)
				if l.inside > 1 {
					return "two are inside"
				}
				return ""
			},
			End: func() string {
				if l.held || !l.queue.Empty() {
					return "not free"
				}
				return ""
			},
		}
		for _, kind := range strings.Fields(threads) {
			p.Threads = append(p.Threads, func(th *Thread) {
				th.Stoppable = strings.Contains(kind, "!")
				th.Goroutine = strings.Contains(kind, "g")
				var limit coroutine.Limit
				switch {
				case strings.Contains(kind, "t"):
					limit = coroutine.Timeout(time.Hour)
				case strings.Contains(kind, "c"):
					limit = coroutine.Context(th.Context())
				}
				th.Step("lock")
				if bug == "panics" {
					panic("ouch")
				}
				if err := l.lock(limit); err != nil {
					return
				}
				l.inside++
				th.Step("inside")
				l.inside--
				if bug == "leaves it locked" && th.ID() == 1 {
					return
				}
				l.unlock()
			})
		}
		return p
	}
}

func TestGood(t *testing.T) {
	for _, threads := range []string{"- -", "- - -", "g g", "- g -", "! !", "t t", "gt gt", "c gc",
		"!t - gt"} {
		t.Run(threads, func(t *testing.T) {
			Run(t, program("", threads), Limits{Early: 1, Moves: true})
		})
	}
}

// TestBugsAreFound: each of the toy's bugs, and by what is said of it, by a
// visit to all states; and by random walks, whatever these meet first.
func TestBugsAreFound(t *testing.T) {
	for _, c := range []struct{ bug, threads, want string }{
		{"lets the guard go in between", "- -", "waits for ever at \"park\""},
		{"hands over and frees", "- - -", "two are inside"},
		{"stays in the queue", "- t", "released its waiter with tag 1"},
		{"stays in the queue", "- c", "released its waiter with tag 1"},
		{"stays in the queue", "- !", "released its waiter with tag 1"},
		{"leaves it locked", "- -", "at the end: not free"},
		{"leaves it locked", "- - -", "waits for ever"},
		{"panics", "-", "panicked: ouch"},
		{"moves before it wakes", "- t", "waits for ever at \"move\""},
	} {
		t.Run(c.bug+","+c.threads, func(t *testing.T) {
			s := search{program: program(c.bug, c.threads), seed: maphash.MakeSeed(),
				ids: map[uint64]int{}, limits: Limits{Moves: true}}
			if got := s.run(); !strings.Contains(got, c.want) {
				t.Errorf("found %q, want %s", got, c.want)
			}
			if s.workers = nil; s.wander(10_000) == "" {
				t.Error("no walk has found it")
			}
		})
	}
}

// TestStates: two threads of three places each make nine states; a Choose makes
// its outcomes, and a spin without an end is found.
func TestStates(t *testing.T) {
	run := func(body func(*World, *Thread)) (*search, string) {
		s := &search{seed: maphash.MakeSeed(), ids: map[uint64]int{},
			program: func(w *World) Program {
				th := func(th *Thread) { body(w, th) }
				return Program{Threads: []func(*Thread){th, th}, State: func(b []byte) []byte {
					return b
				}}
			}}
		return s, s.run()
	}
	s, failure := run(func(_ *World, th *Thread) { th.Step("a"); th.Step("b") })
	if len(s.from) != 9 || failure != "" {
		t.Errorf("%d states, %s", len(s.from), failure)
	}
	outcomes := map[int]bool{}
	if _, failure = run(func(w *World, _ *Thread) {
		outcomes[w.Choose(3)] = true
	}); len(outcomes) != 3 || failure != "" {
		t.Errorf("%v, %s", outcomes, failure)
	}
	_, failure = run(func(w *World, th *Thread) {
		for th.ID() == 1 {
			w.Step("spin")
		}
	})
	if !strings.Contains(failure, "no end can be reached") {
		t.Errorf("a spin: %q", failure)
	}
	if _, failure = run(func(_ *World, th *Thread) {
		if v := th.Panics(func() { th.Step("a"); panic("b") }); v != "b" {
			panic(v)
		}
	}); failure != "" {
		t.Error(failure)
	}
}

// TestGoroutineTokens: a goroutine's wake that is never drained is found.
func TestGoroutineTokens(t *testing.T) {
	s := &search{seed: maphash.MakeSeed(), ids: map[uint64]int{}, program: func(w *World) Program {
		var g waitq.Guard
		var q waitq.Queue
		return Program{
			State: func(b []byte) []byte { return w.AppendQueue(b, &q) },
			Threads: []func(*Thread){
				func(th *Thread) {
					th.Goroutine = true
					wt := waitq.Acquire(coroutine.Limit{})
					g.Lock()
					q.Push(wt, 1)
					g.Unlock()
					w.Park(wt, coroutine.Timeout(time.Hour)) // and no look at what came of it
					g.Lock()
					if waitq.Queued(wt) {
						q.Remove(wt)
					}
					g.Unlock()
					waitq.Release(wt)
				},
				func(*Thread) {
					g.Lock()
					g.TakeAll(&q)
					g.Unlock()
				},
			},
		}
	}}
	if failure := s.run(); !strings.Contains(failure, "with tag") &&
		!strings.Contains(failure, "with a wake in it") {
		t.Errorf("found %q", failure)
	}
}

// TestStack: a place is the whole call stack, and the same each time.
func TestStack(t *testing.T) {
	places := map[uint64]int{}
	for range 3 {
		for _, call := range []func() uint64{outer, other} {
			places[call()]++
			places[call()]++
		}
	}
	if len(places) != 4 {
		t.Errorf("%d places, want 4: two lines, with two callees each", len(places))
	}
	for h, n := range places {
		if n != 3 {
			t.Errorf("place %#x was met %d times, want 3", h, n)
		}
	}
}

//go:noinline
func outer() uint64 { return inner() }

//go:noinline
func other() uint64 { return inner() }

//go:noinline
func inner() uint64 { return stack() }
