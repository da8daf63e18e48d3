package processor

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/counter"
)

// Stats are a Processor's own counters: its thread writes them, any thread reads them. They cost the Processor an
// ordinary add.
type Stats struct {
	Turns       counter.Counter
	TurnStart   counter.Counter // CLOCK_MONOTONIC, ns
	Sleeps      counter.Counter // times blocked in epoll
	IdleNs      counter.Counter // time blocked in epoll
	SpinNs      counter.Counter // time spent looking for events instead
	RemoteWakes counter.Counter // coroutines woken by other threads
	Stolen      counter.Counter // coroutines taken from other Processors
	TimersFired counter.Counter
	SavedReads  counter.Counter // reads not made because the last one was short
}

// Coroutines returns the executor's counters.
func (p *Processor) Coroutines() *coroutine.Stats { return &p.ex.Stats }

// Events returns the epoller's counters.
func (p *Processor) Events() *epoller.Stats { return &p.ep.Stats }

// Registered returns how many fds are registered.
func (p *Processor) Registered() int { return p.ep.Registered() }
