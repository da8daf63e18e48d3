package processor

import (
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

// join starts a coroutine from another and waits for its end.
func join(t *testing.T, g *Group, s coroutine.Spawn) {
	h, err := g.Go(Current(), nil, &s)
	testenv.NoError(t, err)
	h.Join()
}

// TestAllocs: none of these allocates in a steady state.
func TestAllocs(t *testing.T) {
	testenv.NoRace(t)
	g := started(t, 1)
	on(t, g.members[0], func() {
		p := Current()
		nop := func() {}
		for name, f := range map[string]func(){
			"Sleep":     func() { Sleep(time.Nanosecond) },
			"Sleep(0)":  func() { Sleep(0) },
			"Yield":     coroutine.Yield,
			"Current":   func() { Current() },
			"pinned":    func() { p.PinnedHere(nop); coroutine.Yield() },
			"submitted": func() { join(t, g, coroutine.Spawn{Fn: nop}) },
			"local":     func() { join(t, g, coroutine.Spawn{Fn: nop, Local: true}) },
		} {
			for range 200 {
				f()
			}
			testenv.Equal(t, testing.AllocsPerRun(500, f), 0, name, "allocations")
		}
	})
}
