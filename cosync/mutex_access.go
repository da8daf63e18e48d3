package cosync

import "github.com/netco-go/netco/internal/waitq"

// How the slow paths touch what they share: each is a step for tests that run them in every order.
const (
	opState waitq.Op = "mutex state"
	opLine  waitq.Op = "mutex line"
)

func (m *Mutex) lookState() uint32 {
	waitq.Step(opState)
	return m.state.Load()
}

func (m *Mutex) swap(old, next uint32) bool {
	waitq.Step(opState)
	return m.state.CompareAndSwap(old, next)
}

func (m *Mutex) lookLine() uint32 {
	waitq.Step(opLine)
	return m.line.Load()
}

// setLine is for the owner of the guard.
func (m *Mutex) setLine(line uint32) {
	waitq.Step(opLine)
	m.line.Store(line)
}

// waiting returns the line for when nobody is on the way. Under guard.
func (m *Mutex) waiting() uint32 {
	if m.queue.Empty() {
		return empty
	}
	return calling
}
