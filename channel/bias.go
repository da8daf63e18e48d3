package channel

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/inside"
	"github.com/netco-go/netco/internal/invariant"
	"github.com/netco-go/netco/internal/waitq"
)

// bias is a channel's biased lock: Send and Recv need no guard, which costs two
// atomic instructions or 10 ns, while only one thread uses the channel. Without
// the bias a server of bench/peers fanout takes 13 % more CPU time for a
// message.
//
//	owner     meaning                         next
//	nil       every user locks the guard,     an Executor, after biasAfter
//	          and uses by one Executor are    uses by its coroutines alone, if
//	          counted                         the kernel has membarrier(2);
//	                                          shared, by a use from elsewhere
//	an        Send and Recv by its thread     shared, by the first user from
//	Executor  set inside, load owner again,   elsewhere, under the guard
//	          and need no guard
//	shared    every user locks the guard      shared
//
// inside and owner are Dekker's protocol with the fences on one side. The
// owner's thread stores inside and loads owner, both by plain instructions. The
// revoker stores owner and loads inside, and in between makes every thread of
// the process execute a memory barrier. So if the owner has not seen the
// revocation, the revoker sees inside, and waits until the owner is out, a
// few instructions later. A second barrier makes the owner's writes visible.
type bias struct {
	guard  waitq.Guard
	mark   inside.Mark // of the user that is inside without the guard
	owner  atomic.Pointer[coroutine.Executor]
	inside uint32              // 0 or 1; the owner's thread stores, the revoker loads (atomic)
	streak int                 // under guard: uses by first in a row
	first  *coroutine.Executor // under guard
}

// shared is the owner of a channel that is biased to no Executor any more.
var shared = new(coroutine.Executor)

// biasAfter is the number of uses by one Executor that bias a channel to it. A
// channel that carries one question and its answer between two threads should
// not pay for a revocation, some microseconds.
const biasAfter = 32

// enter locks the channel for the calling thread, whose Executor is ex, if the
// channel is biased to ex. Either may be nil. Code between enter and exit does
// not lock the guard, park, or call functions.
func (b *bias) enter(ex *coroutine.Executor) bool {
	if b.owner.Load() != ex || ex == nil {
		return false
	}
	b.inside = 1
	if b.owner.Load() != ex { // atomic, so the compiler moves no access across it
		b.inside = 0
		return false
	}
	if invariant.Enabled {
		b.mark.Set()
	}
	return true
}

// exit undoes enter.
func (b *bias) exit() {
	if invariant.Enabled {
		b.mark.Clear()
	}
	b.inside = 0
}

// lock locks the channel.
func (b *bias) lock() {
	b.guard.Lock()
	if b.owner.Load() != shared {
		b.countUseLocked()
	}
}

// countUseLocked counts a use of a channel that is not shared, and sets owner
// if the use biases the channel or makes it shared.
func (b *bias) countUseLocked() {
	ex := coroutine.DrivenBy() // unlike CurrentWorker it does not wait: the guard is held
	switch owner := b.owner.Load(); {
	case owner != nil && owner == ex:
		return
	case owner != nil:
		b.revokeLocked()
	case ex == nil || b.first != nil && b.first != ex:
		b.owner.Store(shared)
	default:
		b.first = ex
		if b.streak++; b.streak >= biasAfter && canBias() {
			b.owner.Store(ex)
		}
		return
	}
	b.first = nil
}

// revokeLocked makes the channel shared and waits until its owner's thread is
// not inside.
func (b *bias) revokeLocked() {
	b.owner.Store(shared)
	barrier()
	for i := 0; atomic.LoadUint32(&b.inside) != 0; i++ {
		waitq.Relax(i)
	}
	barrier()
}
