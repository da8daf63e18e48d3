package coroutine

import (
	"errors"
	"runtime"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// homes runs f wherever coroutines driven by hand can be made. It must not call
// Fatal.
func homes(t *testing.T, f func(t *testing.T)) {
	lockedTo := func(n int) func(t *testing.T) {
		return func(t *testing.T) {
			for range n {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			f(t)
		}
	}
	inFiber := func(t *testing.T) {
		err := New(func(*Yielder[int, int], int) int { f(t); return 0 }).run(0)
		testenv.NoError(t, err)
	}
	t.Run("goroutine", f)
	t.Run("locked goroutine", lockedTo(1))
	t.Run("locked twice", lockedTo(2))
	t.Run("fiber", inFiber)
	t.Run("coroutine", func(t *testing.T) { on(plain, func(*Executor) { f(t) }) })
	t.Run("coroutine, no pool", func(t *testing.T) { on(Config{}, func(*Executor) { f(t) }) })
	t.Run("fiber of a coroutine", func(t *testing.T) { on(plain, func(*Executor) { inFiber(t) }) })
}

// inHomes runs each case in every home, three times: the later ones on
// goroutines that have been used.
func inHomes(t *testing.T, cases map[string]func(t *testing.T)) {
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			homes(t, func(t *testing.T) {
				for range 3 {
					f(t)
				}
			})
		})
	}
}

// refused checks the error of what must not be done.
func refused(t *testing.T, what string, err, want error) {
	t.Helper()
	testenv.Equal(t, err, want, what)
}

// run resumes a coroutine once and for all.
func (f Fiber[In, Out]) run(in In) error {
	_, err := f.Resume(in)
	return err
}

// elsewhere calls f on a goroutine of its own. It blocks the thread.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// sum yields the sum of what it has been given; at a negative number it ends
// with that.
func sum(y *Yielder[int, int], in int) int {
	total := 0
	for in >= 0 {
		total += in
		in, _ = y.Yield(total)
	}
	return in
}

// expect resumes f and compares.
func (f Fiber[In, Out]) expect(t testing.TB, in In, want Out, wantErr error) {
	t.Helper()
	got, err := f.Resume(in)
	testenv.True(t, any(got) == any(want) && err == wantErr, "Resume(%v): %v, %v; want %v, %v", in,
		got, err, want, wantErr)
}

func TestValues(t *testing.T) {
	homes(t, func(t *testing.T) {
		for life := range 5 { // the later ones on goroutines that have been used
			f := New(sum)
			f.expect(t, 1, 1, nil)
			g := New(sum) // not f's again
			f.expect(t, 10, 11, nil)
			g.expect(t, 7, 7, nil)
			f.expect(t, 100, 111, nil)
			g.expect(t, 7, 14, nil)
			f.expect(t, -1, -1, nil)
			f.expect(t, 1, 0, ErrDead)
			g.expect(t, -2, -2, nil)
			g.expect(t, 1, 0, ErrDead)
			testenv.True(t, f != g && f == (Fiber[int, int]{f.handle, f.y, f.id}),
				"Fibers do not compare")
			// Of other types, and with nothing yielded.
			s := New(func(y *Yielder[string, error], in string) error {
				_, err := y.Yield(errors.New(in))
				return err
			})
			out, err := s.Resume("x")
			testenv.True(t, err == nil && out.Error() == "x", "life %d: %v, %v", life, out, err)
			s.expect(t, "", nil, nil)
			New(func(*Yielder[struct{}, [40]int], struct{}) (a [40]int) { a[39] = 9; return }).
				expect(t, struct{}{}, [40]int{39: 9}, nil)
		}
	})
}

