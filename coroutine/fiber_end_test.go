package coroutine

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// panicking calls f, which must panic with a *PanicError, and returns that.
func panicking(t testing.TB, f func()) (e *PanicError) {
	t.Helper()
	defer func() {
		t.Helper()
		value := recover()
		var ok bool
		if e, ok = value.(*PanicError); !ok {
			t.Errorf("panics with %v", value)
			e = &PanicError{}
		}
	}()
	f()
	return nil
}

func TestCancel(t *testing.T) {
	inHomes(t, map[string]func(t *testing.T){
		"suspended":                 cancelSuspended,
		"never resumed":             cancelReady,
		"in a Transfer":             cancelInTransfer,
		"a deferred call panics":    cancelPanics,
		"a deferred call is Goexit": cancelExits,
	})
}

func cancelSuspended(t *testing.T) {
	var order []string
	note := func(s string) { order = append(order, s) }
	f := New(func(y *Yielder[int, int], in int) int {
		defer note("first")
		defer func() {
			testenv.Equal(t, recover(), nil, "a cancelled coroutine recovers")
			testenv.Equal(t, testenv.Err(y.Yield(5)), ErrCancelled, "Yield in a deferred call")
			other := New(sum)
			testenv.Equal(t, testenv.Err(y.Transfer(other, 5)), ErrCancelled,
				"Transfer in a deferred call")
			other.expect(t, 4, 4, nil) // it may resume others
			testenv.NoError(t, other.Cancel())
			testenv.True(t, y.ID() != 0 && RunningID() == y.ID(),
				"it is dead in its deferred calls")
			ex := DrivenBy()
			testenv.True(t, ex == nil || !ex.Suspended(), "one that runs is to be reaped")
			note("second")
		}()
		func() {
			defer func() { recover(); note("third") }()
			y.Yield(1)
			note("it went on")
		}()
		note("it was swallowed")
		return 0
	})
	f.expect(t, 0, 1, nil)
	if err := f.Cancel(); err != nil || f.Status() != StatusDead {
		t.Errorf("Cancel: %v, then %v", err, f.Status())
	}
	testenv.True(t, slices.Equal(order, []string{"third", "second", "first"}),
		"deferred calls ran as %v", order)
	testenv.Fails(t, f.Cancel(), nil, "the second Cancel")
	f.expect(t, 0, 0, ErrDead)
}

func cancelReady(t *testing.T) {
	var order []string
	note := func(s string) { order = append(order, s) }
	ready := New(func(*Yielder[int, int], int) int { note("it runs"); return 0 })
	if err := ready.Cancel(); err != nil || len(order) > 0 || ready.Status() != StatusDead {
		t.Errorf("Cancel of one that is ready: %v, %v", err, order)
	}
}

func cancelInTransfer(t *testing.T) {
	var order []string
	note := func(s string) { order = append(order, s) }
	g := New(sum)
	f := New(func(y *Yielder[int, int], in int) int {
		defer note("transferred")
		y.Transfer(g, in)
		note("it went on")
		return 0
	})
	f.expect(t, 3, 3, nil)
	if err := f.Cancel(); err != nil || !slices.Equal(order, []string{"transferred"}) {
		t.Errorf("Cancel in a Transfer: %v, %v", err, order)
	}
	g.expect(t, -1, -1, nil)
}

func cancelPanics(t *testing.T) {
	var order []string
	note := func(s string) { order = append(order, s) }
	f := New(func(y *Yielder[int, int], in int) int {
		defer note("last")
		defer panic(io.EOF)
		y.Yield(0)
		return 0
	})
	f.Resume(0)
	e := panicking(t, func() { f.Cancel() })
	if !errors.Is(e, io.EOF) || f.Status() != StatusDead || !slices.Equal(order, []string{"last"}) {
		t.Errorf("Cancel panics with %v, then it is %v, %v", e.Value, f.Status(), order)
	}
}

