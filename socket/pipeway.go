package socket

import (
	"io"
	"os"
	"sync"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/processor"
)

// pipeWay is one direction of a Pipe. A writer who has its turn offers its bytes and waits; readers copy from them.
//
//	turn   offered   means                                   becomes
//	no     no        nobody writes                           the first writer takes the turn and offers, and wakes a reader
//	yes    yes       there is something for readers          a reader takes a part; or all, and wakes the writer: not offered;
//	                                                         or the writer withdraws it, when it is ended otherwise
//	yes    no        the writer is about to go               the writer gives the turn back and wakes one who waits for it
//
// A wake means look again. Who was woken for an offer or for the turn and goes without it, because of a deadline say, wakes the next:
// settleLocked, at the end of every operation.
type pipeWay struct {
	mu sync.Mutex // guards all of it; held to copy bytes, never across a park

	offer         []byte // what is left of the writer's bytes, while offered
	turn, offered bool

	readers waitList
	writer  waitList // the one who has the turn, while it waits
	writers waitList // the others

	// By side.
	until [2]int64 // deadline in ns of CLOCK_MONOTONIC, 0 is none
	gone  [2]bool  // its end was closed
	burst [2]uint8 // operations in a row that did not park; at burst after one whose coroutine is to end by force, see force.go
}

// do reads into p or writes it.
func (w *pipeWay) do(s side, p []byte) (n int, err error) {
	w.mu.Lock()
	if s == reading {
		n, err = w.readLocked(p)
	} else {
		n, err = w.writeLocked(p)
	}
	w.settleLocked()
	w.burst[s]++
	again := w.burst[s] > 1
	yield := w.burst[s] >= burst
	if yield {
		w.burst[s] = 0
	}
	w.mu.Unlock()
	if yield || again && processor.TurnOver() {
		w.yield(s)
	}
	return n, err
}

// yield lets others run after a burst of operations that did not wait, as socket.pace does: with its peer on another thread an end
// may go on like that for ever.
func (w *pipeWay) yield(s side) {
	if coroutine.YieldTurn() {
		w.mu.Lock()
		w.burst[s] = burst // the next operation is told
		w.mu.Unlock()
	}
}

func (w *pipeWay) readLocked(p []byte) (int, error) {
	for {
		if err := w.endedLocked(reading); err != nil {
			return 0, err
		}
		if w.offered {
			return w.takeLocked(p), nil
		}
		if err := w.waitLocked(reading, &w.readers); err != nil {
			return 0, err
		}
	}
}

// takeLocked copies from the offer. An empty one is taken too: a write of nothing waits for a read as any other does.
func (w *pipeWay) takeLocked(p []byte) int {
	n := copy(p, w.offer)
	w.offer = w.offer[n:]
	if len(w.offer) == 0 {
		w.offered = false
		w.writer.wakeOne()
	}
	return n
}

func (w *pipeWay) writeLocked(p []byte) (int, error) {
	if err := w.takeTurnLocked(); err != nil {
		return 0, err
	}
	w.offer, w.offered = p, true
	w.readers.wakeOne()
	var err error
	for w.offered && err == nil {
		if err = w.endedLocked(writing); err == nil {
			err = w.waitLocked(writing, &w.writer)
		}
	}
	if !w.offered {
		err = nil // what ended the wait came too late
	}
	n := len(p) - len(w.offer)
	w.offer, w.offered, w.turn = nil, false, false
	return n, err
}

// takeTurnLocked waits for other writers, so that what one writes stays together.
func (w *pipeWay) takeTurnLocked() error {
	for {
		if err := w.endedLocked(writing); err != nil {
			return err
		}
		if !w.turn {
			w.turn = true
			return nil
		}
		if err := w.waitLocked(writing, &w.writers); err != nil {
			return err
		}
	}
}

// settleLocked wakes whoever could go on and may not know it.
func (w *pipeWay) settleLocked() {
	if w.offered {
		w.readers.wakeOne()
	}
	if !w.turn {
		w.writers.wakeOne()
	}
}

// endedLocked returns why an operation of this side is over, or nil.
func (w *pipeWay) endedLocked(s side) error {
	switch other := 1 - s; {
	case w.gone[s] || w.gone[other] && s == writing:
		return io.ErrClosedPipe
	case w.gone[other]:
		return io.EOF
	case w.burst[s] >= burst && coroutine.Stopping():
		return coroutine.ErrShutdown
	case w.until[s] != 0 && clock.Now() >= w.until[s]:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// waitLocked waits in a list until somebody wakes it or the deadline comes; the caller looks which. The error is
// coroutine.ErrShutdown. It gives mu up meanwhile.
func (w *pipeWay) waitLocked(s side, l *waitList) error {
	x := coroutine.AcquireWaiter()
	defer x.Release()
	x.Tag = 0
	l.push(x)
	w.burst[s] = 0
	until := w.until[s]
	w.mu.Unlock()
	reason := [2]coroutine.Reason{coroutine.ReasonRead, coroutine.ReasonWrite}[s]
	var wake coroutine.Wake
	if until == 0 {
		wake = x.Park(reason)
	} else {
		wake = x.ParkUntil(reason, until)
	}
	w.mu.Lock()
	switch {
	case x.Tag == 0:
		l.remove(x)
	case wake != coroutine.WakeReady:
		x.Drain() // a waker was there as well
	}
	if wake == coroutine.WakeShutdown {
		return coroutine.ErrShutdown
	}
	return nil
}

// close ends both sides, for an end that has this one.
func (w *pipeWay) close(s side) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[s] = true
	w.readers.wakeAll()
	w.writer.wakeAll()
	w.writers.wakeAll()
}

// setDeadline sets the deadline of a side, and lets those who wait look at it.
func (w *pipeWay) setDeadline(s side, until int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone[reading] || w.gone[writing] {
		return io.ErrClosedPipe
	}
	w.until[s] = until
	if s == reading {
		w.readers.wakeAll()
	} else {
		w.writer.wakeAll()
		w.writers.wakeAll()
	}
	return nil
}

// wakeOne wakes the first of the list, if there is one, and tells it by its Tag that it has been taken out. Under the list's mutex.
func (l *waitList) wakeOne() {
	if l.first != nil {
		x := l.pop()
		x.Tag = 1
		x.Wake()
	}
}

func (l *waitList) wakeAll() {
	for l.first != nil {
		l.wakeOne()
	}
}