func TestZeroFiberAndNilBody(t *testing.T) {
	homes(t, func(t *testing.T) {
		var f Fiber[int, int]
		f.expect(t, 1, 0, ErrDead)
		if err := f.Cancel(); err != nil || f.ID() != 0 || f.Status() != StatusDead {
			t.Errorf("Cancel: %v, id %d, %v", err, f.ID(), f.Status())
		}
		for range f.All(0) {
			t.Error("All gives something")
		}
		var zero Yielder[int, int]
		testenv.Equal(t, testenv.Err(zero.Yield(1)), ErrOutside, "Yield")
		testenv.Equal(t, testenv.Err(zero.Transfer(f, 1)), ErrOutside, "Transfer")
		testenv.Equal(t, zero.ID(), 0, "ID")
		New(func(y *Yielder[int, int], _ int) int {
			testenv.Equal(t, testenv.Err(y.Transfer(f, 0)), ErrDead, "Transfer")
			return 0
		}).Resume(0)
		testenv.Panics(t, "netco/coroutine: New with a nil body", func() { New[int, int](nil) })
	})
}

func TestStatusString(t *testing.T) {
	for s, want := range []string{"dead", "created", "suspended", "running", "normal"} {
		testenv.Equal(t, Status(s).String(), want)
	}
}

// TestMisuseInside: a coroutine that does what it must not gets an error, and
// no other effect.
func TestMisuseInside(t *testing.T) {
	inHomes(t, map[string]func(t *testing.T){
		"of itself":              misuseOfItself,
		"of and by its resumer":  misuseByResumer,
		"of a later incarnation": misuseOfNext,
	})
}

func misuseOfItself(t *testing.T) {
	dead := New(sum)
	dead.expect(t, -1, -1, nil)
	var f Fiber[int, int]
	f = New(func(y *Yielder[int, int], in int) int {
		refused(t, "Resume of itself", testenv.Err(f.Resume(5)), ErrRunning)
		refused(t, "Cancel of itself", f.Cancel(), ErrRunning)
		refused(t, "Transfer to itself", testenv.Err(y.Transfer(f, 5)), ErrTransferSelf)
		refused(t, "Transfer to a dead one", testenv.Err(y.Transfer(dead, 5)), ErrDead)
		for range f.All(5) {
			t.Error("All of itself gives something")
		}
		testenv.Equal(t, in, 1, "its argument is N after that")
		return 2
	})
	f.expect(t, 1, 2, nil)
}

func misuseByResumer(t *testing.T) {
	var f, inner Fiber[int, int]
	var fy *Yielder[int, int]
	fresh := New(sum)
	f = New(func(y *Yielder[int, int], in int) int {
		fy = y
		inner.expect(t, 1, 10, nil)
		back, err := y.Yield(2)
		testenv.True(t, back == 3 && err == nil, "Yield: %d, %v", back, err)
		inner.expect(t, 2, 20, nil)
		return 4
	})
	inner = New(func(y *Yielder[int, int], in int) int {
		for ; ; in++ {
			refused(t, "Resume of one's resumer", testenv.Err(f.Resume(5)), ErrRunning)
			refused(t, "Cancel of one's resumer", f.Cancel(), ErrRunning)
			refused(t, "Transfer to one's resumer", testenv.Err(y.Transfer(f, 5)), ErrRunning)
			refused(t, "one's resumer's Yield", testenv.Err(fy.Yield(5)), ErrOutside)
			refused(t, "one's resumer's Transfer", testenv.Err(fy.Transfer(fresh, 5)), ErrOutside)
			y.Yield(10 * in)
		}
	})
	f.expect(t, 1, 2, nil)
	refused(t, "Yield by the resumer", testenv.Err(fy.Yield(5)), ErrOutside)
	refused(t, "Transfer by the resumer", testenv.Err(fy.Transfer(fresh, 5)), ErrOutside)
	f.expect(t, 3, 4, nil)
	refused(t, "Cancel of a suspended one", inner.Cancel(), nil)
	refused(t, "Yield of a dead one", testenv.Err(fy.Yield(5)), ErrOutside)
	refused(t, "Transfer of a dead one", testenv.Err(fy.Transfer(fresh, 5)), ErrOutside)
	fresh.expect(t, 6, 6, nil)
	fresh.expect(t, -1, -1, nil)
}

