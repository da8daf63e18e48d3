package coroutine_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
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
	testenv.Equal(t, initialGot, [3]int{1, 3, 6}, "it gave")
	testenv.Equal(t, testenv.Err(initial.Resume(1)), coroutine.ErrWrongThread,
		"Resume by another goroutine")
}

// Packages are initialised under a lock of the runtime's own, which is gone
// when main runs; one of LockOSThread's stays. See coroutine.TestLockedInInit.
func init() {
	if os.Getenv(coroutine.LockedInitVar) == "" {
		return
	}
	runtime.LockOSThread()
	f := coroutine.New(total)
	f.Resume(1)
	coroutine.New(total).Resume(-1)
	coroutine.New(total).Resume(1) // and nothing refers to it
	coroutine.LockedInInit = func() { afterLockedInit(f) }
}

func afterLockedInit(f coroutine.Fiber[int, int]) {
	for range 2 {
		if _, err := f.Resume(1); err != coroutine.ErrThreadLocked {
			fmt.Println("Resume:", err)
		}
		if err := f.Cancel(); err != coroutine.ErrThreadLocked {
			fmt.Println("Cancel:", err)
		}
		runtime.GC() // nothing is to end the abandoned one here
		g := coroutine.New(total)
		if v, err := g.Resume(4); v != 4 || err != nil {
			fmt.Println("another:", v, err)
		}
		if err := g.Cancel(); err != nil {
			fmt.Println("its Cancel:", err)
		}
		runtime.UnlockOSThread()
	}
	runtime.KeepAlive(f)
	fmt.Println("over")
}
