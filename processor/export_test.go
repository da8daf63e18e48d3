package processor

import "testing"

// AnyGain lets every spread stay, until the test ends: whether it brings more
// work done is for the machine to say.
func AnyGain(t testing.TB) {
	was := trialGain
	trialGain = 0
	t.Cleanup(func() { trialGain = was })
}

// Give asks p to give away n connections, and as many ready coroutines. Any
// thread.
func (p *Processor) Give(to *Processor, n int) { p.ask(to, n) }

// GiveAll makes p one that is not active and asks it to give all away. Any
// thread.
func (p *Processor) GiveAll(to *Processor) {
	p.active.Store(false)
	p.ask(to, everything)
}
