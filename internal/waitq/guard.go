package waitq

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/inside"
	"github.com/netco-go/netco/internal/invariant"
)

// Guard is a spin lock for some tens of instructions without a blocking call.
// Go or the operating system can preempt its holder, so a locker spins only
// briefly before it lets others run. The zero value is unlocked.
//
// Unlock wakes the waiters that the holder has claimed.
type Guard struct {
	Claims // under it
	mark   inside.Mark
	held   atomic.Uint32 // 0 or 1
}

// Lock locks g.
func (g *Guard) Lock() {
	atGuard(g)
	if !g.held.CompareAndSwap(0, 1) {
		g.lockSlow()
	}
	if invariant.Enabled {
		g.mark.Set()
	}
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

// Unlock unlocks g and wakes the claimed waiters. It does not park.
func (g *Guard) Unlock() {
	if g.last != nil {
		g.unlockSlow()
		return
	}
	if invariant.Enabled {
		g.mark.Clear()
	}
	g.held.Store(0)
}

func (g *Guard) unlockSlow() {
	u := Begin()
	u.Add(g.Release())
	u.Wake()
}

// Release unlocks g and returns the claimed waiters, for an Unlocking.
func (g *Guard) Release() Claims {
	claims := g.Detach()
	g.mark.Clear()
	g.held.Store(0)
	return claims
}

// Mutex is a Guard that may be held for longer: lockers block, and a Processor
// does not go on without a locker. The zero value is unlocked.
type Mutex struct {
	Claims // under it
	mu     inside.Mutex
}

// Lock locks m.
func (m *Mutex) Lock() { m.mu.Lock() }

// Unlock unlocks m and wakes the claimed waiters. It does not park.
func (m *Mutex) Unlock() {
	u := Begin()
	u.Add(m.Detach())
	m.mu.Unlock()
	u.Wake()
}

// Relax spins in the first rounds, yields the thread in the next, then sleeps.
const (
	spinPauses = 8 // per round; a pause instruction takes 3 to 10 ns
	spinRounds = 30
	schedRound = spinRounds + 20
	sleepFor   = 20 * time.Microsecond
)

// canSpin says whether another thread can run while this one spins.
var canSpin = runtime.NumCPU() > 1

// Relax delays the caller in round i of a wait for an action of another thread
// that takes a few instructions. If Go has preempted that thread, Gosched lets
// it run; if the operating system has, a sleep does. In a bubble of
// testing/synctest there is no sleep: it would let the bubble's clock advance.
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
