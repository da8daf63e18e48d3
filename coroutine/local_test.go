package coroutine

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestLocalPerCoroutine: made once for each that asks, and kept over its waits.
func TestLocalPerCoroutine(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	made := 0
	l := NewLocal(LocalOptions[int]{Make: func() int { made++; return 10 * made }})
	plainLocal := NewLocal(LocalOptions[string]{})
	on(Config{Idle: 2}, func(ex *Executor) {
		for range 3 { // on workers and structs that are used again
			made = 0
			values := map[*int]bool{}
			var handles []Handle
			for range 20 {
				handles = append(handles, ex.Spawn(Spawn{Fn: func() {
					testenv.True(t, l.Peek() == nil && *plainLocal.Get() == "",
						"it has a value before it asks")
					Yield()
					p := l.Get()
					Yield()
					values[p] = true
					*p++
					plainLocal.Set("mine")
					Yield()
					q := l.Get()
					testenv.True(t, q == p && l.Peek() == p && *q%10 == 1 &&
						*plainLocal.Peek() == "mine", "it has another value, %d", *q)
					f := New(func(y *Yielder[int, int], _ int) int {
						testenv.True(t, l.Peek() == nil && plainLocal.Peek() == nil,
							"a coroutine driven by hand has its resumer's value")
						mine := l.Get()
						y.Yield(0)
						testenv.True(t, l.Get() == mine && mine != p, "it has another value")
						values[mine] = true
						return 0
					})
					f.Resume(0)
					Yield()
					testenv.Equal(t, l.Get(), p, "the resumer has the value of another")
					f.Resume(0)
					l.Set(7)
					testenv.True(t, l.Get() == p && *p == 7, "Set has made another")
				}}).Handle())
			}
			for _, h := range handles {
				h.Join()
			}
			testenv.True(t, made == 40 && len(values) == 40,
				"%d made, %d different, for 40 coroutines", made, len(values))
		}
	})
}

// TestLocalOfGoroutines: ordinary goroutines share one; a coroutine driven by
// hand on one has its own.
func TestLocalOfGoroutines(t *testing.T) {
	made := 0
	l := NewLocal(LocalOptions[int]{Make: func() int { made++; return 5 }, Drop: func(*int) {
		t.Error("dropped")
	}})
	testenv.Equal(t, l.Peek(), nil, "Peek makes one")
	p := l.Get()
	elsewhere(func() {
		testenv.True(t, l.Get() == p && l.Peek() == p && *p == 5, "another goroutine has another")
		l.Set(6)
	})
	testenv.True(t, *p == 6 && made == 1, "%d, made %d", *p, made)
	dropped := 0
	mine := NewLocal(LocalOptions[int]{Drop: func(*int) { dropped++ }})
	New(func(*Yielder[int, int], int) int {
		testenv.True(t, l.Peek() == nil && mine.Peek() == nil, "it has a goroutine's")
		mine.Set(3)
		return 0
	}).Resume(0)
	testenv.True(t, mine.Peek() == nil && dropped == 1, "dropped %d", dropped)
	unmade := NewLocal(LocalOptions[int]{})
	unmade.Set(8)
	testenv.Equal(t, *unmade.Get(), 8, "Set without Get")
}

