package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netco-go/netco/fiber"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestInTurn: the numbers come in turn, and the last one with the end.
func TestInTurn(t *testing.T) {
	var out strings.Builder
	if err := inTurn(&out); err != nil {
		t.Fatal(err)
	}
	want := "main start\n"
	for i := range 5 {
		want += fmt.Sprintf("coroutine 0 : %d\ncoroutine 1 : %d\n", i, 100+i)
	}
	if want += "main end\n"; out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// TestInARing: control goes round without the main program, which gets what the
// one that ends returns.
func TestInARing(t *testing.T) {
	var out strings.Builder
	if err := inARing(&out); err != nil {
		t.Fatal(err)
	}
	want := ""
	for i := range 10 {
		want += fmt.Sprintf("coroutine %d has %d\n", i%3, i)
	}
	want += "coroutine 1 ends\nmain has 10\ncoroutine 0 ends\ncoroutine 2 ends\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// TestMisuse does what is undefined, or an assertion, in the libraries that
// this is for. Each is an error here, and harmless.
func TestMisuse(t *testing.T) {
	type intFiber = fiber.Fiber[int, int]
	type yielder = fiber.Yielder[int, int]
	want := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	resume := func(f intFiber) error { _, err := f.Resume(0); return err }

	ended := fiber.New(func(*yielder, int) int { return 1 })
	want("its only resume", resume(ended), nil)
	want("resume of one that has ended", resume(ended), fiber.ErrDead)
	want("cancel of one that has ended", ended.Cancel(), nil)

	var outer, inner intFiber
	var seen *yielder
	var ids []uint64
	inner = fiber.New(func(y *yielder, _ int) int {
		ids = append(ids, fiber.RunningID())
		want("resume of who has resumed it", resume(outer), fiber.ErrRunning)
		want("resume of itself", resume(inner), fiber.ErrRunning)
		want("the outer one inside", outer.Status(), fiber.Normal)
		want("the inner one inside", inner.Status(), fiber.Running)
		_, err := y.Transfer(inner, 0)
		want("transfer to itself", err, fiber.ErrTransferSelf)
		_, err = y.Transfer(ended, 0)
		want("transfer to one that has ended", err, fiber.ErrDead)
		_, err = seen.Yield(0)
		want("yield of another", err, fiber.ErrOutside)
		y.Yield(2)
		return 0
	})
	outer = fiber.New(func(y *yielder, _ int) int {
		seen = y
		ids = append(ids, fiber.RunningID())
		want("resume from within", resume(inner), nil)
		return 0
	})
	want("the outer one before", outer.Status(), fiber.Created)
	want("resume", resume(outer), nil)
	want("the outer one outside", outer.Status(), fiber.Dead)
	want("the inner one outside", inner.Status(), fiber.Suspended)
	if len(ids) != 2 || ids[0] != outer.ID() || ids[1] != inner.ID() || fiber.RunningID() != 0 {
		t.Errorf("running: %v, then %d; IDs %d, %d", ids, fiber.RunningID(), outer.ID(), inner.ID())
	}
	other := make(chan error)
	go func() { other <- resume(inner) }()
	want("resume on another goroutine", <-other, fiber.ErrWrongThread)
	want("cancel", inner.Cancel(), nil)
	want("the inner one after its end", inner.Status(), fiber.Dead)
}

// TestDeep nests deeper than the 128 that libco's stack of callers holds.
func TestDeep(t *testing.T) {
	const deep = 1000
	var level func(n int) fiber.Fiber[int, int]
	level = func(n int) fiber.Fiber[int, int] {
		return fiber.New(func(_ *fiber.Yielder[int, int], sum int) int {
			if n == 0 {
				return sum
			}
			sum, err := level(n - 1).Resume(sum + 1)
			if err != nil {
				t.Errorf("at %d: %v", n, err)
			}
			return sum
		})
	}
	if n, err := level(deep).Resume(0); n != deep || err != nil {
		t.Errorf("%d, %v, want %d", n, err, deep)
	}
}
