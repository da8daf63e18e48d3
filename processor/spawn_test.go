package processor

import (
	"errors"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
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
			within(t, 30*time.Second)
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
			h, err := g.Go(nil, g.members[0], coroutine.Spawn{Fn: func() {
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
			}})
			if err != nil {
				t.Fatal(err)
			}
			h.Join()
			if !c.at(g, ran) || name != "x" {
				t.Errorf("%q ran on Processor %d", name, ran.Index())
			}
			if before && stays != c.stays {
				t.Errorf("it stays: %t, want %t", stays, c.stays)
			}
			if before && caller == c.pinned {
				t.Errorf("the caller can move: %t, want %t", caller, !c.pinned)
			}
		})
	}
}

// TestGoRefused: what keeps a coroutine from starting, and that no permit and
// no token stays behind.
func TestGoRefused(t *testing.T) {
	within(t, 30*time.Second)
	g := limited(t, 1, 2)
	p, refused, nop := g.members[0], 0, func() {}
	g.OnRefused = func() { refused++ }
	var hold latch
	var full []coroutine.Handle
	for range 2 {
		h, err := g.Go(nil, nil, coroutine.Spawn{Fn: hold.wait})
		if err != nil {
			t.Fatal(err)
		}
		full = append(full, h)
	}
	for _, on := range []*Processor{nil, p} {
		_, err := g.Go(nil, on, spawnOf(nop, on != nil, false))
		if !errors.Is(err, ErrTooManyCoroutines) {
			t.Errorf("at the limit: %v", err)
		}
	}
	if refused != 2 || g.Refused() != 2 {
		t.Errorf("the hook was called %d times, and %d refusals counted, want 2", refused,
			g.Refused())
	}
	h, err := g.Go(nil, nil, spawnOf(nop, false, true))
	if err != nil {
		t.Errorf("the library's own: %v", err)
	}
	hold.lift()
	for _, h := range append(full, h) {
		h.Join()
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a nil func is accepted")
			}
		}()
		g.Go(nil, nil, coroutine.Spawn{})
	}()
	g.Advance(Draining)
	on(t, p, func() { // from inside it still starts
		if _, err := g.Go(p, nil, coroutine.Spawn{Fn: nop}); err != nil {
			t.Error(err)
		}
	})
	g.Advance(Stopping)
	if _, err := g.Go(nil, nil, coroutine.Spawn{Fn: nop}); !errors.Is(err, coroutine.ErrShutdown) {
		t.Errorf("at the end: %v", err)
	}
	eventually(t, "nothing lives", func() bool { return !g.Active() && g.limit.live.Load() == 0 })
}