// TestLocalEnds: values are dropped at the end, whatever that is, the latest
// first, while the coroutine still is itself.
func TestLocalEnds(t *testing.T) {
	var order []int
	var locals []*Local[int]
	current := func() any { return [2]any{Current(), RunningID()} }
	var owner any
	for i := range 20 { // more than are kept without an index
		locals = append(locals, NewLocal(LocalOptions[int]{Drop: func(p *int) {
			testenv.True(t, *p == i && current() == owner,
				"number %d is dropped as %d, by %v instead of %v", i, *p, current(), owner)
			if Current() != nil {
				Yield() // it may park
			}
			order = append(order, i)
		}}))
	}
	use := func(n int) {
		owner = current()
		for i, l := range locals[:n] {
			l.Set(i)
		}
	}
	check := func(t *testing.T, how string, n int) {
		t.Helper()
		want := []int{}
		for i := range n {
			want = append(want, n-1-i)
		}
		testenv.True(t, slices.Equal(order, want), "%s: dropped %v, want %v", how, order, want)
		order = nil
	}
	numbers := []int{0, 1, 8, 9, 20, 0, 1, 8, 9, 20}
	homes(t, func(t *testing.T) {
		for _, n := range numbers {
			for how, end := range ways {
				func() {
					defer func() { recover() }()
					New(func(*Yielder[int, int], int) int { use(n); end(); return 0 }).Resume(0)
				}()
				check(t, how, n)
			}
			f := New(func(y *Yielder[int, int], _ int) int { use(n); y.Yield(0); return 0 })
			f.Resume(0)
			f.Cancel()
			check(t, "Cancel", n)
		}
	})
	th := startThread(&thread{panics: func(*Coroutine, any, []byte) bool {
		return true
	}}, Config{Idle: 2})
	for how, end := range ways {
		for _, n := range numbers {
			th.spawn(func() { use(n); end() }).Join()
			check(t, how, n)
		}
	}
	th.stop()
}

// misbehaving are Locals whose Drops do what they should not, and in what order
// they have been called.
type misbehaving struct {
	first, exits, exits2, makes *Local[int]
	panics, panics2             *Local[error]
	late                        *Local[int] // made by makes' Drop
	order                       []string
}

func newMisbehaving() *misbehaving {
	m := &misbehaving{}
	local := func(name string, does func()) *Local[int] {
		return NewLocal(LocalOptions[int]{Drop: func(*int) {
			m.order = append(m.order, name)
			does()
		}})
	}
	panics := func() *Local[error] {
		return NewLocal(LocalOptions[error]{Drop: func(e *error) {
			m.order = append(m.order, "panics")
			panic(*e)
		}})
	}
	m.late, m.first = local("late", func() {}), local("first", func() {})
	m.exits, m.exits2 = local("exits", runtime.Goexit), local("exits", runtime.Goexit)
	m.makes = local("makes", func() { m.late.Get() })
	m.panics, m.panics2 = panics(), panics()
	return m
}

func (m *misbehaving) use() {
	m.first.Get()
	m.panics.Set(io.EOF)
	m.exits.Get()
	m.panics2.Set(io.ErrUnexpectedEOF)
	m.exits2.Get()
	m.makes.Get()
}

// dropped checks that all have been dropped, and that new coroutines have none.
func (m *misbehaving) dropped(t *testing.T) {
	t.Helper()
	all := []string{"makes", "late", "exits", "panics", "exits", "panics", "first"}
	testenv.True(t, slices.Equal(m.order, all), "dropped %v, want %v", m.order, all)
	m.order = nil
	for range 3 {
		New(func(*Yielder[int, int], int) int { m.unused(t); return 0 }).Resume(0)
	}
}

// unused checks that the running coroutine has no value of them.
func (m *misbehaving) unused(t *testing.T) {
	t.Helper()
	testenv.True(t, m.late.Peek() == nil && m.first.Peek() == nil && m.panics.Peek() == nil &&
		m.exits.Peek() == nil, "a new coroutine has the values of another")
}

