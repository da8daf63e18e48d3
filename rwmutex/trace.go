package rwmutex

import "github.com/netco-go/netco/internal/waitq"

// What package waitq's trace.go is for its own accesses, this is for the lock's.

// choose is nil but in tests, where it answers what depends on the time.
var choose func(question) bool

type question int

const (
	isOverdue question = iota
	doesSpin
)

const (
	opLoad waitq.Op = "load state"
	opSwap waitq.Op = "swap state"
)

func (m *RWMutex) load() int64 {
	waitq.Step(opLoad)
	return m.look()
}

func (m *RWMutex) swapSlow(old, next int64) bool {
	waitq.Step(opSwap)
	return m.swap(old, next)
}
