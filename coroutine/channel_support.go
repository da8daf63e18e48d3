package coroutine

// What package channel needs for operations among coroutines of one Processor:
// calls that the compiler inlines, without the checks that its fast path has
// made.

// Worker is the goroutine of a coroutine or of a loop, see [CurrentWorker]. Its
// methods are for the owner.
type Worker = worker

// DrivenBy returns the executor whose loop drives the caller; nil for an
// ordinary goroutine, and for a coroutine that was left behind. Unlike
// CurrentWorker it does not wait.
func DrivenBy() *Executor {
	if w := driven(); w != nil {
		return w.ex
	}
	return nil
}

// Executor returns the executor.
func (w *worker) Executor() *Executor { return w.ex }

// Waiter returns the coroutine's waiter, prepared for its next Park, or nil for
// the loop.
func (w *worker) Waiter() *Waiter {
	co := w.co.Own()
	if co == nil {
		return nil
	}
	co.waiter.ticket.Set(co.ticket)
	return &co.waiter
}

// Park is Coroutine.Park of the caller.
func (w *worker) Park(reason Reason) Wake { return w.co.Own().Park(reason) }

// MoveOn is Coroutine.MoveOn of the caller.
func (w *worker) MoveOn() {
	if w.ex.lend.Load() != nil {
		w.co.Own().moveOn()
	}
}

// Ready is Wake of a waiter that stands for a coroutine of the same executor.
func (w *worker) Ready(to *Waiter) {
	co, q := to.co, &w.ex.runq
	tail, buf := q.tail, q.buf
	if co.ticket != to.ticket.Own() || uint16(co.status.Own()) != inChannel ||
		tail-q.head == uint64(len(buf)) {
		w.ex.Ready(co, to.ticket.Own(), WakeReady)
		return
	}
	co.wake = WakeReady
	co.ticket++
	co.setState(Ready, ReasonNone, w.ex.stamp)
	buf[tail&uint64(len(buf)-1)] = co
	q.tail = tail + 1
}

// inChannel is a status word, without the time, of a wait for a channel.
const inChannel = uint16(Waiting) | uint16(ReasonChannel)<<8
