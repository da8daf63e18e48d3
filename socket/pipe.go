package socket

import (
	"io"
	"net"
	"os"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/waitq"
	"github.com/netco-go/netco/processor"
)

// Pipe returns the two ends of a connection within the process, as net.Pipe
// does: a write returns when reads of the other end have taken all of it,
// nothing is buffered, and there are deadlines. Waiting parks a coroutine, so
// both ends may be used by coroutines of one Processor, unlike those of
// net.Pipe. There is no fd behind it. Reads and writes do not allocate.
//
// Errors are net.Pipe's: io.EOF for a read when the other end was closed,
// io.ErrClosedPipe for everything else once either end was closed, and
// *net.OpError around os.ErrDeadlineExceeded; besides these
// coroutine.ErrShutdown, at a forced shutdown. A deadline also ends a write
// that waits for another write of its end.
func Pipe() (net.Conn, net.Conn) {
	var p struct {
		ways [2]pipeWay
		ends [2]pipeEnd
	}
	p.ends[0] = pipeEnd{in: &p.ways[0], out: &p.ways[1]}
	p.ends[1] = pipeEnd{in: &p.ways[1], out: &p.ways[0]}
	return &p.ends[0], &p.ends[1]
}

// pipeEnd is one end of a pipe.
type pipeEnd struct{ in, out *pipeWay }

// pipeAddr is the address of either end.
type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

func (e *pipeEnd) LocalAddr() net.Addr  { return pipeAddr{} }
func (e *pipeEnd) RemoteAddr() net.Addr { return pipeAddr{} }

func (e *pipeEnd) Read(p []byte) (int, error) {
	n, err := e.in.do(reading, p)
	return n, pipeError("read", err)
}

func (e *pipeEnd) Write(p []byte) (int, error) {
	n, err := e.out.do(writing, p)
	return n, pipeError("write", err)
}

// pipeError wraps err as net.Pipe does, which leaves io.EOF and
// io.ErrClosedPipe as they are.
func pipeError(op string, err error) error {
	switch err {
	case nil, io.EOF, io.ErrClosedPipe:
		return err
	}
	return &net.OpError{Op: op, Net: "pipe", Err: err}
}

// Close ends what is under way on both ends. It returns nil and does not park.
func (e *pipeEnd) Close() error {
	e.in.close(reading)
	e.out.close(writing)
	return nil
}

func (e *pipeEnd) SetDeadline(t time.Time) error {
	if err := e.SetReadDeadline(t); err != nil {
		return err
	}
	return e.SetWriteDeadline(t)
}

func (e *pipeEnd) SetReadDeadline(t time.Time) error {
	return e.in.setDeadline(reading, deadline(t))
}

func (e *pipeEnd) SetWriteDeadline(t time.Time) error {
	return e.out.setDeadline(writing, deadline(t))
}

// pipeWay is one direction of a Pipe. A writer that has its turn offers its
// bytes and waits; readers copy from them.
//
//	turn   offered   means                    becomes
//	no     no        no write is under way    the first writer takes the turn
//	                                          and offers, and wakes a reader
//	yes    yes       there is something for   a reader takes a part; or all, and
//	                 readers                  wakes the writer: not offered; or
//	                                          the writer's wait ends otherwise,
//	                                          and it withdraws the offer
//	yes    no        the writer is about to   the writer gives the turn back and
//	                 return                   wakes the next
//
// A woken waiter checks the state again. One that was woken for an offer or for
// the turn and leaves without it, because of a deadline say, wakes the next:
// settleLocked, at the end of every operation.
type pipeWay struct {
	mu waitq.Mutex // guards all of it; held to copy bytes, never across a park

	offer         []byte // what is left of the writer's bytes, while offered
	turn, offered bool

	readers waitq.Queue
	writer  waitq.Queue // the one that has the turn, while it waits
	writers waitq.Queue // the others

	// By side.
	until  [2]int64      // deadline in ns of CLOCK_MONOTONIC, 0 is none
	gone   [2]bool       // its end was closed
	budget [2]coopBudget // see socket.check
}

// pipeWait is what an operation waits with. Owner: the operation.
type pipeWait struct{ x *coroutine.Waiter } // nil before its first wait

// do reads into p or writes it.
func (w *pipeWay) do(s side, p []byte) (n int, err error) {
	var wait pipeWait
	w.mu.Lock()
	switch {
	case w.budget[s].spent() && w.stoppingLocked():
		if err = w.endedLocked(s); err == nil {
			err = coroutine.ErrShutdown
		}
	case s == reading:
		n, err = w.readLocked(p, &wait)
	default:
		n, err = w.writeLocked(p, &wait)
	}
	w.settleLocked()
	w.budget[s]++
	again := w.budget[s] > 1
	yield := w.budget[s].spent()
	if yield {
		w.budget[s] = 0
	}
	w.mu.Unlock()
	if wait.x != nil {
		waitq.Release(wait.x)
	}
	if yield || again && processor.TurnOver() {
		w.yield(s)
	}
	return n, err
}

