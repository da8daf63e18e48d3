package processor

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestPause: a pause begins only while all sleep, and what has ended one does
// not end the next.
func TestPause(t *testing.T) {
	g := newGroup(t, 2)
	defer g.Discard()
	for i, p := range g.members {
		for _, ps := range []*pauseState{&g.watchdogPause, &g.monitorPause} {
			testenv.True(t, !ps.begin(g) && !ps.pausing.Load(), "%d asleep: a pause", i)
			g.resumeWatchers()
			testenv.Equal(t, len(ps.resumed), 0, "resumed without a pause")
		}
		p.time.asleep(1)
	}
	for range 2 {
		for _, ps := range []*pauseState{&g.watchdogPause, &g.monitorPause} {
			testenv.True(t, ps.begin(g) && len(ps.resumed) == 0, "no pause")
			g.resumeWatchers()
			testenv.Equal(t, len(ps.resumed), 1, "resumed")
			ps.end()
		}
	}
}

// TestPauseHammer: a watcher pauses whenever it can, and never misses a
// Processor that gets stuck meanwhile: each coroutine blocks its thread until
// the watcher has seen it, which in a pause takes a resume.
func TestPauseHammer(t *testing.T) {
	const members = 2
	g := started(t, members)
	stop, ended := make(chan struct{}), make(chan struct{})
	var paused atomic.Int32
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
				paused.Add(1)
				select {
				case <-g.Resumed():
				case <-stop:
				}
				g.EndPause()
			}
		}
	}()
	for i := range strikes(testenv.Rounds(1000), 10) {
		on(t, g.members[i%members], func() { <-hold })
	}
	testenv.Until(t, "a pause", func() bool { return paused.Load() > 0 })
	close(stop)
	<-ended
	t.Logf("paused %d times", paused.Load())
}