// TestLocalDropMisbehaves: a Drop that panics, unwinds or makes others keeps no
// other from being dropped, and the next incarnation on the same goroutine has
// no trace of it.
func TestLocalDropMisbehaves(t *testing.T) {
	m := newMisbehaving()
	homes(t, func(t *testing.T) {
		for _, how := range []string{"return", "Goexit"} {
			f := New(func(*Yielder[int, int], int) int { m.use(); ways[how](); return 0 })
			e := panicking(t, func() { f.Resume(0) })
			testenv.True(t, errors.Is(e, io.ErrUnexpectedEOF) && f.Status() == StatusDead,
				"it panics with %v, and is %v", e, f.Status())
			m.dropped(t)
		}
		f := New(func(y *Yielder[int, int], _ int) int { m.use(); y.Yield(0); return 0 })
		f.Resume(0)
		panicking(t, func() { f.Cancel() })
		m.dropped(t)
		f = New(func(y *Yielder[int, int], _ int) int { m.use(); panic("its own") })
		e := panicking(t, func() { f.Resume(0) })
		testenv.True(t, e.Value == "its own", "its own panic is lost for %v", e.Value)
		m.dropped(t)
	})
	before := runtime.NumGoroutine()
	for _, end := range ways {
		var values []any
		th := startThread(&thread{panics: func(_ *Coroutine, v any, _ []byte) bool {
			values = append(values, v)
			return true
		}}, Config{Idle: 2})
		for range 3 {
			values = nil
			th.spawn(func() { m.use(); end() }).Join()
			testenv.True(t, len(values) >= 2 && slices.Contains(values, any(io.EOF)),
				"the host gets the panics %v", values)
			elsewhere(func() { m.dropped(t) })
			th.spawn(func() { m.unused(t) }).Join()
		}
		th.stop()
	}
	testenv.Settle(t, before)
}

// TestLocalInherit: a Local with Inherit is inherited, at the creation, by
// coroutines of any executor and by hand; no other is.
func TestLocalInherit(t *testing.T) {
	calls := 0
	depth := NewLocal(LocalOptions[int]{Inherit: func(p *int) int { calls++; return *p + 1 }})
	own := NewLocal(LocalOptions[int]{})
	other := newThread(plain)
	want := func(t *testing.T, who string, n int) {
		t.Helper()
		if p := depth.Peek(); (p == nil) != (n == 0) || p != nil && *p != n {
			t.Errorf("%s: %v, want %d", who, p, n)
		}
		testenv.Equal(t, own.Peek(), nil, who, "has inherited what is not to be")
	}
	depth.Set(100) // a goroutine's: not inherited
	homes(t, func(t *testing.T) {
		New(func(*Yielder[int, int], int) int {
			want(t, "without a parent's value", 0)
			depth.Set(1)
			own.Set(1)
			f := New(func(*Yielder[int, int], int) int {
				want(t, "child", 2)
				own.Set(2)
				New(func(*Yielder[int, int], int) int {
					want(t, "grandchild", 3)
					return 0
				}).Resume(0)
				depth.Set(9)
				New(func(*Yielder[int, int], int) int {
					want(t, "second grandchild", 10)
					return 0
				}).Resume(0)
				return 0
			})
			depth.Set(5) // after the creation
			f.Resume(0)
			testenv.Equal(t, *depth.Get(), 5, "a child has changed it")
			h := other.spawn(func() { want(t, "another thread's", 6); depth.Set(0) })
			if Current() != nil {
				h.Join()
				CurrentExecutor().Spawn(Spawn{Fn: func() { want(t, "spawned", 6) }}).Handle().Join()
			} else {
				elsewhere(func() { h.Join() })
			}
			New(sum).Cancel() // inherits, and ends
			return 0
		}).Resume(0)
		New(func(*Yielder[int, int], int) int { want(t, "the next life", 0); return 0 }).Resume(0)
	})
	other.stop()
	testenv.True(t, calls != 0, "Inherit was not called")
}

