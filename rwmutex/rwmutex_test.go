package rwmutex

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
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
			testenv.Equal(t, testenv.PanicOf(func() { c.op(&m) }), any(c.want), "panic with")
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

// always decides what depends on time until the test ends.
func always(t *testing.T, overdue bool) {
	choose = func(q question) bool { return q == isStarved && overdue }
	t.Cleanup(func() { choose = nil })
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
