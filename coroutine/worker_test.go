package coroutine

import "testing"

// TestLoopMakesWorkers: a coroutine that parks does not make the goroutine of the one that starts next. What that allocates would
// double the stack of the one that parks; see wantsWorker.
func TestLoopMakesWorkers(t *testing.T) {
	on(Config{Idle: 8, Handoff: true}, func(ex *Executor) {
		const n = 100
		made, byLoop := ex.Stats.Made.Own(), ex.Stats.ByLoop.Own()
		var parked []*Coroutine
		for range n {
			parked = append(parked, ex.Spawn(func() { Current().Park(ReasonUser) }, "", 0))
		}
		Yield() // the loop counts at the end of its turn
		YieldTurn()
		made, byLoop = ex.Stats.Made.Own()-made, ex.Stats.ByLoop.Own()-byLoop
		if made < n-1 || byLoop < made {
			t.Errorf("%d goroutines made, the loop gave the thread %d times", made, byLoop)
		}
		for _, co := range parked {
			ex.Ready(co, co.Ticket(), WakeReady)
		}
	})
}
