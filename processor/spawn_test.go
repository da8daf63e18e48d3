package processor

import (
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

// starts are for TestGo: each is called in a coroutine of the first of three
// Processors.
var starts = []struct {
	name   string
	how    coroutine.Spawn
	on     int                                 // the Processor that it names; -1 for none
	at     func(g *Group, ran *Processor) bool // whether it ran where it should
	stays  bool                                // the new one may not move
	pinned bool                                // nor may the caller from then on
}{
	{"anywhere", coroutine.Spawn{}, -1,
		func(g *Group, ran *Processor) bool { return ran != nil }, false, false},
	{"on another", spawnOf(nil, true, false), 2,
		func(g *Group, ran *Processor) bool { return ran == g.members[2] }, true, false},
	{"on the caller's", spawnOf(nil, true, false), 0,
		func(g *Group, ran *Processor) bool { return ran == g.members[0] }, true, false},
	{"local", coroutine.Spawn{Local: true}, -1,
		func(g *Group, ran *Processor) bool { return ran == g.members[0] }, true, true},
}

// TestGo: a coroutine starts where its Spawn says, with its name, and it and
// the caller stay there if they are to.
func TestGo(t *testing.T) {
	for _, c := range starts {
		t.Run(c.name, func(t *testing.T) {
			g := roaming(t, 3)
			sp := c.how
			var on *Processor
			if c.on >= 0 {
				on = g.members[c.on]
			}
			var ran *Processor
			var name string
			var stays bool
			sp.Name, sp.Fn = "x", func() {
				co := coroutine.Current()
				ran, name, stays = Current(), co.Name(), !co.Movable()
			}
			var caller, before bool
			h := testenv.Must(g.Go(nil, g.members[0], coroutine.Spawn{Fn: func() {
				before = coroutine.Current().Movable()
				here := Current()
				ends, err := g.Go(here, on, sp)
				if err != nil {
					t.Error(err)
				}
				caller = coroutine.Current().Movable()
				for !ends.Done() {
					Sleep(time.Microsecond)
				}
			}}))
			h.Join()
			testenv.True(t, c.at(g, ran) && name == "x", "%q ran on Processor %d", name,
				ran.Index())
			testenv.True(t, !before || stays == c.stays, "it stays: %t, want %t", stays, c.stays)
			if before && caller == c.pinned {
				t.Errorf("the caller can move: %t, want %t", caller, !c.pinned)
			}
		})
	}
}

// TestGoRefused: what keeps a coroutine from starting, and that no permit and
// no token stays behind.
func TestGoRefused(t *testing.T) {
	g := limited(t, 1, 2)
	p, refused, nop := g.members[0], 0, func() {}
	g.OnRefused = func() { refused++ }
	var hold latch
	var full []coroutine.Handle
	for range 2 {
		h := testenv.Must(g.Go(nil, nil, coroutine.Spawn{Fn: hold.wait}))
		full = append(full, h)
	}
	for _, on := range []*Processor{nil, p} {
		_, err := g.Go(nil, on, spawnOf(nop, on != nil, false))
		testenv.Fails(t, err, ErrTooManyCoroutines, "at the limit")
	}
	testenv.True(t, refused == 2 && g.Refused() == 2,
		"the hook was called %d times, and %d refusals counted, want 2", refused, g.Refused())
	h, err := g.Go(nil, nil, spawnOf(nop, false, true))
	testenv.Fails(t, err, nil, "the library's own")
	hold.lift()
	for _, h := range append(full, h) {
		h.Join()
	}
	func() {
		defer func() {
			testenv.True(t, recover() != nil, "a nil func is accepted")
		}()
		g.Go(nil, nil, coroutine.Spawn{})
	}()
	g.Advance(Draining)
	on(t, p, func() { // from inside it still starts
		testenv.NoError(t, testenv.Err(g.Go(p, nil, coroutine.Spawn{Fn: nop})))
	})
	g.Advance(Stopping)
	testenv.Fails(t, testenv.Err(g.Go(nil, nil, coroutine.Spawn{Fn: nop})), coroutine.ErrShutdown,
		"at the end")
	testenv.Until(t, "nothing lives", func() bool {
		return !g.Active() && g.limit.live.Load() == 0
	})
}
