package coroutine

// What package channel needs for operations among coroutines of one thread, where each nanosecond counts.

// Caller is who runs on an executor's thread, a coroutine or the loop, as Me returns it. Its methods are for that thread.
type Caller = worker

// Executor returns the executor.
func (w *worker) Executor() *Executor { return w.ex }

// Waiter returns the coroutine's waiter, prepared for its next Park, or nil for the loop.
func (w *worker) Waiter() *Waiter {
	co := w.co.Own()
	if co == nil {
		return nil
	}
	co.waiter.ticket.Set(co.ticket)
	return &co.waiter
}

// Parked reports whether the coroutine's waiter was prepared for a park that is over.
func (w *worker) Parked() bool {
	co := w.co.Own()
	return co.ticket != co.waiter.ticket.Own()
}

// Park is Coroutine.Park of the caller.
func (w *worker) Park(reason Reason) { w.co.Own().Park(reason) }

// LastWake returns why the last park ended.
func (w *worker) LastWake() Wake { return w.co.Own().wake }

// PassOn is to be called when the function that ParkTail was given has returned.
func (w *worker) PassOn() {
	if w.ctx.Relaying() {
		w.ctx.PassOn()
	}
}

// Ready is Wake of a waiter that stands for a coroutine of the same thread.
func (w *worker) Ready(to *Waiter) {
	co, q := to.co, &w.ex.runq
	tail, buf := q.tail, q.buf
	if co.ticket != to.ticket.Own() || uint16(co.status.Own()) != inChannel || tail-q.head == uint64(len(buf)) {
		w.ex.Ready(co, to.ticket.Own(), WakeReady)
		return
	}
	co.wake = WakeReady
	co.ticket++
	co.setState(Ready, ReasonNone, w.ex.stamp)
	buf[tail&uint64(len(buf)-1)] = co
	q.tail = tail + 1
}

const inChannel = uint16(Waiting) | uint16(ReasonChannel)<<8 // of a status, without the time
