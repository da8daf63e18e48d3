package coroutine

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestYieldKeepsCallersFrame guards a trap of the assembly: runtime.coroswitch,
// when it is preempted at its entry, spills its argument into the frame of
// whoever called Yield, over a loop variable if no slot was reserved there.
func TestYieldKeepsCallersFrame(t *testing.T) {
	n := testenv.Rounds(300_000)
	var over atomic.Bool
	preempting := make(chan struct{})
	go func() {
		defer close(preempting)
		var m runtime.MemStats
		for !over.Load() {
			runtime.ReadMemStats(&m) // stops the world, which preempts the coroutines
		}
	}()
	ex := newExecutor()
	var count [2]int
	runAll(ex, func() {
		ex.Spawn(Spawn{Fn: func() {
			for range n {
				count[1]++
				Yield()
			}
		}})
		for range n {
			count[0]++
			Yield()
		}
	})
	over.Store(true)
	<-preempting
	testenv.Equal(t, count, [2]int{n, n}, "turns of the loops")
}
