package sync_test

import (
	stdsync "sync"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// crowd runs f(i) for i from 0 to n-1, each in a coroutine of Processor 0 or 1
// or, every third, in a goroutine, and returns when all have ended.
func crowd(t testing.TB, n int, f func(i int)) {
	t.Helper()
	var wg stdsync.WaitGroup
	for i := range n {
		wg.Add(1)
		run := func() {
			defer wg.Done()
			f(i)
		}
		on := netco.OnProcessor(i % 3)
		if i%3 == 2 {
			go run()
		} else if _, err := netco.GoWith(netco.Spawn{On: on, Fn: run}); err != nil {
			t.Error(err)
			wg.Done()
		}
	}
	wg.Wait()
}
