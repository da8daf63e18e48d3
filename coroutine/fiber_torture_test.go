package coroutine

import (
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestFiberTorture lets coroutines driven by hand do all they can, deep in
// their stacks or not, on goroutines and in coroutines, under all that disturb
// does. What only a stack points to must stay whole.
func TestFiberTorture(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	before := runtime.NumGoroutine()
	end := disturb(t, filepath.Join(t.TempDir(), "trace"))
	var workers sync.WaitGroup
	rounds, steps := testenv.Rounds(150), 1500
	for i := range 2 {
		workers.Go(func() {
			if i == 1 {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			for range rounds {
				w := newStage(t, 12, steps)
				w.drive()
				w.end()
			}
		})
	}
	for _, c := range []Config{{Idle: 8}, {Idle: 2}} {
		workers.Go(func() {
			for range rounds {
				on(c, func(ex *Executor) { newStage(t, 12, steps).driveIn(ex, 3) })
			}
		})
	}
	workers.Wait()
	end()
	testenv.Settle(t, before)
}

// driveIn has n coroutines of ex drive s to its end, and actors park.
func (s *stage) driveIn(ex *Executor, n int) {
	s.park = func() {
		switch s.rnd.IntN(8) {
		case 0:
			s.parkFor(ex)
		case 1:
			deep(s.t, 40, Yield)
		case 2:
			ex.Spawn(Spawn{Fn: Yield})
			Yield()
		case 3, 4, 5:
			Yield()
		}
	}
	var drivers []Handle
	for range n {
		drivers = append(drivers, ex.Spawn(Spawn{Fn: s.drive}).Handle())
	}
	for _, h := range drivers {
		h.Join()
	}
	s.end()
}

// TestFiberStacks yields at every level of recursions into MiB of stack,
// several of them by turns.
func TestFiberStacks(t *testing.T) {
	homes(t, func(t *testing.T) {
		const n = 4
		depth := testenv.Rounds(6000)
		var down func(y *Yielder[int, int], level int) int
		down = func(y *Yielder[int, int], level int) int {
			var frame [64]int
			frame[level&63] = level
			testenv.Gives(t, level+1, nil, "at level", level)(y.Yield(level))
			if level == depth {
				return 0
			}
			return down(y, level+1) + frame[level&63] - level + 1
		}
		var fs [n]Fiber[int, int]
		for i := range fs {
			fs[i] = New(func(y *Yielder[int, int], _ int) int { return down(y, 0) })
			fs[i].expect(t, 0, 0, nil)
		}
		for level := 1; level <= depth; level++ {
			for i := range fs {
				fs[i].expect(t, level, level, nil)
			}
		}
		for i := range fs {
			fs[i].expect(t, depth+1, depth, nil)
		}
	})
}

// TestAliens: other threads try to use them in vain, while the coroutines run,
// end and are reused.
func TestAliens(t *testing.T) {
	var current atomic.Pointer[Fiber[int, int]]
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				f := current.Load()
				if f == nil {
					runtime.Gosched()
					continue
				}
				if _, err := f.Resume(1000); err != ErrWrongThread && err != ErrDead {
					t.Errorf("Resume: %v", err)
				}
				err := f.Cancel()
				testenv.True(t, err == ErrWrongThread || err == nil, "Cancel: %v", err)
			}
		})
	}
	homes(t, func(t *testing.T) {
		for range testenv.Rounds(20_000) {
			f := New(sum)
			current.Store(&f)
			f.expect(t, 1, 1, nil)
			f.expect(t, 2, 3, nil)
			f.expect(t, -1, -1, nil)
		}
		current.Store(nil)
	})
	stop.Store(true)
	wg.Wait()
}
