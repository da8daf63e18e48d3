package coroutine

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/testenv"
)

// look finds g as CurrentWorker finds the calling goroutine.
func look(g uintptr) *worker { return table.Load().probe(g) }

// setG makes w the worker of an invented goroutine.
func setG(w *worker, g uintptr) {
	*(*uintptr)(unsafe.Add(unsafe.Pointer(w), unsafe.Offsetof(asm.Frame{}.G))) = g
}

// tableModel is what the table of goroutines should hold.
type tableModel struct {
	seed    uint64
	rnd     *rand.Rand
	workers map[uintptr]*worker
	all     []uintptr
}

const tableStride = 0x380 // the runtime's g is about so large

func (m *tableModel) check(t *testing.T) {
	t.Helper()
	for i := range uintptr(8000) {
		g := 1 + i*tableStride // odd, so no real goroutine's
		if got, want := look(g), m.workers[g]; got != want {
			t.Fatalf("seed %d: goroutine %#x: found %p, want %p", m.seed, g, got, want)
		}
	}
}

func (m *tableModel) add() {
	g := 1 + uintptr(m.rnd.IntN(8000))*tableStride
	if m.workers[g] == nil {
		m.workers[g] = new(worker)
		setG(m.workers[g], g)
		enroll(m.workers[g])
		m.all = append(m.all, g)
	}
}

func (m *tableModel) remove() {
	if len(m.all) == 0 {
		return
	}
	i := m.rnd.IntN(len(m.all))
	g := m.all[i]
	m.all[i] = m.all[len(m.all)-1]
	m.all = m.all[:len(m.all)-1]
	expel(m.workers[g])
	delete(m.workers, g)
}

// TestTableModel enrolls and expels invented goroutines in random order and
// holds the table against a map: through growth, tombstones and shrinking.
// Identities are close together, as those of goroutines are.
func TestTableModel(t *testing.T) {
	seed := rand.Uint64()
	m := &tableModel{
		seed: seed, rnd: rand.New(rand.NewPCG(seed, 3)), workers: make(map[uintptr]*worker),
	}
	start := len(table.Load().slots)
	for range 6000 {
		m.add()
	}
	m.check(t)
	grown := len(table.Load().slots)
	testenv.True(t, grown >= 2*len(m.workers), "%d slots for %d entries: probing gets long", grown,
		len(m.workers))
	for range 40_000 { // tombstones: as many come as go
		if m.rnd.IntN(2) == 0 {
			m.add()
		} else {
			m.remove()
		}
	}
	m.check(t)
	tableMu.Lock() // goroutines of earlier tests may still be about to end
	now := table.Load()
	used, live := now.used, now.live
	tableMu.Unlock()
	testenv.True(t, len(now.slots) <= 4*grown && 2*used <= len(now.slots),
		"%d slots, %d used, %d live after as many came as went; %d before", len(now.slots), used,
		live, grown)
	for len(m.all) > 0 {
		m.remove()
		if len(m.all)%500 == 0 {
			m.check(t)
		}
	}
	m.check(t)
	end := len(table.Load().slots)
	testenv.True(t, end <= start || end < grown, "%d slots are left of %d", end, grown)
}

// TestTableAnswersWhileItChanges calls Current on coroutines and on ordinary
// goroutines while the table grows and shrinks.
func TestTableAnswersWhileItChanges(t *testing.T) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			if Current() != nil || CurrentExecutor() != nil {
				t.Error("an ordinary goroutine is taken for a coroutine")
				return
			}
		}
	})
	th := newThread(plain)
	for range 20 {
		th.spawn(func() {
			co := Current()
			testenv.True(t, co != nil, "a coroutine is not known")
			for !stop.Load() {
				if Current() != co || CurrentExecutor() != &th.ex {
					t.Error("a coroutine is taken for another")
					return
				}
				Yield()
			}
		})
	}
	for range testenv.Rounds(200) {
		workers := make([]worker, 2000)
		for i := range workers {
			setG(&workers[i], uintptr(i)<<4|1)
			enroll(&workers[i])
		}
		for i := range workers {
			expel(&workers[i])
		}
	}
	stop.Store(true)
	wg.Wait()
	th.stop()
}

// TestReusedGoroutineIdentities ends the goroutines of coroutines and starts
// ordinary ones, which the runtime makes of the same structures: they must not
// be taken for the coroutines.
func TestReusedGoroutineIdentities(t *testing.T) {
	testenv.TurnsOrder(t)                           // one thread orders them
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // each P has its list of ended goroutines
	used := make(map[uintptr]bool)
	met := 0
	for range 50 {
		on(Config{Idle: 0}, func(ex *Executor) {
			for range 20 {
				ex.Spawn(Spawn{Fn: func() {
					used[asm.Getg()] = true
					Yield() // so that none runs on another's goroutine
				}})
			}
		})
		var wg sync.WaitGroup
		var mu sync.Mutex
		for range 50 {
			wg.Go(func() {
				co, here, g := Current(), CurrentExecutor(), asm.Getg()
				mu.Lock()
				defer mu.Unlock()
				testenv.True(t, co == nil && here == nil,
					"an ordinary goroutine is taken for a coroutine that has ended")
				if used[g] {
					met++
				}
			})
		}
		wg.Wait()
	}
	testenv.True(t, met != 0, "no identity was used again: the test shows nothing")
	t.Logf("%d identities used, %d met again", len(used), met)
}
