package processor

import (
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
)

// TestAllocs: none of these allocates in a steady state.
func TestAllocs(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	g := started(t, 1)
	on(t, g.members[0], func() {
		p := Here()
		nop := func() {}
		for name, f := range map[string]func(){
			"Sleep":     func() { Sleep(time.Nanosecond) },
			"Sleep(0)":  func() { Sleep(0) },
			"Yield":     coroutine.Yield,
			"Here":      func() { Here() },
			"spawn+end": func() { p.Spawn(nop, "", 0); coroutine.Yield() },
			"submit":    func() { p.Submit(p, nop, "", 0, true).Join() },
		} {
			for range 200 {
				f()
			}
			if n := testing.AllocsPerRun(500, f); n != 0 {
				t.Errorf("%s: %v allocations", name, n)
			}
		}
	})
}
