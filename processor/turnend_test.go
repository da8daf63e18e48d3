package processor

import (
	"testing"

	"github.com/netco-go/netco/internal/clock"
)

// TestTurnEnd: the end of a turn that was wanted can be had later, exactly.
// Who watched a turn took the time of the look that found it over.
func TestTurnEnd(t *testing.T) {
	g := started(t, 1)
	p := g.Members()[0]
	type stamps struct {
		turn   uint64
		ending int64
	}
	told := make(chan stamps)
	goOn := make(chan bool)
	p.Pinned(func() {
		s := stamps{turn: p.Stats.Turns.Load()}
		told <- s
		<-goOn // holds up the Processor
		s.ending = clock.Now()
		go func() { told <- s }()
	})
	s := <-told
	if _, ok := p.TurnEnd(s.turn); ok {
		t.Error("a turn has an end that was not asked for")
	}
	p.WantTurnEnd(s.turn)
	if _, ok := p.TurnEnd(s.turn); ok {
		t.Error("it has ended, while it goes on")
	}
	goOn <- true
	s = <-told
	eventually(t, "the turn to end", func() bool { return p.Stats.Turns.Load() > s.turn })
	after := clock.Now()
	if end, ok := p.TurnEnd(s.turn); !ok || end < s.ending || end > after {
		t.Errorf("it has ended at %d, %v; want %d to %d", end, ok, s.ending, after)
	}
	if _, ok := p.TurnEnd(s.turn + 1); ok {
		t.Error("another turn has ended")
	}
}
