package coroutine

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// ways a coroutine can end.
var ways = map[string]func(){"return": func() {}, "panic": func() {
	panic("planned")
}, "Goexit": runtime.Goexit}

// hookWorld runs a body as a coroutine of an executor, and by hand wherever
// that is possible.
func hookWorld(t *testing.T, f func(t *testing.T, run func(body func()))) {
	homes(t, func(t *testing.T) {
		f(t, func(body func()) {
			defer func() { recover() }()
			New(func(*Yielder[int, int], int) int { body(); return 0 }).Resume(0)
		})
	})
	for _, idle := range []int{0, 4} {
		t.Run("scheduled", func(t *testing.T) {
			th := startThread(&thread{panics: func(*Coroutine, any, []byte) bool {
				return true
			}}, Config{Idle: idle})
			f(t, func(body func()) { th.spawn(body).Join() })
			th.stop()
		})
	}
}

func TestHooks(t *testing.T) {
	hookWorld(t, func(t *testing.T, run func(body func())) {
		for how, end := range ways {
			var order []string
			var who [2]any
			note := func(s string) func() {
				return func() {
					if me := [2]any{Current(), RunningID()}; len(order) == 0 {
						who = me
					} else if me != who {
						t.Errorf("%s: %s runs as %v, want %v", how, s, me, who)
					}
					if Current() != nil {
						Yield() // it may park
					}
					order = append(order, s)
				}
			}
			removeFirst := AddHooks(Hooks{Start: note("start 1"), End: note("end 1")})
			removeSecond := AddHooks(Hooks{Start: note("start 2")})
			removeThird := AddHooks(Hooks{End: note("end 3")})
			run(func() {
				note("body")()
				removeThird() // too late for this coroutine
				end()
			})
			if want := []string{"start 1", "start 2", "body", "end 3", "end 1"}; !slices.Equal(
				order, want) {
				t.Errorf("%s: %v, want %v", how, order, want)
			}
			removeSecond()
			removeSecond() // nothing more
			order = nil
			run(note("body"))
			want := []string{"start 1", "body", "end 1"}
			testenv.True(t, slices.Equal(order, want), "two removed: %v, want %v", order, want)
			removeFirst()
		}
	})
	testenv.Equal(t, hooks.Load(), nil, "hooks are left")
	ran := false
	New(func(*Yielder[int, int], int) int { ran = true; return 0 }).Resume(0)
	testenv.True(t, ran, "a coroutine without hooks")
}

// TestHooksAndLocals: hooks have the coroutine's Locals, which are dropped
// after the last End.
func TestHooksAndLocals(t *testing.T) {
	hookWorld(t, func(t *testing.T, run func(body func())) {
		var order []string
		l := NewLocal(LocalOptions[string]{Drop: func(s *string) {
			order = append(order, "drop "+*s)
		}})
		defer AddHooks(Hooks{
			Start: func() { l.Set("hook's") },
			End:   func() { order = append(order, "end "+*l.Get()) },
		})()
		for how, end := range ways {
			order = nil
			run(func() {
				order = append(order, "body "+*l.Get())
				l.Set("body's")
				end()
			})
			want := []string{"body hook's", "end body's", "drop body's"}
			testenv.True(t, slices.Equal(order, want), "%s: %v, want %v", how, order, want)
		}
	})
}

// TestHooksFail: a Start that panics is the coroutine's panic, and so is an
// End; the others' End functions run.
func TestHooksFail(t *testing.T) {
	hookWorld(t, func(t *testing.T, run func(body func())) {
		for how, fail := range ways {
			if how == "return" {
				continue
			}
			var order []string
			note := func(s string) func() { return func() { order = append(order, s) } }
			removes := []func(){
				AddHooks(Hooks{End: note("end 1")}),
				AddHooks(Hooks{Start: func() { note("start 2")(); fail() }, End: note("end 2")}),
				AddHooks(Hooks{Start: note("start 3"), End: note("end 3")}),
			}
			run(note("body"))
			if want := []string{"start 2", "end 1"}; !slices.Equal(order, want) {
				t.Errorf("Start fails by %s: %v, want %v", how, order, want)
			}
			removes[1]()
			order = nil
			removes = append(removes, AddHooks(Hooks{End: func() { note("end 4")(); fail() }}))
			run(note("body"))
			want := []string{"start 3", "body", "end 4", "end 3", "end 1"}
			testenv.True(t, slices.Equal(order, want), "End fails by %s: %v, want %v", how, order,
				want)
			for _, remove := range removes {
				remove()
			}
		}
	})
	defer AddHooks(Hooks{Start: func() { panic("in Start") }})()
	e := panicking(t, func() { New(sum).Resume(0) })
	testenv.Equal(t, e.Value, "in Start", "Resume panics with")
}

// TestHooksChange: hooks are added and taken out while coroutines start and
// end.
func TestHooksChange(t *testing.T) {
	var wg sync.WaitGroup
	started := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			<-started
			for range testenv.Rounds(2000) {
				remove := AddHooks(Hooks{Start: func() {}, End: func() {}})
				AddHooks(Hooks{})()
				remove()
			}
		})
		wg.Go(func() {
			<-started
			on(plain, func(ex *Executor) {
				for range testenv.Rounds(2000) {
					ex.Spawn(Spawn{Fn: Yield})
					New(sum).Resume(-1)
					Yield()
				}
			})
		})
	}
	close(started)
	wg.Wait()
	testenv.Equal(t, hooks.Load(), nil, "hooks are left")
}
