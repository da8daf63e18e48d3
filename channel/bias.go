package channel

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// bias lets the one thread that uses a channel do without the guard. Two atomic instructions are 10 ns, and a round trip over two
// channels would have eight.
//
//	owner       means                                    becomes
//	nil         every user has the guard; it is counted  an Executor, when only coroutines of that one have come so far, often enough,
//	            how often `first` came in a row          and the kernel has membarrier; shared, when anybody else comes
//	an          its thread sets inside, looks at owner   shared, by the first who comes from elsewhere; that one has the guard
//	Executor    once more, and needs no guard then
//	shared      every user has the guard                 nothing
//
// inside and owner are Dekker's protocol without its fences. The owner's thread stores inside and loads owner, with plain
// instructions; who revokes stores owner and loads inside, and between the two makes every thread of the process execute a memory
// barrier (membarrier(2)). So if the owner did not see the revocation, who revokes sees inside, and waits for the end of the few
// instructions that it stands for. A second barrier, after that, makes sure that what they wrote is seen.
type bias struct {
	owner  atomic.Pointer[coroutine.Executor]
	inside uint32              // owner's thread: writes; atomic: reads
	plain  bool                // whoever has the channel has it without the guard
	streak int                 // under guard: how often first came in a row
	first  *coroutine.Executor // under guard
}

// shared is the owner of a channel that is nobody's.
var shared = new(coroutine.Executor)

// biasAfter is how many operations of one executor make a channel its own: a channel that is made for one question and its answer, from another
// thread, should not pay for a revocation, some microseconds.
const biasAfter = 32

// hasOwner reports whether the channel is some thread's own.
func (b *bias) hasOwner() bool {
	owner := b.owner.Load()
	return owner != nil && owner != shared
}

// enter takes the channel for the calling thread, whose executor is ex, if it is that thread's own. A caller's executor can be nil,
// and so can the owner.
func (b *bias) enter(ex *coroutine.Executor) bool {
	if b.owner.Load() != ex || ex == nil {
		return false
	}
	b.inside = 1
	if b.owner.Load() != ex { // atomic: the compiler moves neither the store nor what follows across it
		b.inside = 0
		return false
	}
	return true
}

// leave ends what enter began.
func (b *bias) leave() { b.inside = 0 }

// lock takes the channel for the caller.
func (c *Chan[T]) lock() {
	if c.hasOwner() {
		if me := coroutine.Me(); me != nil && c.enter(me.Executor()) {
			c.plain = true
			return
		}
	}
	c.guard.Lock()
	if c.owner.Load() != shared {
		c.came()
	}
}

// unlock gives the channel back.
func (c *Chan[T]) unlock() {
	if c.plain {
		c.plain = false
		c.leave()
		return
	}
	c.guard.Unlock()
}

// came deals with a user that has the guard of a channel that is not shared yet.
func (b *bias) came() {
	ex := coroutine.DrivenBy() // not Me, which may wait for others that want the guard
	switch {
	case b.owner.Load() != nil:
		b.revoke()
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

// revoke makes the channel shared and waits until its owner's thread is not inside. Under the guard.
func (b *bias) revoke() {
	b.owner.Store(shared)
	barrier()
	for i := 0; atomic.LoadUint32(&b.inside) != 0; i++ {
		waitq.Relax(i)
	}
	barrier()
}