func cancelExits(t *testing.T) {
	f := New(func(y *Yielder[int, int], in int) int {
		defer runtime.Goexit()
		y.Yield(0)
		return 0
	})
	f.Resume(0)
	err := f.Cancel()
	testenv.True(t, err == nil && f.Status() == StatusDead, "Goexit in a deferred call: %v", err)
}

//go:noinline
func thePanickingFunction(value any) { panic(value) }

type customError struct{ n int }

func (customError) Error() string { return "custom" }

func TestPanics(t *testing.T) {
	inHomes(t, map[string]func(t *testing.T){
		"after a Yield":                panicAfterYield,
		"with an error":                panicWithError,
		"recovered by a fiber":         panicRecovered,
		"nil, and recovered inside":    panicNil,
		"of the runtime, and replaced": panicOfRuntime,
		"transferred to":               panicTransferred,
		"cancelled while it panics":    panicCancelled,
	})
}

func panicAfterYield(t *testing.T) {
	f := New(func(y *Yielder[int, int], _ int) int {
		y.Yield(1)
		thePanickingFunction("planned")
		return 0
	})
	f.expect(t, 0, 1, nil)
	e := panicking(t, func() { f.Resume(0) })
	if e.Value != "planned" || !strings.Contains(string(e.Stack), "thePanickingFunction") ||
		!strings.Contains(e.Error(), "planned") ||
		!strings.Contains(e.Error(), "thePanickingFunction") || e.Unwrap() != nil {
		t.Errorf("it is delivered as %v", e)
	}
	f.expect(t, 0, 0, ErrDead)
}

func panicWithError(t *testing.T) {
	inner := New(func(*Yielder[int, int], int) int {
		thePanickingFunction(customError{7})
		return 0
	})
	outer := New(func(*Yielder[int, int], int) int { inner.Resume(0); return 0 })
	e := panicking(t, func() { outer.Resume(0) })
	var custom customError
	if !errors.As(e, &custom) || custom.n != 7 || !errors.Is(e, customError{7}) ||
		errors.Is(e, io.EOF) {
		t.Errorf("the error is not found in %v", e)
	}
	testenv.True(t, inner.Status() == StatusDead && outer.Status() == StatusDead,
		"they are %v and %v", inner.Status(), outer.Status())
}

func panicRecovered(t *testing.T) {
	inner := New(func(*Yielder[int, int], int) int { panic(io.EOF) })
	outer := New(func(y *Yielder[int, int], _ int) int {
		panicking(t, func() { inner.Resume(0) })
		y.Yield(4)
		return 5
	})
	outer.expect(t, 0, 4, nil)
	outer.expect(t, 0, 5, nil)
}

func panicNil(t *testing.T) {
	f := New(func(*Yielder[int, int], int) int { panic(nil) })
	e := panicking(t, func() { f.Resume(0) })
	if _, ok := e.Value.(*runtime.PanicNilError); !ok {
		t.Errorf("panic(nil) gives %v", e.Value)
	}
	f = New(func(y *Yielder[int, int], in int) (out int) {
		defer func() { recover(); out, _ = y.Yield(3) }() // it may yield while it recovers
		panic("inside")
	})
	f.expect(t, 0, 3, nil)
	f.expect(t, 4, 4, nil)
}

func panicOfRuntime(t *testing.T) {
	f := New(func(_ *Yielder[int, int], in int) int { return 1 / in })
	e := panicking(t, func() { f.Resume(0) })
	var re runtime.Error
	testenv.True(t, errors.As(e, &re), "a division by zero gives %v", e.Value)
	f = New(func(*Yielder[int, int], int) int { defer panic("second"); panic("first") })
	e = panicking(t, func() { f.Resume(0) })
	testenv.True(t, e.Value == "second", "two panics give %v", e.Value)
}

