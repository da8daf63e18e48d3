package rwmutex

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/asm"
)

// spinLock guards the queue. It is held for tens of instructions, without a call that could wait; but its holder can
// be preempted by Go or by the operating system, so who waits for it spins for a short while only.
type spinLock struct {
	held atomic.Uint32 // 0 free, 1 held; free to held by whoever wants it, back by that one
}

func (l *spinLock) lock() {
	for i := 0; ; i++ {
		step(opGuard)
		if l.held.Load() == 0 && l.held.CompareAndSwap(0, 1) {
			return
		}
		relax(i)
	}
}

func (l *spinLock) unlock() { l.held.Store(0) }

// How long relax spins, then lets others run, before it sleeps.
const (
	spinPauses = 8 // in each of the spins; a pause instruction takes some 10 ns, on older cores 3
	spinRounds = 30
	schedRound = spinRounds + 20
	sleepFor   = 20 * time.Microsecond
)

// canSpin says whether whoever is waited for can be running at the same time.
var canSpin = runtime.NumCPU() > 1

// relax passes a moment in the i-th round of waiting for something that is due in a few instructions. The holder may
// have been preempted by Go, then Gosched lets it run, or by the operating system, then a sleep does.
func relax(i int) {
	switch {
	case i < spinRounds && canSpin:
		asm.Pause(spinPauses)
	case i < schedRound:
		runtime.Gosched()
	default:
		time.Sleep(sleepFor)
	}
}
