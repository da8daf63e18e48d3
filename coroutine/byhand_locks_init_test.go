package coroutine_test

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
)

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
		for end := time.Now().Add(20 * time.Second); asm.LocksKnown() && !coroutine.Retired() && time.Now().Before(end); {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
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