func panicTransferred(t *testing.T) {
	f := New(func(*Yielder[int, int], int) int { panic("there") })
	from := New(func(y *Yielder[int, int], _ int) int { in, _ := y.Transfer(f, 0); return in })
	e := panicking(t, func() { from.Resume(0) })
	testenv.True(t, e.Value == "there" && f.Status() == StatusDead, "after a Transfer: %v, %v",
		e.Value, f.Status())
	from.expect(t, 8, 8, nil)
}

func panicCancelled(t *testing.T) {
	f := New(func(y *Yielder[int, int], _ int) int {
		defer y.Yield(1)
		panic("under way")
	})
	f.expect(t, 0, 1, nil)
	func() {
		defer func() { recover() }()
		f.Cancel()
	}()
	testenv.Equal(t, f.Status(), StatusDead, "cancelled while it panics it is")
}

func TestGoexit(t *testing.T) {
	homes(t, func(t *testing.T) {
		for range 3 {
			ran := 0
			f := New(func(y *Yielder[int, int], _ int) int {
				defer func() { ran++ }()
				y.Yield(1)
				runtime.Goexit()
				return 2
			})
			f.expect(t, 0, 1, nil)
			f.expect(t, 0, 0, ErrGoexit)
			f.expect(t, 0, 0, ErrDead)
			// At once; of one transferred to; while it panics; in a chain.
			f = New(func(*Yielder[int, int], int) int { runtime.Goexit(); return 2 })
			f.expect(t, 0, 0, ErrGoexit)
			f = New(func(*Yielder[int, int], int) int { runtime.Goexit(); return 2 })
			from := New(func(y *Yielder[int, int], _ int) int {
				in, _ := y.Transfer(f, 0)
				return in
			})
			from.expect(t, 0, 0, ErrGoexit)
			from.expect(t, 6, 6, nil)
			f = New(func(*Yielder[int, int], int) int { defer runtime.Goexit(); panic("aborted") })
			f.expect(t, 0, 0, ErrGoexit)
			f = New(func(*Yielder[int, int], int) int {
				defer func() { ran++ }()
				_, err := New(func(*Yielder[int, int], int) int {
					runtime.Goexit()
					return 2
				}).Resume(0)
				testenv.Equal(t, err, ErrGoexit)
				runtime.Goexit()
				return 1
			})
			f.expect(t, 0, 0, ErrGoexit)
			// In a deferred call, it may yield.
			f = New(func(y *Yielder[int, int], _ int) int {
				defer func() {
					in, err := y.Yield(7)
					testenv.True(t, in == 9 && err == nil, "Yield within Goexit: %d, %v", in, err)
				}()
				runtime.Goexit()
				return 2
			})
			f.expect(t, 0, 7, nil)
			f.expect(t, 9, 0, ErrGoexit)
			testenv.Equal(t, ran, 2, "deferred calls ran")
		}
	})
}

// TestDropped: coroutines that nothing can resume any more are cancelled, and
// their goroutines end.
func TestDropped(t *testing.T) {
	before := runtime.NumGoroutine()
	n := testenv.Rounds(4000)
	ended := make(chan int, n)
	drop := func(i int) {
		f := New(func(y *Yielder[int, int], in int) int {
			defer func() { ended <- in }()
			if i%3 == 0 { // that holds another
				g := New(func(y *Yielder[int, int], _ int) int { y.Yield(0); return 0 })
				g.Resume(0)
				y.Yield(0)
				g.Resume(0)
			}
			y.Yield(0)
			return 0
		})
		f.Resume(i)
		if i%5 == 0 { // suspended by a Transfer
			New(func(y *Yielder[int, int], _ int) int { y.Transfer(f, 0); return 0 }).Resume(0)
		}
		New(sum) // never resumed
	}
	for i := range n {
		drop(i)
	}
	seen := make([]bool, n)
	for range n {
		for len(ended) == 0 {
			runtime.GC()
		}
		if i := <-ended; seen[i] {
			t.Errorf("number %d ended twice", i)
		} else {
			seen[i] = true
		}
	}
	testenv.Settle(t, before)
}
