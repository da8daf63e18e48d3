package coroutine_test

import (
	"testing"

	"github.com/netco-go/netco/coroutine"
)

// initial was made and run while the package was initialised, which is on the
// main thread and locked to it.
var initial, initialGot = func() (f coroutine.Fiber[int, int], got [3]int) {
	f = coroutine.New(total)
	for i := range got {
		got[i], _ = f.Resume(i + 1)
	}
	coroutine.New(total).Resume(-1)
	return f, got
}()

// total yields the sum of what it has been given; at a negative number it ends
// with that.
func total(y *coroutine.Yielder[int, int], in int) int {
	sum := 0
	for in >= 0 {
		sum += in
		in, _ = y.Yield(sum)
	}
	return in
}

func TestInInit(t *testing.T) {
	if initialGot != [3]int{1, 3, 6} {
		t.Errorf("it gave %v", initialGot)
	}
	if _, err := initial.Resume(1); err != coroutine.ErrWrongThread {
		t.Errorf("Resume by another goroutine: %v", err)
	}
}
