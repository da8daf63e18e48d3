package waitq

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/inside"
)

// Guard is a spin lock for a few tens of instructions, without a call that could wait. Its holder can be preempted by Go or by the
// operating system, so who waits for it spins for a short while only.
type Guard struct {
	held atomic.Uint32 // 0 free, 1 held; free to held by whoever wants it, back by that one
}

// Lock takes the guard.
func (g *Guard) Lock() {
	atGuard(g)
	if g.held.CompareAndSwap(0, 1) {
		return
	}
	g.lockSlow()
}

func (g *Guard) lockSlow() {
	for i := 0; ; i++ {
		atGuard(g)
		if g.held.Load() == 0 && g.held.CompareAndSwap(0, 1) {
			return
		}
		Relax(i)
	}
}

// Unlock gives the guard back.
func (g *Guard) Unlock() { g.held.Store(0) }

// How long Relax spins, then lets others run, before it sleeps.
const (
	spinPauses = 8 // in each of the spins; a pause instruction takes some 10 ns, on older cores 3
	spinRounds = 30
	schedRound = spinRounds + 20
	sleepFor   = 20 * time.Microsecond
)

// canSpin says whether whoever is waited for can be running at the same time.
var canSpin = runtime.NumCPU() > 1

// Relax passes a moment in the i-th round of waiting for something that is due
// in a few instructions. The other may have been preempted by Go, then Gosched
// lets it run, or by the operating system, then a sleep does. In a bubble of
// testing/synctest a sleep would say that the caller waits for time to pass.
func Relax(i int) {
	switch {
	case i < spinRounds && canSpin:
		asm.Pause(spinPauses)
	case i < schedRound || clock.InBubble():
		runtime.Gosched()
	default:
		pinned := inside.Pin()
		time.Sleep(sleepFor)
		pinned.Unpin()
	}
}
