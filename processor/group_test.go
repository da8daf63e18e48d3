package processor

import (
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

// TestPhases: a group never goes back to an earlier phase, and calls
// OnDraining's functions once, those that come too late at once, and none that
// was taken back.
func TestPhases(t *testing.T) {
	g := started(t, 1)
	var calls string
	add := func(name string) (stop func()) {
		return g.OnDraining(func() { calls += name })
	}
	stop := add("early")
	add("stopped")()
	for _, to := range []Phase{Running, Draining, Running, Stopping, Draining} {
		g.Advance(to)
	}
	testenv.Equal(t, g.Phase(), Stopping)
	testenv.Equal(t, calls, "early")
	stop()
	late := add("late")
	testenv.Equal(t, calls, "earlylate")
	late()
	g.Advance(Stopped)
	testenv.Equal(t, calls, "earlylate")
}

// TestStartHere: a coroutine that another one starts on its Processor counts
// against the limit.
func TestStartHere(t *testing.T) {
	p := limited(t, 1, 2).members[0]
	on(t, p, func() { // the first of two
		h, err := p.StartHere(coroutine.Spawn{Fn: func() {}})
		testenv.NoError(t, err)
		_, refused := p.StartHere(coroutine.Spawn{Fn: func() {}})
		testenv.Fails(t, refused, ErrTooManyCoroutines)
		testenv.NoError(t, h.Join())
		h, err = p.StartHere(coroutine.Spawn{Fn: func() {}})
		testenv.NoError(t, err)
		testenv.NoError(t, h.Join())
	})
}
