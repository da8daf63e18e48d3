package processor

import (
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

// armer arms a Watch anew each time it is woken.
type armer struct {
	*line
	x     Watch
	calls atomic.Int64
	ended chan Verdict
	read  atomic.Int64 // bytes
}

func newArmer(t testing.TB) *armer {
	a := &armer{line: newLine(t), ended: make(chan Verdict, 1)}
	a.x.Init(&a.pd, a)
	return a
}

func (a *armer) Readable() {
	a.calls.Add(1)
	if err := a.x.Bind(a.fd); err != nil {
		panic(err)
	}
	for {
		var b [64]byte
		a.pd.Clear(Read)
		n, err := unix.Read(a.fd, b[:])
		a.read.Add(int64(max(n, 0)))
		if err == nil && n > 0 {
			continue
		}
		v := a.pd.Check(Read)
		if v == Try && Current().group.Phase() >= Draining {
			v = Shutdown
		}
		if v != Try || n == 0 {
			a.ended <- v
			return
		}
		armed, err := a.x.Arm(a.fd)
		if err != nil {
			panic(err)
		}
		if armed {
			return
		}
	}
}

// armed starts an armer on p and waits until it is armed.
func armed(t testing.TB, p *Processor, deadline int64) *armer {
	a := newArmer(t)
	a.pd.SetDeadline(Read, deadline)
	a.x.Begin(nil, p)
	testenv.Until(t, "it is armed", func() bool { return a.waits() && p.Watches() > 0 })
	return a
}

// TestWatchInheritsNothing: a coroutine that polls hands nothing on to the
// coroutines of the Watches that its poll wakes. It did, to those of other
// connections, and only where a coroutine and not the loop polled.
func TestWatchInheritsNothing(t *testing.T) {
	var inherits atomic.Bool
	id := coroutine.NewLocal(coroutine.LocalOptions[int]{
		Inherit: func(id *int) int { inherits.Store(true); return *id },
	})
	p := started(t, 1).members[0]
	a := armed(t, p, 0)
	testenv.NoError(t, p.Pinned(func() {
		id.Set(1)
		testenv.Must(unix.Write(a.peer, []byte{1}))
		YieldTurn()
	}).Join())
	testenv.Until(t, "the byte is read", func() bool { return a.read.Load() == 1 })
	testenv.True(t, !inherits.Load(), "it inherits from the coroutine that has polled")
	a.pd.Evict()
	<-a.ended
	a.close()
}

// TestMovedWatchesUnderLimit: coroutines of Watches that end on another
// Processor than they began on make room on the former.
func TestMovedWatchesUnderLimit(t *testing.T) {
	needMoves(t)
	g := NewGroup(nil)
	g.SetMaxCoroutines(4)
	startRoaming(t, g, 2)
	stop := mover(g)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for range max(testenv.Rounds(200), 10) {
				w := newLine(t)
				done := make(chan struct{})
				x := new(Watch)
				x.Init(&w.pd, readerFunc(func() {
					defer close(done)
					x.Bind(w.fd)
					for range 5 {
						w.read()
					}
				}))
				x.Begin(nil, g.members[i%2])
				for range 5 {
					w.send(1)
					pauseNow()
				}
				<-done
				w.close()
			}
		})
	}
	wg.Wait()
	stop()
	for _, p := range g.members {
		p.moveRequest.Store(nil)
	}
	quiet(t, g)
	for i, p := range g.members {
		testenv.Equal(t, p.woken.alive.Load(), 0, "Processor", i, "counts N coroutines of Watches")
	}
}

type readerFunc func()

func (f readerFunc) Readable() { f() }
