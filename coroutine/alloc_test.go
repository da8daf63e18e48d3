package coroutine

import (
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestAllocs: none of these allocates in a steady state.
func TestAllocs(t *testing.T) {
	testenv.NoRace(t)
	on(plain, func(ex *Executor) {
		co := Current()
		stop := false
		ex.Spawn(Spawn{Fn: func() {
			for !stop {
				Yield()
			}
		}})
		nop := func() {}
		var ticket uint64
		waker := func() { co.MakeReady(ticket, WakeReady) }
		for name, f := range map[string]func(){
			"Yield":      Yield,
			"Current":    func() { Current() },
			"spawn+end":  func() { ex.Spawn(Spawn{Fn: nop}); Yield() },
			"spawn+join": func() { ex.Spawn(Spawn{Fn: nop}).Handle().Join() },
			"park+ready": func() {
				ticket = co.Ticket()
				ex.Spawn(Spawn{Fn: waker})
				co.Park(ReasonUser)
			},
			"park, early": func() { co.MakeReady(co.Ticket(), WakeReady); co.Park(ReasonUser) },
		} {
			for range 100 {
				f()
			}
			testenv.Equal(t, testenv.Allocs(2000, f), 0, name, "allocations")
		}
		stop = true
	})
}
