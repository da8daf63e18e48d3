package sync_test

import (
	"fmt"
	"strings"
	stdsync "sync"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/sync"
)

// hold locks m, and has others wait for it, until release: W, R for writing or
// reading; w, r is one that waits, and then is in the order.
func hold(m *sync.RWMutex, letters string) (release func() (order string)) {
	var wg stdsync.WaitGroup
	order := make(chan rune, len(letters))
	for i, r := range letters {
		l := stdsync.Locker(m)
		if r == 'R' || r == 'r' {
			l = m.RLocker()
		}
		if r == 'W' || r == 'R' {
			l.Lock()
		} else {
			wg.Go(func() {
				l.Lock()
				order <- r
				l.Unlock()
			})
		}
		sync.Await(m, len(strings.Trim(letters[:i+1], "WR")))
	}
	return func() (in string) {
		for _, r := range strings.Trim(letters, "wr") {
			if r == 'W' {
				m.Unlock()
			} else {
				m.RUnlock()
			}
		}
		wg.Wait()
		close(order)
		for r := range order {
			in += string(r)
		}
		return in
	}
}

// TestRWMutexMisuse: "misused unlock lets a writer in beside a reader" (C++
// netco).
func TestRWMutexMisuse(t *testing.T) {
	sync.Starve(t, true)
	type op = func(*sync.RWMutex)
	const runlock, unlock = "sync: RUnlock of unlocked RWMutex", "sync: Unlock of unlocked RWMutex"
	for _, c := range []struct {
		before string // see hold
		op     op
		want   string
	}{
		{"", (*sync.RWMutex).Unlock, unlock},
		{"", (*sync.RWMutex).RUnlock, runlock},
		{"", func(m *sync.RWMutex) { m.RLocker().Unlock() }, runlock},
		{"R", (*sync.RWMutex).Unlock, unlock + ": 1 readers have it"},
		{"RRR", (*sync.RWMutex).Unlock, unlock + ": 3 readers have it"},
		{"Rw", (*sync.RWMutex).Unlock, unlock + ": 1 readers have it"},
		{"RRww", (*sync.RWMutex).Unlock, unlock + ": 2 readers have it"},
		{"W", (*sync.RWMutex).RUnlock, runlock + ": a writer has it"},
		{"Wr", (*sync.RWMutex).RUnlock, runlock + ": a writer has it"},
		{"Wrwr", (*sync.RWMutex).RUnlock, runlock + ": a writer has it"},
	} {
		t.Run(fmt.Sprintf("%q,%s", c.before, strings.Fields(c.want)[1]), func(t *testing.T) {
			var m sync.RWMutex
			release := hold(&m, c.before)
			testenv.Equal(t, testenv.PanicOf(func() { c.op(&m) }), any(c.want), "panic with")
			release()
			testenv.Equal(t, m.AsNew(), true, "as new")
		})
	}
}

func TestRWMutexTry(t *testing.T) {
	for _, c := range []struct {
		before      string
		write, read bool
	}{
		{"", true, true},
		{"W", false, false},
		{"R", false, true},
		{"RR", false, true},
		{"Rw", false, false}, // a waiting writer keeps readers out
	} {
		t.Run(fmt.Sprintf("%q", c.before), func(t *testing.T) {
			var m sync.RWMutex
			release := hold(&m, c.before)
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
			testenv.Equal(t, m.AsNew(), true, "as new")
		})
	}
}

// TestRWMutexReaderPasses: a writer that has waited briefly stops no reader,
// bounded or not.
func TestRWMutexReaderPasses(t *testing.T) {
	sync.Starve(t, false)
	var m sync.RWMutex
	release := hold(&m, "Rw")
	m.RLock()
	testenv.Equal(t, m.RLockTimeout(time.Hour), nil, "bounded")
	m.RUnlock()
	m.RUnlock()
	testenv.Equal(t, release(), "w", "order")
	testenv.Equal(t, m.AsNew(), true, "as new")
}

// TestRWMutexTakesTurns: a writer that has waited for long stops readers, and
// those that wait come before the next writer.
func TestRWMutexTakesTurns(t *testing.T) {
	sync.Starve(t, true)
	for before, want := range map[string]string{"Rwr": "wr", "Rwwr": "wrw", "Wwr": "rw"} {
		var m sync.RWMutex
		testenv.Equal(t, hold(&m, before)(), want, before)
	}
}
