package waitq

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/inside"
)

// Guard is a spin lock for some tens of instructions without a blocking call.
// Go or the operating system can preempt its holder, so a locker spins only
// briefly before it lets others run. The zero value is unlocked.
type Guard struct {
	held atomic.Uint32 // 0 or 1
}

// Lock locks g.
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

// Unlock unlocks g.
func (g *Guard) Unlock() { g.held.Store(0) }

// Relax spins in the first rounds, yields the thread in the next, then sleeps.
const (
	spinPauses = 8 // per round; a pause instruction takes 3 to 10 ns
	spinRounds = 30
	schedRound = spinRounds + 20
	sleepFor   = 20 * time.Microsecond
)

// canSpin says whether another thread can run while this one spins.
var canSpin = runtime.NumCPU() > 1

// Relax delays the caller in round i of a wait for something that another
// thread brings about within a few instructions. If Go has preempted that
// thread, Gosched lets it run; if the operating system has, a sleep does. In a
// bubble of testing/synctest there is no sleep: it would let the bubble's clock
// advance.
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
