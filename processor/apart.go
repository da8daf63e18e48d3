package processor

import (
	"slices"
	"sync/atomic"

	"github.com/netco-go/netco/internal/sysx"
)

// apart keeps the threads of a domain on CPUs of their own. The kernel wakes a
// thread on its last CPU unless it knows of an idle CPU, and it may not know of
// one: on a guest with two CPUs one was idle for 40 % of the time while a
// thread waited for the other.
type apart struct {
	cpu  atomic.Int32 // the CPU on which its last turn began; owner writes
	next int64        // no move before that time (CLOCK_MONOTONIC, ns); owner
}

// apartNs is how long a thread stays on the CPU that it has moved to. Where a
// domain has fewer CPUs than members, no move helps.
const apartNs = 1_000_000

// keepApart moves the thread to a CPU that no Processor ran on last, if another
// member of the domain is awake on the present CPU. It is called in each turn
// while the group is sharing. Owner.
func (p *Processor) keepApart(now int64) {
	cpu := int32(sysx.CPU())
	if p.apart.cpu.Load() != cpu {
		p.apart.cpu.Store(cpu)
	}
	if now < p.apart.next || !slices.ContainsFunc(p.domain, func(q *Processor) bool {
		return q != p && q.apart.cpu.Load() == cpu && !q.time.sleeping()
	}) {
		return
	}
	p.apart.next = now + apartNs
	to := sysx.MoveThread(func(cpu int) bool {
		return !slices.ContainsFunc(p.group.members, func(q *Processor) bool {
			return int(q.apart.cpu.Load()) == cpu
		})
	})
	if to >= 0 {
		p.apart.cpu.Store(int32(to))
	}
}