// After its end, its Yielder may have another incarnation.
func misuseOfNext(t *testing.T) {
	var fy *Yielder[int, int]
	f := New(func(y *Yielder[int, int], in int) int { fy = y; return in })
	f.expect(t, 4, 4, nil)
	next := New(func(y *Yielder[int, int], in int) int {
		in, _ = y.Yield(in)
		return in
	})
	next.expect(t, 1, 1, nil)
	refused(t, "Yield of a former incarnation", testenv.Err(fy.Yield(5)), ErrOutside)
	f.expect(t, 1, 0, ErrDead)
	refused(t, "Cancel of a former incarnation", f.Cancel(), nil)
	testenv.True(t, f.Status() == StatusDead && next.Status() == StatusSuspended, "%v and %v",
		f.Status(), next.Status())
	next.expect(t, 2, 2, nil)
}

// refusesAlien checks the errors that f gives to another goroutine, and y, if
// it is not nil.
func refusesAlien(t *testing.T, f Fiber[int, int], y *Yielder[int, int]) {
	f.expect(t, 5, 0, ErrWrongThread)
	refused(t, "Cancel", f.Cancel(), ErrWrongThread)
	for range f.All(5) {
		t.Error("All gives something")
	}
	if y == nil {
		return
	}
	refused(t, "Yield", testenv.Err(y.Yield(5)), ErrOutside)
	refused(t, "Transfer", testenv.Err(y.Transfer(f, 5)), ErrOutside)
}

// TestWrongThread: the errors that another goroutine gets, while the coroutine
// is suspended and while it runs.
func TestWrongThread(t *testing.T) {
	homes(t, func(t *testing.T) {
		for range 3 {
			var f Fiber[int, int]
			var fy *Yielder[int, int]
			alien := func() { refusesAlien(t, f, fy) }
			everyAlien := func() {
				elsewhere(alien)
				elsewhere(func() { runtime.LockOSThread(); alien(); runtime.UnlockOSThread() })
				elsewhere(func() {
					New(func(*Yielder[int, int], int) int { alien(); return 0 }).Resume(0)
				})
				elsewhere(func() {
					New(func(y *Yielder[int, int], _ int) int {
						testenv.Equal(t, testenv.Err(y.Transfer(f, 5)), ErrWrongThread,
							"Transfer to it")
						return 0
					}).Resume(0)
				})
				elsewhere(func() { on(plain, func(*Executor) { alien() }) })
				elsewhere(func() {
					on(plain, func(*Executor) {
						New(func(*Yielder[int, int], int) int { alien(); return 0 }).Resume(0)
					})
				})
			}
			f = New(func(y *Yielder[int, int], in int) int {
				for fy = y; in > 0; {
					everyAlien()
					in, _ = y.Yield(in)
				}
				return -1
			})
			everyAlien()
			f.expect(t, 1, 1, nil)
			everyAlien()
			f.expect(t, 2, 2, nil)
			f.expect(t, 0, -1, nil)
		}
	})
}

// TestThreadLocks: LockOSThread called or undone since the coroutine was made
// is an error where the runtime would throw.
func TestThreadLocks(t *testing.T) {
	inHomes(t, map[string]func(t *testing.T){
		"locked before the first Resume": lockedBefore,
		"locked later":                   lockedLater,
		"locked inside":                  lockedInside,
		"unlocked":                       unlockedSince,
	})
}

func lockedBefore(t *testing.T) {
	f := New(sum)
	runtime.LockOSThread()
	refused(t, "locked before the first Resume", testenv.Err(f.Resume(1)), ErrThreadLocked)
	refused(t, "Cancel", f.Cancel(), ErrThreadLocked)
	runtime.UnlockOSThread()
	testenv.Equal(t, f.Status(), StatusCreated, "refused, it is")
	spare := New(sum)
	spare.Resume(-1)
	never := New(func(*Yielder[int, int], int) int { t.Error("it runs"); return 0 })
	runtime.LockOSThread()
	never.Resume(1)
	runtime.UnlockOSThread()
	refused(t, "Cancel of one that never ran", never.Cancel(), nil)
	f.expect(t, 1, 1, nil)
	f.expect(t, -1, -1, nil)
}

