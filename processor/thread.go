package processor

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/stacks"
)

// Start runs the Processor on a goroutine of its own, and returns when work may
// be submitted.
func (p *Processor) Start() error {
	started := make(chan error)
	go p.thread(started)
	return <-started
}

// thread is the Processor's goroutine: it becomes the loop.
func (p *Processor) thread(started chan<- error) {
	if err := p.enter(); err != nil {
		close(p.ended)
		started <- err
		return // a locked thread ends with the goroutine
	}
	started <- nil
	p.run()
	if p.cfg.LockThread && p.cfg.CPU < 0 {
		runtime.UnlockOSThread() // its settings are the default, so the runtime may reuse it
	}
}

// RunHere is Start on the calling goroutine: it returns when the group has
// stopped. It calls started when work may be submitted, and turn, if that is
// not nil, at the beginning of each turn until turn returns false. Blocks.
func (p *Processor) RunHere(started func(), turn func() bool) error {
	var before unix.CPUSet
	if p.cfg.CPU >= 0 {
		if err := unix.SchedGetaffinity(0, &before); err != nil {
			close(p.ended)
			p.Discard()
			return os.NewSyscallError("sched_getaffinity", err)
		}
	}
	p.turn = turn
	err := p.enter()
	if err == nil {
		started()
		p.run()
	} else {
		close(p.ended)
	}
	if p.cfg.CPU >= 0 {
		unix.SchedSetaffinity(0, &before)
	}
	if p.cfg.LockThread {
		runtime.UnlockOSThread()
	}
	return err
}

// enter makes the calling goroutine the loop. From then on work may be
// submitted to the Processor.
func (p *Processor) enter() error {
	if p.cfg.LockThread {
		runtime.LockOSThread()
	}
	if p.cfg.CPU >= 0 {
		var set unix.CPUSet
		set.Set(p.cfg.CPU)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			p.Discard()
			return fmt.Errorf("netco: processor %d: cannot run on CPU %d: %w",
				p.cfg.Index, p.cfg.CPU, err)
		}
	}
	if p.cfg.LockThread {
		p.time.tid.Store(int32(unix.Gettid()))
	}
	p.time.started.Publish(uint64(clock.Now()))
	p.ex.Enter()
	p.alive.Store(true)
	addRunning(p)
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
