package processor

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/clock"
)

// mover moves connections at random until it is stopped.
func mover(g *Group) (stop func()) {
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !over.Load() {
			from, to := g.members[rand.IntN(len(g.members))], g.members[rand.IntN(len(g.members))]
			if from != to {
				from.requestMove(to, 1+rand.IntN(8))
			}
			unix.Nanosleep(&unix.Timespec{Nsec: 50_000}, nil)
		}
	})
	return func() {
		over.Store(true)
		wg.Wait()
	}
}

// TestMoveHammer moves connections all the time while they are used: those with
// coroutines, those that are Watches, of which half have deadlines that pass
// now and then, and those that end. Each byte comes once and in order.
func TestMoveHammer(t *testing.T) {
	within(t, 2*time.Minute)
	for _, members := range []int{2, 4} {
		g := roaming(t, members)
		stop := mover(g)
		end := time.Now().Add(time.Duration(scaled(4_000)) * time.Millisecond)
		var wg sync.WaitGroup
		var sent, lives atomic.Int64
		for i := range 24 {
			p := g.members[i%members]
			wg.Go(func() {
				for time.Now().Before(end) {
					lives.Add(1)
					if i%2 == 0 {
						sent.Add(useLine(t, p, i))
					} else {
						sent.Add(useWatch(t, p, i))
					}
				}
			})
		}
		wg.Wait()
		stop()
		for _, p := range g.members {
			p.moveRequest.Store(nil)
		}
		quiet(t, g)
		moved := uint64(0)
		for _, p := range g.members {
			moved += p.Stats.Moved.Load()
		}
		if moved == 0 && context.Direct() {
			t.Error("none has moved")
		}
		t.Logf("%d Processors: %d connections, %d bytes, %d moves of coroutines", members,
			lives.Load(), sent.Load(), moved)
	}
}

// pauseNow is what lies between two bytes.
func pauseNow() {
	if rand.IntN(4) == 0 {
		unix.Nanosleep(&unix.Timespec{Nsec: rand.Int64N(200_000)}, nil)
	}
}

// useLine sends bytes to a coroutine that reads them.
func useLine(t *testing.T, p *Processor, i int) int64 {
	l := newLine(t)
	n := 1 + rand.IntN(200)
	h := p.Open(func() {
		for next := 0; next < n; {
			if rand.IntN(8) == 0 {
				l.pd.SetDeadline(Read, clock.Now()+rand.Int64N(100_000))
			}
			b, v := l.read()
			switch v {
			case Try:
				if b != byte(next) {
					t.Errorf("byte %d is %d", next, b)
				}
				next++
			case Timeout:
				l.pd.SetDeadline(Read, 0)
			default:
				t.Errorf("a read ended with %d", v)
				return
			}
			if rand.IntN(16) == 0 {
				Sleep(time.Duration(rand.IntN(50_000)))
			}
		}
	})
	for b := range n {
		l.send(byte(b))
		pauseNow()
	}
	h.Join()
	l.close()
	return int64(n)
}

// useWatch sends bytes to a Watch, whose coroutines read them.
func useWatch(t *testing.T, p *Processor, i int) int64 {
	a := newArmer(t)
	n := 1 + rand.IntN(200)
	if i%4 == 1 {
		a.pd.SetDeadline(Read, clock.Now()+1e12)
	}
	a.x.Begin(nil, p)
	for b := range n {
		a.send(byte(b))
		if pauseNow(); rand.IntN(8) == 0 {
			a.pd.Unblock(Read)
		}
	}
	switch rand.IntN(3) {
	case 0:
		for a.read.Load() < int64(n) {
			runtime.Gosched()
		}
		a.pd.Evict()
	case 1:
		for a.read.Load() < int64(n) {
			runtime.Gosched()
		}
		a.pd.SetDeadline(Read, clock.Now()+rand.Int64N(100_000))
	default:
		unix.Shutdown(a.peer, unix.SHUT_WR)
	}
	<-a.ended
	if got := a.read.Load(); got != int64(n) {
		t.Errorf("%d bytes of %d have been read", got, n)
	}
	a.close()
	return int64(n)
}

// TestEndWhileMoving: the group ends while connections move, by itself or by
// force, with nothing left behind.
func TestEndWhileMoving(t *testing.T) {
	within(t, 2*time.Minute)
	for round := range max(scaled(200), 4) {
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
		if g.Active() {
			t.Errorf("round %d: something lives", round)
		}
		for _, p := range g.members {
			if p.ex.Stats.Live.Load() != 0 || p.ex.Stats.Workers.Load() != 0 ||
				p.sub.coming != 0 || p.watches.Load() != 0 {
				t.Errorf("round %d: %d live, %d workers", round, p.ex.Stats.Live.Load(),
					p.ex.Stats.Workers.Load())
			}
		}
		for i := range lines {
			lines[i].close()
			armers[i].close()
		}
	}
}