func lockedLater(t *testing.T) {
	f := New(sum)
	f.expect(t, 1, 1, nil)
	runtime.LockOSThread()
	refused(t, "locked before the second Resume", testenv.Err(f.Resume(1)), ErrThreadLocked)
	refused(t, "Cancel", f.Cancel(), ErrThreadLocked)
	for range f.All(1) {
		t.Error("All gives something")
	}
	runtime.UnlockOSThread()
	f.expect(t, 1, 2, nil)
	seen := 0
	for n := range f.All(1) {
		if seen++; seen == 3 {
			runtime.LockOSThread() // ends the sequence
		}
		if n > 6 {
			break
		}
	}
	testenv.Equal(t, seen, 3, "All gave N values, and 3 before the lock")
	runtime.UnlockOSThread()
	f.expect(t, -1, -1, nil)
}

func lockedInside(t *testing.T) {
	other := New(sum)
	f := New(func(y *Yielder[int, int], _ int) int {
		runtime.LockOSThread()
		refused(t, "locked before Yield", testenv.Err(y.Yield(1)), ErrThreadLocked)
		refused(t, "locked before Transfer", testenv.Err(y.Transfer(other, 1)), ErrThreadLocked)
		runtime.UnlockOSThread()
		refused(t, "unlocked again", testenv.Err(y.Yield(2)), nil)
		return 3
	})
	f.expect(t, 1, 2, nil)
	f.expect(t, 1, 3, nil)
	refused(t, "Cancel of one that has not run", other.Cancel(), nil)
}

// One of two locks is undone, for an unlocked goroutine may run on, on another
// thread.
func unlockedSince(t *testing.T) {
	runtime.LockOSThread()
	f := New(sum)
	runtime.UnlockOSThread()
	refused(t, "unlocked", testenv.Err(f.Resume(1)), ErrThreadLocked)
	runtime.LockOSThread()
	runtime.LockOSThread()
	f = New(sum)
	runtime.UnlockOSThread()
	refused(t, "unlocked before the first Resume", testenv.Err(f.Resume(1)), ErrThreadLocked)
	runtime.LockOSThread()
	f.expect(t, 1, 1, nil)
	g := New(sum)
	g.expect(t, 2, 2, nil)
	runtime.UnlockOSThread()
	refused(t, "unlocked before the second Resume", testenv.Err(f.Resume(1)), ErrThreadLocked)
	New(func(y *Yielder[int, int], _ int) int {
		refused(t, "Transfer to one made under a lock", testenv.Err(y.Transfer(f, 1)),
			ErrThreadLocked)
		return 0
	}).Resume(0)
	runtime.LockOSThread()
	f.expect(t, 1, 2, nil)
	f.expect(t, -1, -1, nil) // its goroutine is not to serve those made under no lock
	refused(t, "Cancel under the lock", g.Cancel(), nil)
	runtime.UnlockOSThread()
	runtime.UnlockOSThread()
}

// TestHomes: each ordinary goroutine and each executor is a home of its own; a
// fiber has its resumer's.
func TestHomes(t *testing.T) {
	mine := New(sum)
	mine.expect(t, 1, 1, nil)
	var first, second Fiber[int, int]
	a, b := newThread(plain), newThread(plain)
	wait := func(h Handle) {
		testenv.NoError(t, h.Join())
	}
	wait(a.spawn(func() {
		mine.expect(t, 1, 0, ErrWrongThread)
		first = New(sum)
		first.expect(t, 1, 1, nil)
		second = New(func(y *Yielder[int, int], _ int) int {
			nested := New(sum)
			nested.expect(t, 3, 3, nil)
			y.Yield(1)
			nested.expect(t, 3, 6, nil)
			nested.expect(t, -1, -1, nil)
			return 2
		})
		second.expect(t, 0, 1, nil)
	}))
	first.expect(t, 1, 0, ErrWrongThread)
	wait(b.spawn(func() { first.expect(t, 1, 0, ErrWrongThread) }))
	wait(a.spawn(func() { // another coroutine of the same thread
		first.expect(t, 1, 2, nil)
		second.expect(t, 0, 2, nil)
		New(func(*Yielder[int, int], int) int { first.expect(t, 1, 3, nil); return 0 }).Resume(0)
	}))
	wait(a.spawn(func() { first.expect(t, -1, -1, nil) }))
	// A fiber's own are its root's.
	var nested Fiber[int, int]
	New(func(*Yielder[int, int], int) int {
		mine.expect(t, 1, 2, nil)
		nested = New(sum)
		nested.expect(t, 1, 1, nil)
		return 0
	}).Resume(0)
	nested.expect(t, 1, 2, nil)
	nested.expect(t, -1, -1, nil)
	mine.expect(t, -1, -1, nil)
	a.stop()
	b.stop()
}

