package rwmutex

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// waiting returns how many are in m's queue.
func (m *RWMutex) waiting() (n int) {
	m.guard.Lock()
	defer m.guard.Unlock()
	for w := m.queue.Front(); w != nil; w = w.Link {
		n++
	}
	return n
}

// awaitWaiting returns when n are in m's queue.
func (m *RWMutex) awaitWaiting(n int) {
	for m.waiting() != n {
		runtime.Gosched()
	}
}

// checkFree fails unless m is as new.
func (m *RWMutex) checkFree(t *testing.T) {
	t.Helper()
	if s := m.state.Load() &^ quick; s != 0 || m.waiting() != 0 {
		t.Errorf("at the end: state %#x, %d waiting", s, m.waiting())
	}
}

const (
	misusedRUnlock = "rwmutex: RUnlock of unlocked RWMutex: it is "
	misusedUnlock  = "rwmutex: Unlock of unlocked RWMutex: it is "
)

var misuses = []struct {
	before string // W, R: locked; then w, r: such a one waits
	op     func(*RWMutex)
	want   string
}{
	{"", (*RWMutex).Unlock, misusedUnlock + "free"},
	{"", (*RWMutex).RUnlock, misusedRUnlock + "free"},
	{"", func(m *RWMutex) { m.RLocker().Unlock() }, misusedRUnlock + "free"},
	{"R", (*RWMutex).Unlock, misusedUnlock + "locked for reading, 1 times"},
	{"RRR", (*RWMutex).Unlock, misusedUnlock + "locked for reading, 3 times"},
	{"Rw", (*RWMutex).Unlock, misusedUnlock + "locked for reading, 1 times, others wait"},
	{"RRww", (*RWMutex).Unlock, misusedUnlock + "locked for reading, 2 times, others wait"},
	{"W", (*RWMutex).RUnlock, misusedRUnlock + "locked for writing"},
	{"Wr", (*RWMutex).RUnlock, misusedRUnlock + "locked for writing, others wait"},
	{"Wrwr", (*RWMutex).RUnlock, misusedRUnlock + "locked for writing, others wait"},
}

// hold locks m, and has others wait for it, as the letters of misuses' before
// say, until release.
func (m *RWMutex) hold(before string) (release func()) {
	var wg sync.WaitGroup
	for i, r := range before {
		switch r {
		case 'w', 'r':
			kind := byte(r) - 'w' + 'W'
			wg.Go(func() { lock(m, kind); unlock(m, kind) })
		default:
			lock(m, byte(r))
		}
		m.awaitWaiting(len(strings.Trim(before[:i+1], "WR")))
	}
	return func() {
		for _, r := range strings.Trim(before, "wr") {
			unlock(m, byte(r))
		}
		wg.Wait()
	}
}

// TestMisuse: "misused unlock lets a writer in beside a reader" (C++ netco).
func TestMisuse(t *testing.T) {
	for _, c := range misuses {
		t.Run(fmt.Sprintf("%q,%s", c.before, strings.Fields(c.want)[1]), func(t *testing.T) {
			var m RWMutex
			release := m.hold(c.before)
			before := m.state.Load()
			func() {
				defer func() { testenv.Equal(t, recover(), any(c.want), "panic with") }()
				c.op(&m)
			}()
			testenv.Equal(t, m.state.Load(), before, "state was")
			release()
			m.checkFree(t)
		})
	}
}

func TestTry(t *testing.T) {
	for _, c := range []struct {
		before      string
		write, read bool
	}{
		{"", true, true},
		{"W", false, false},
		{"R", false, true},
		{"RR", false, true},
		{"Rw", false, false}, // a waiting writer keeps TryRLock out
	} {
		t.Run(fmt.Sprintf("%q", c.before), func(t *testing.T) {
			var m RWMutex
			release := m.hold(c.before)
			if got := m.TryLock(); got != c.write {
				t.Errorf("TryLock %t", got)
			} else if got {
				m.Unlock()
			}
			if got := m.TryRLock(); got != c.read {
				t.Errorf("TryRLock %t", got)
			} else if got {
				m.RUnlock()
			}
			release()
			m.checkFree(t)
		})
	}
}

// always decides what depends on time until the test ends.
func always(t *testing.T, overdue bool) {
	choose = func(q question) bool { return q == isStarved && overdue }
	t.Cleanup(func() { choose = nil })
}

// TestOrder queues writers and readers behind a holder, and checks which of
// them hold the lock together, and in what order: "a writer starves behind
// overlapping readers" (C++ netco).
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		holder, queue, want string
		starving            bool
	}{
		{"W", "WWW", "W W W", false},
		{"W", "RRR", "RRR", false},
		{"W", "RRWRW", "RR W R W", false},
		{"R", "WW", "W W", false},
		{"W", "WWW", "W W W", true},
		{"W", "RRWRW", "RR W R W", true},
		{"R", "WRRWR", "W RR W R", true},
		{"R", "WWR", "W W R", true},
	} {
		t.Run(fmt.Sprintf("%s,%s,%t", c.holder, c.queue, c.starving), func(t *testing.T) {
			always(t, c.starving)
			var m RWMutex
			lock(&m, c.holder[0])
			in := make(chan byte)
			out, done := make(chan struct{}), make(chan struct{})
			for i := range len(c.queue) {
				go func() {
					lock(&m, c.queue[i])
					in <- c.queue[i]
					<-out
					unlock(&m, c.queue[i])
					done <- struct{}{}
				}()
				m.awaitWaiting(i + 1)
				if c.starving {
					m.startHandoff()
				}
			}
			unlock(&m, c.holder[0])
			for _, group := range strings.Fields(c.want) {
				for i := range len(group) {
					if got := <-in; got != group[i] {
						t.Fatalf("%c came, want %c of %s", got, group[i], c.want)
					}
				}
				select {
				case got := <-in:
					t.Fatalf("%c is in beside %s", got, group)
				default:
				}
				for range group {
					out <- struct{}{}
				}
				for range group {
					<-done
				}
			}
			m.checkFree(t)
		})
	}
}

