package processor

import (
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
)

// join starts a coroutine from another and waits for its end.
func join(t *testing.T, g *Group, s coroutine.Spawn) {
	h, err := g.Go(Current(), nil, s)
	if err != nil {
		t.Error(err)
	}
	h.Join()
}

// TestAllocs: none of these allocates in a steady state.
func TestAllocs(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("the race detector allocates")
	}
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
			if n := testing.AllocsPerRun(500, f); n != 0 {
				t.Errorf("%s: %v allocations", name, n)
			}
		}
	})
}
