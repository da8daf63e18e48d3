package processor

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// TestTurn: asleep, with a coroutine, or in the loop; and after a sleep the
// turn begins at its end.
func TestTurn(t *testing.T) {
	within(t, 30*time.Second)
	g := started(t, 1)
	p := g.members[0]
	eventually(t, "sleep", func() bool { return p.Turn().Asleep })
	if p.Turn().Coroutine != nil {
		t.Error("a coroutine in its sleep")
	}
	slept := clock.Now()
	entered, hold := make(chan *coroutine.Coroutine), make(chan int)
	h := p.Pinned(func() {
		entered <- coroutine.Current()
		<-hold
	})
	co := <-entered
	a, b := p.Turn(), p.Turn()
	if a != b || a.Asleep || a.Coroutine != co || a.Number == 0 || a.Start < slept || a.Start > clock.Now() {
		t.Errorf("%+v, then %+v; slept until after %d", a, b, slept)
	}
	close(hold)
	if err := h.Join(); err != nil {
		t.Error(err)
	}
	eventually(t, "another turn", func() bool { return p.Turn().Number > a.Number })
}

// TestNoOldTurnAfterSleep: no look finds a Processor awake in a turn that began
// before its sleep.
func TestNoOldTurnAfterSleep(t *testing.T) {
	within(t, 3*time.Minute)
	g := started(t, 1)
	p := g.members[0]
	caught := 0
	for i, began := 0, time.Now(); i < scaled(2000) && (i < 10 || time.Since(began) < 10*time.Second); i++ {
		var asleep Turn
		eventually(t, "sleep", func() bool { asleep = p.Turn(); return asleep.Asleep })
		old := int64(p.Stats.TurnStart.Load())
		if now := p.Turn(); now != asleep || !p.ep.Sleeping() {
			continue // it was woken for something else, or is about to wake: then old is of after its sleep
		}
		p.Wake()
		now := asleep
		for n := 1; now.Asleep && now.Number == asleep.Number; n++ {
			if now = p.Turn(); n%1000 == 0 {
				runtime.Gosched() // with one CPU it wakes only then
			}
		}
		if now.Asleep || now.Number != asleep.Number {
			continue
		}
		if caught++; now.Start == old {
			t.Fatalf("awake in the turn that began at %d, before its sleep", old)
		}
	}
	t.Logf("seen just after its sleep %d times", caught)
}

// TestPauseHammer: who watches dozes whenever it can, and never misses a
// Processor that gets stuck meanwhile: each coroutine blocks its thread until
// it has been seen, and only a wake from the doze lets it be.
func TestPauseHammer(t *testing.T) {
	within(t, 2*time.Minute)
	const members = 2
	g := started(t, members)
	stop, ended := make(chan struct{}), make(chan struct{})
	var dozed atomic.Int32
	hold := make(chan struct{}) // has one taker for each coroutine that is stuck
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, p := range g.members {
				if turn := p.Turn(); turn.Coroutine != nil {
					select {
					case hold <- struct{}{}:
					default: // it is not that far yet, or has been seen
					}
				}
			}
			runtime.Gosched()
			if g.BeginPause() {
				dozed.Add(1)
				select {
				case <-g.Resumed():
				case <-stop:
				}
				g.EndPause()
			}
		}
	}()
	for i, began := 0, time.Now(); i < scaled(1000) && (i < 10 || time.Since(began) < 10*time.Second); i++ {
		on(t, g.members[i%members], func() { <-hold })
	}
	eventually(t, "a doze", func() bool { return dozed.Load() > 0 })
	close(stop)
	<-ended
	t.Logf("dozed %d times", dozed.Load())
}