func lock(m *RWMutex, kind byte) {
	if kind == 'W' {
		m.Lock()
	} else {
		m.RLock()
	}
}

func unlock(m *RWMutex, kind byte) {
	if kind == 'W' {
		m.Unlock()
	} else {
		m.RUnlock()
	}
}

// TestHandoffStopsReaders: readers pass a waiting writer until it is starved;
// then they wait for it.
func TestHandoffStopsReaders(t *testing.T) {
	always(t, false)
	var m RWMutex
	var order []string
	m.RLock()
	var wg sync.WaitGroup
	wg.Go(func() {
		m.Lock()
		order = append(order, "writer")
		m.Unlock()
	})
	m.awaitWaiting(1)
	m.RLock() // passes
	m.RUnlock()
	always(t, true)
	m.RLock()
	m.RUnlock() // sees the other reader in and the writer waiting
	wg.Go(func() {
		m.RLock()
		order = append(order, "reader")
		m.RUnlock()
	})
	m.awaitWaiting(2)
	if m.TryLock() || m.TryRLock() {
		t.Error("a lock that is starving was had by trying")
	}
	m.RUnlock()
	wg.Wait()
	testenv.Equal(t, fmt.Sprint(order), "[writer reader]", "the order was", order)
	m.checkFree(t)
}

// pair is guarded by a lock: a writer leaves both halves equal. The race
// detector watches it too.
type pair struct{ a, b int }

// use locks m once, in a way that r chooses, and returns by how much it has
// raised p. Under the lock it calls pass.
func (p *pair) use(t *testing.T, m *RWMutex, r *rand.Rand, pass func()) int {
	try := r.IntN(8) == 0
	if r.IntN(3) > 0 {
		if !try {
			m.RLock()
		} else if !m.TryRLock() {
			return 0
		}
		defer m.RUnlock()
		a := p.a
		if r.IntN(4) == 0 {
			pass()
		}
		if a != p.b || a != p.a {
			t.Errorf("a reader saw %d, then %d and %d", a, p.a, p.b)
		}
		return 0
	}
	if !try {
		m.Lock()
	} else if !m.TryLock() {
		return 0
	}
	defer m.Unlock()
	p.a++
	defer func() { p.b++ }() // pass may end the coroutine
	if r.IntN(4) == 0 {
		pass()
	}
	return 1
}

func rounds() int { return testenv.Rounds(20_000) }

func within(lock func(*RWMutex, context.Context) error, m *RWMutex, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return lock(m, ctx)
}

// TestHammer uses one lock from goroutines and from coroutines on two
// Processors, where unlocks and bounds race; by the clock, and with chance in
// the place of the clock, so that there is a handoff every now and then. A lock
// that was got is not lost, and one that was given up is not held.
func TestHammer(t *testing.T) {
	for _, chance := range []bool{false, true} {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		if chance {
			choose = func(question) bool { return rand.IntN(4) == 0 }
		}
		hammer(t, seed)
		choose = nil
	}
}

func hammer(t *testing.T, seed uint64) {
	testrun.Start(t, 2)
	var m RWMutex
	var p pair
	var raised, had, missed atomic.Int64
	use := func(id int, pass func()) {
		r := rand.New(rand.NewPCG(seed, uint64(id)))
		for range rounds() / 2 {
			if r.IntN(2) == 0 {
				raised.Add(int64(p.use(t, &m, r, pass)))
				continue
			}
			write := r.IntN(2) == 0
			if err := lockBounded(&m, write, time.Duration(r.IntN(50))*time.Microsecond,
				r.IntN(8) == 0); err != nil {
				missed.Add(1)
				continue
			}
			had.Add(1)
			if !write {
				if p.a != p.b {
					t.Errorf("a reader saw %d and %d", p.a, p.b)
				}
				m.RUnlock()
				continue
			}
			p.a++
			if r.IntN(4) == 0 {
				pass()
			}
			p.b++
			raised.Add(1)
			m.Unlock()
		}
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { use(i, func() { time.Sleep(time.Microsecond) }) })
	}
	for i := range 8 {
		wg.Add(1)
		testenv.Must(netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: func() {
			defer wg.Done()
			use(100+i, func() { netco.Sleep(20 * time.Microsecond) })
		}}))
	}
	wg.Wait()
	testrun.Shutdown(t)
	if int64(p.a) != raised.Load() || p.a != p.b {
		t.Errorf("raised %d times to %d and %d", raised.Load(), p.a, p.b)
	}
	if had.Load() == 0 || missed.Load() == 0 {
		t.Errorf("%d had, %d missed", had.Load(), missed.Load())
	}
	m.checkFree(t)
}

func lockBounded(m *RWMutex, write bool, d time.Duration, byContext bool) error {
	switch {
	case byContext && write:
		return within((*RWMutex).LockContext, m, d)
	case byContext:
		return within((*RWMutex).RLockContext, m, d)
	case write:
		return m.LockTimeout(d)
	}
	return m.RLockTimeout(d)
}
