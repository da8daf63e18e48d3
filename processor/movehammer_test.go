package processor

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
)

// mover moves connections at random until it is stopped.
func mover(g *Group) (stop func()) {
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !over.Load() {
			from, to := g.members[rand.IntN(len(g.members))], g.members[rand.IntN(len(g.members))]
			if from != to {
				from.Give(to, 1+rand.IntN(8))
			}
			unix.Nanosleep(&unix.Timespec{Nsec: 50_000}, nil)
		}
	})
	return func() {
		over.Store(true)
		wg.Wait()
	}
}

// pauseNow is what lies between two bytes.
func pauseNow() {
	if rand.IntN(4) == 0 {
		unix.Nanosleep(&unix.Timespec{Nsec: rand.Int64N(200_000)}, nil)
	}
}

// TestEndWhileMoving: the group ends while connections move, by itself or by
// force, with nothing left behind.
func TestEndWhileMoving(t *testing.T) {
	for round := range max(testenv.Rounds(200), 4) {
		g := startRoaming(t, 3)
		stop := mover(g)
		var lines []*line
		var armers []*armer
		var over sync.WaitGroup
		for i := range 20 {
			l, a := newLine(t), newArmer(t)
			lines, armers = append(lines, l), append(armers, a)
			over.Add(1)
			g.members[i%3].Open(func() {
				defer over.Done()
				for {
					if _, v := l.read(); v != Try {
						return
					}
				}
			})
			a.x.Begin(nil, g.members[i%3])
		}
		for i := range rand.IntN(200) {
			lines[i%20].send(1)
			armers[i%20].send(1)
		}
		g.Advance(Draining) // Watches end
		for _, a := range armers {
			<-a.ended
		}
		if round%2 == 0 {
			for _, l := range lines {
				unix.Shutdown(l.peer, unix.SHUT_WR)
			}
			over.Wait()
		} else {
			g.Advance(Stopping)
		}
		end(g)
		over.Wait()
		stop()
		testenv.True(t, !g.Active(), "round %d: something lives", round)
		for _, p := range g.members {
			testenv.True(t, p.ex.Stats.Live.Load() == 0 && p.ex.Stats.Workers.Load() == 0 &&
				p.sub.coming == 0 && p.watches.Load() == 0, "round %d: %d live, %d workers", round,
				p.ex.Stats.Live.Load(), p.ex.Stats.Workers.Load())
		}
		for i := range lines {
			lines[i].close()
			armers[i].close()
		}
	}
}
