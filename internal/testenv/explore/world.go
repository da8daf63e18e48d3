package explore

import (
	"fmt"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// World is one run of a program, in which one thread at a time makes one step,
// chosen by the search. It is waitq's Tracer.
type World struct {
	program Program
	threads []*Thread
	running *Thread
	early   int // how many more parks may end without a wake
	roaming bool
	over    bool // its threads are to be unwound
	failure string
	buf     []byte
}

func (s *search) newWorld() *World {
	w := &World{early: s.limits.Early, roaming: s.limits.Moves}
	w.program = s.program(w)
	for i, body := range w.program.Threads {
		if i == len(s.workers) {
			s.workers = append(s.workers, newWorker())
		}
		w.threads = append(w.threads, newThread(w, i, s.workers[i], body))
	}
	waitq.SetTracer(w)
	for _, t := range w.threads {
		w.resume(t)
	}
	return w
}

// end unwinds all threads, so that their workers are free for the next world.
func (w *World) end() {
	w.over = true
	for _, t := range w.threads {
		if !t.ended {
			w.resume(t)
		}
	}
	waitq.SetTracer(nil)
}

// resume lets t go on to its next stop.
func (w *World) resume(t *Thread) {
	w.running = t
	if t.at, _ = t.worker.next(); t.at.op != opEnd {
		return
	}
	t.ended = true
	if t.waiting {
		w.fail("thread %d has not released its waiter", t.id)
	}
}

func (w *World) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
	}
}

// move is one step of one thread.
type move struct {
	thread int
	how    how
	choice int    // of several outcomes
	pc     uint64 // where it led, if it was made before, since computing that is slow
}

// how is the way in which a park ends.
type how string

const (
	onward   how = ""
	earlyEnd how = " (ends early)"
	shutdown how = " (ends by shutdown)"
	overdue  how = " (ends by its bound)"
)

func (mv move) outcome() string {
	if mv.choice != 0 {
		return fmt.Sprintf(" %d", mv.choice)
	}
	return string(mv.how)
}

// moves appends what can happen next.
func (w *World) moves(all []move) []move {
	for _, t := range w.threads {
		all = t.moves(all)
	}
	return all
}

// do makes a move and checks what must always be.
func (w *World) do(mv *move) {
	t := w.threads[mv.thread]
	t.move = *mv
	if mv.how == earlyEnd {
		w.early--
	}
	w.resume(t)
	mv.pc = t.at.pc
	if w.program.Check != nil {
		if s := w.program.Check(t); s != "" {
			w.fail("%s", s)
		}
	}
}

// atEnd returns what is wrong when no move is left, or "".
func (w *World) atEnd() string {
	for _, t := range w.threads {
		if !t.ended && !(t.MayWait && t.at.op == opPark) {
			return fmt.Sprintf("thread %d waits for ever at %q: %s", t.id, t.at.op, w.describe())
		}
	}
	if w.program.End != nil {
		if s := w.program.End(); s != "" {
			return "at the end: " + s
		}
	}
	return ""
}

func (w *World) describe() string {
	if w.program.Describe != nil {
		return w.program.Describe()
	}
	return fmt.Sprintf("%x", w.program.State(nil))
}

// Thread returns the i-th thread.
func (w *World) Thread(i int) *Thread { return w.threads[i] }

// Running returns the thread that is making a step.
func (w *World) Running() *Thread { return w.running }

// Choose returns a number below n, each in some runs. It is called by the
// primitive, on a thread, through a seam of its own.
func (w *World) Choose(n int) int {
	w.pause(at{op: opChoose, n: n})
	t := w.running
	t.chosen = t.move.choice
	return t.chosen
}

// Owner returns the number of the thread whose waiter wt is, or -1.
func (w *World) Owner(wt *coroutine.Waiter) int {
	for _, t := range w.threads {
		if &t.waiter == wt {
			return t.id
		}
	}
	return -1
}

// Queue returns whose waiters are in q, from the front, and checks its links.
func (w *World) Queue(q *waitq.Queue) []int {
	ids := []int{}
	var prev *coroutine.Waiter
	for wt := q.Front(); wt != nil; wt = wt.Link {
		ids = append(ids, w.Owner(wt))
		if wt.Prev != prev {
			w.fail("queue %v: Prev is not who was before", ids)
		}
		if prev = wt; len(ids) > 100 {
			w.fail("the queue is a ring")
			break
		}
	}
	return ids
}

// AppendQueue appends q to a State. Of waiters that are a thread's it is
// enough; the key has the rest of them.
func (w *World) AppendQueue(b []byte, q *waitq.Queue) []byte {
	n := 0
	for wt := q.Front(); wt != nil && n < 100; wt = wt.Link {
		b = append(b, byte(w.Owner(wt)))
		n++
	}
	return append(b, byte(n))
}