// stoppingLocked reports whether the caller's waits end at once. It unlocks mu
// meanwhile.
func (w *pipeWay) stoppingLocked() bool {
	w.mu.Unlock()
	defer w.mu.Lock()
	return coroutine.Stopping()
}

// yield lets other coroutines run, as coopBudget.spend does: with its peer on
// another thread an end may never have to park.
func (w *pipeWay) yield(s side) {
	if coroutine.YieldTurn() {
		w.mu.Lock()
		w.budget[s] = budgetOps // the next operation fails
		w.mu.Unlock()
	}
}

func (w *pipeWay) readLocked(p []byte, wait *pipeWait) (int, error) {
	for {
		if err := w.endedLocked(reading); err != nil {
			return 0, err
		}
		if w.offered {
			return w.takeLocked(p), nil
		}
		if err := w.waitLocked(wait, reading, &w.readers); err != nil {
			return 0, err
		}
	}
}

// takeLocked copies from the offer. An empty one is taken too: a write of
// nothing waits for a read as any other does.
func (w *pipeWay) takeLocked(p []byte) int {
	n := copy(p, w.offer)
	w.offer = w.offer[n:]
	if len(w.offer) == 0 {
		w.offered = false
		w.wakeOneLocked(&w.writer)
	}
	return n
}

func (w *pipeWay) writeLocked(p []byte, wait *pipeWait) (int, error) {
	if err := w.takeTurnLocked(wait); err != nil {
		return 0, err
	}
	w.offer, w.offered = p, true
	w.wakeOneLocked(&w.readers)
	var err error
	for w.offered && err == nil {
		if err = w.endedLocked(writing); err == nil {
			err = w.waitLocked(wait, writing, &w.writer)
		}
	}
	if !w.offered {
		err = nil // what ended the wait came too late
	}
	n := len(p) - len(w.offer)
	w.offer, w.offered, w.turn = nil, false, false
	return n, err
}

// takeTurnLocked waits for other writers, so that the bytes of one Write stay
// together.
func (w *pipeWay) takeTurnLocked(wait *pipeWait) error {
	for {
		if err := w.endedLocked(writing); err != nil {
			return err
		}
		if !w.turn {
			w.turn = true
			return nil
		}
		if err := w.waitLocked(wait, writing, &w.writers); err != nil {
			return err
		}
	}
}

// settleLocked wakes a waiter that could go on and may not have been woken for
// it.
func (w *pipeWay) settleLocked() {
	if w.offered {
		w.wakeOneLocked(&w.readers)
	}
	if !w.turn {
		w.wakeOneLocked(&w.writers)
	}
}

// endedLocked returns why an operation of this side is over, or nil.
func (w *pipeWay) endedLocked(s side) error {
	switch other := 1 - s; {
	case w.gone[s] || w.gone[other] && s == writing:
		return io.ErrClosedPipe
	case w.gone[other]:
		return io.EOF
	case w.until[s] != 0 && clock.Now() >= w.until[s]:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// waitLocked parks in q until it is woken or the deadline comes; the caller
// checks which. It unlocks mu meanwhile: the first call only for what it needs
// in order to wait. The error is coroutine.ErrShutdown.
func (w *pipeWay) waitLocked(wait *pipeWait, s side, q *waitq.Queue) error {
	if wait.x == nil {
		w.mu.Unlock()
		wait.x = waitq.Acquire(coroutine.Limit{})
		w.mu.Lock()
		return nil
	}
	q.Push(wait.x, waitq.AnyKind)
	w.budget[s] = 0
	var limit coroutine.Limit
	if w.until[s] != 0 {
		limit = limit.Earlier(w.until[s])
	}
	w.mu.Unlock()
	reason := [2]coroutine.Reason{coroutine.ReasonRead, coroutine.ReasonWrite}[s]
	why := waitq.Wait(wait.x, reason, limit, &w.mu, q.Remove)
	waitq.Renew(wait.x)
	w.mu.Lock()
	if why == coroutine.WakeShutdown {
		return coroutine.ErrShutdown
	}
	return nil
}

// wakeOneLocked wakes the first of q, if there is one.
func (w *pipeWay) wakeOneLocked(q *waitq.Queue) {
	if x := q.Front(); x != nil {
		w.mu.Take(q, x)
	}
}

// close ends both sides, for an end that has this one.
func (w *pipeWay) close(s side) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[s] = true
	w.mu.TakeAll(&w.readers)
	w.mu.TakeAll(&w.writer)
	w.mu.TakeAll(&w.writers)
}

// setDeadline sets the deadline of a side, and wakes its waiters to check it.
func (w *pipeWay) setDeadline(s side, until int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone[reading] || w.gone[writing] {
		return io.ErrClosedPipe
	}
	w.until[s] = until
	if s == reading {
		w.mu.TakeAll(&w.readers)
	} else {
		w.mu.TakeAll(&w.writer)
		w.mu.TakeAll(&w.writers)
	}
	return nil
}