// TestLocalNeverResumed: what a Fiber has inherited is dropped, by itself, also
// where it is cancelled or collected before its first Resume.
func TestLocalNeverResumed(t *testing.T) {
	var dropped atomic.Int32
	held := NewLocal(LocalOptions[int]{
		Inherit: func(p *int) int { return *p + 1 },
		Drop: func(p *int) {
			if *p == 1 {
				return // the parent's
			}
			if CurrentWorker().fiber == nil || *p != 2 {
				t.Errorf("%d is dropped, by a fiber: %v", *p, CurrentWorker().fiber != nil)
			}
			dropped.Add(1)
		},
	})
	body := func(*Yielder[int, int], int) int { t.Error("the body runs"); return 0 }
	homes(t, func(t *testing.T) {
		dropped.Store(0)
		New(func(y *Yielder[int, int], _ int) int {
			held.Set(1)
			for range 3 { // on a new goroutine, and on one that is reused
				f := New(body)
				if err := f.Cancel(); err != nil || f.Status() != StatusDead {
					t.Errorf("Cancel: %v, it is %v", err, f.Status())
				}
				New(func(*Yielder[int, int], int) int { held.Set(1); return 0 }).Resume(0)
			}
			return 0
		}).Resume(0)
		testenv.Equal(t, dropped.Load(), 3, "dropped after Cancel")
	})
	func() {
		New(func(*Yielder[int, int], int) int { held.Set(1); New(body); return 0 }).Resume(0)
	}()
	testenv.Until(t, "the Drop of one that was collected", func() bool {
		runtime.GC()
		return dropped.Load() == 4
	})
}

// TestLocalInheritPanics: a panic in Inherit is New's panic, and makes nothing.
func TestLocalInheritPanics(t *testing.T) {
	bad := NewLocal(LocalOptions[int]{Inherit: func(*int) int { panic("no heir") }})
	homes(t, func(t *testing.T) {
		New(func(*Yielder[int, int], int) int {
			bad.Set(1)
			func() {
				defer func() {
					testenv.Equal(t, recover(), "no heir", "New does not panic")
				}()
				New(sum)
			}()
			return 0
		}).Resume(0)
		f := New(sum)
		f.expect(t, 1, 1, nil)
		f.expect(t, -1, -1, nil)
	})
}

// TestLocalMakeAsks: Make may ask for other Locals.
func TestLocalMakeAsks(t *testing.T) {
	a := NewLocal(LocalOptions[int]{Make: func() int { return 7 }})
	b := NewLocal(LocalOptions[int]{Make: func() int { return *a.Get() + 1 }})
	New(func(*Yielder[int, int], int) int {
		p := b.Get()
		if *p != 8 || b.Get() != p || *a.Get() != 7 {
			t.Errorf("%d and %d", *a.Get(), *b.Get())
		}
		return 0
	}).Resume(0)
	// One whose Make panics is made the next time.
	tries := 0
	c := NewLocal(LocalOptions[int]{Make: func() int {
		if tries++; tries == 1 {
			panic("not yet")
		}
		return tries
	}})
	get := func() {
		func() { defer func() { recover() }(); c.Get() }()
		testenv.True(t, c.Peek() == nil && *c.Get() == 2, "after a Make that has panicked")
	}
	New(func(*Yielder[int, int], int) int { get(); return 0 }).Resume(0)
	tries = 0
	get() // of goroutines: the lock is free
}

// TestLocalMakeAsksItself: a Make that gets or sets its own Local panics, on a
// goroutine, which waited for itself, as in a coroutine. Its Peek finds none.
// After the panic the Local works.
func TestLocalMakeAsksItself(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  func(l *Local[int])
	}{
		{"Get", func(l *Local[int]) { l.Get() }},
		{"Set", func(l *Local[int]) { l.Set(1) }},
		{"Get in another's Make", func(l *Local[int]) {
			NewLocal(LocalOptions[int]{Make: func() int { return *l.Get() }}).Get()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			asks := true
			var l *Local[int]
			l = NewLocal(LocalOptions[int]{Make: func() int {
				testenv.Equal(t, l.Peek(), nil, "there is a value before Make has returned")
				if asks {
					c.ask(l)
				}
				return 3
			}})
			use := func() {
				func() {
					defer func() {
						testenv.Equal(t, recover(), makeAsks, "panic")
					}()
					asks = true
					l.Get()
				}()
				asks = false
				testenv.True(t, *l.Get() == 3, "%d", *l.Get())
			}
			use()
			New(func(*Yielder[int, int], int) int { use(); return 0 }).Resume(0)
		})
	}
}
