package cosync

import "sync/atomic"

// Once does something once. The zero value is ready for use. It must not be copied after first use.
type Once struct {
	_    noCopy
	done atomic.Bool
	m    Mutex
}

// Do calls f if this is the first call of Do for o, and otherwise waits until that first call's f has returned: a coroutine parks, a
// goroutine blocks. f may park. As with [sync.Once], an f that panics, or ends its coroutine, has been done; and an f that calls
// Do waits for itself. When the scheduler ends by force, Do ends a coroutine that waits ([coroutine.Unwind]).
func (o *Once) Do(f func()) {
	if !o.done.Load() {
		o.doSlow(f)
	}
}

func (o *Once) doSlow(f func()) {
	o.m.Lock()
	defer o.m.Unlock()
	if !o.done.Load() {
		defer o.done.Store(true)
		f()
	}
}
