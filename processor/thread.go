package processor

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/stacks"
)

// Start runs the Processor on a goroutine of its own, and returns when work may
// be submitted.
func (p *Processor) Start() error {
	started := make(chan error, 1)
	go func() {
		if err := p.RunHere(func() { started <- nil }, nil); err != nil {
			started <- err
		}
	}()
	return <-started
}

// RunHere makes the calling goroutine the loop, and returns when the group has
// stopped. It calls started when work may be submitted, and turn, if not nil,
// at the beginning of each turn until turn returns false. Blocks.
func (p *Processor) RunHere(started func(), turn func() bool) error {
	if p.cfg.LockThread {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		p.time.tid.Store(int32(unix.Gettid()))
	}
	if p.cfg.CPU >= 0 {
		var before, on unix.CPUSet
		on.Set(p.cfg.CPU)
		err := unix.SchedGetaffinity(0, &before)
		if err == nil {
			err = unix.SchedSetaffinity(0, &on)
		}
		if err != nil {
			close(p.ended)
			p.Discard()
			return fmt.Errorf("netco: processor %d: cannot run on CPU %d: %w",
				p.cfg.Index, p.cfg.CPU, err)
		}
		defer unix.SchedSetaffinity(0, &before)
	}
	p.turn = turn
	procs := runtime.GOMAXPROCS(0)
	p.onlyP = procs == 1
	p.fewPs = p.onlyP || procs == 2 && len(p.group.members) == 1
	p.time.started.Publish(uint64(clock.Now()))
	p.ex.Enter()
	p.alive.Store(true)
	addRunning(p)
	started()
	p.run()
	return nil
}

// run runs the loop, and then releases its memory and fds.
func (p *Processor) run() {
	defer close(p.ended)
	over := stacks.Bystander()
	p.loop()
	over()
	p.alive.Store(false)
	p.time.tid.Store(0)
	p.time.ended.Publish(uint64(clock.Now()))
	removeRunning(p)
	p.ex.Leave()
	p.buffers.free = nil // their leases refer to p, so neither would be collected
	p.ep.Each(func(pd *PollDesc) {
		if pd.home.Load() == p {
			pd.detach()
		}
	})
	p.Discard()
}