// TestFibersAreReused: goroutines serve one coroutine after the other, in the
// same types without allocation, and stale Fibers stay dead.
func TestFibersAreReused(t *testing.T) {
	homes(t, func(t *testing.T) {
		var stale []Fiber[int, int]
		for i := range 100 {
			f := New(sum)
			f.expect(t, i, i, nil)
			switch i % 4 {
			case 0:
				f.expect(t, -1, -1, nil)
			case 1:
				testenv.NoError(t, f.Cancel())
			case 2:
				New(sum).Cancel()
				f.expect(t, -1, -1, nil)
			case 3: // another type uses the goroutine next
				f.expect(t, -1, -1, nil)
				New(func(*Yielder[string, string], string) string {
					return ""
				}).expect(t, "", "", nil)
			}
			stale = append(stale, f)
			for _, f := range stale {
				testenv.True(t, f.Status() == StatusDead && f.Cancel() == nil, "a dead one lives")
				f.expect(t, 0, 0, ErrDead)
			}
		}
	})
}

func TestFiberAllocs(t *testing.T) {
	testenv.NoRace(t)
	check := func(t *testing.T, where string) {
		f := New(sum)
		defer f.Cancel()
		testenv.Equal(t, testenv.Allocs(200, func() { f.Resume(1) }), 0, where,
			"Resume and Yield: allocations")
		before := lastID.Load()
		n := testenv.Allocs(200, func() { New(sum).Resume(-1) })
		testenv.True(t, n == 0 || before+idBlock < lastID.Load(), "%s: a life: %v allocations",
			where, n)
	}
	check(t, "goroutine")
	on(plain, func(ex *Executor) {
		check(t, "coroutine")
		for range 10 * plain.Idle { // those that never ran must not fill the pool
			New(sum).Cancel()
		}
		var many [20]Fiber[int, int]
		before := ex.fibers()
		for round := range 10 {
			for i := range many {
				many[i] = New(sum)
				many[i].Resume(1)
			}
			for i := range many {
				many[i].Resume(-1)
			}
			if round == 0 {
				before = ex.fibers()
			}
		}
		testenv.True(t, ex.fibers() <= before, "%d goroutines for 20 coroutines", ex.fibers())
	})
}

// fibers returns how many fibers of the executor have a goroutine.
func (ex *Executor) fibers() (n int) {
	for w := range workers {
		if w.fiber != nil && w.ex == ex {
			n++
		}
	}
	return n
}

// TestLockedGoroutinesAreNotKept: a goroutine made in a coroutine that held
// LockOSThread meanwhile cannot be switched to later, and so must not be when
// the executor ends.
func TestLockedGoroutinesAreNotKept(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	on(plain, func(ex *Executor) {
		runtime.LockOSThread()
		for range 3 {
			New(sum).Resume(-1)
			f := New(sum)
			f.Resume(1)
			f.Cancel()
			New(sum).Cancel()
		}
		runtime.UnlockOSThread()
		for range 3 {
			New(sum).Resume(-1)
		}
		Yield()
		testenv.Equal(t, ex.fibers(), 1,
			"goroutines are kept, want the one made without the lock")
	})
}
