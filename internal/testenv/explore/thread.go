package explore

import (
	"iter"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Op names a step.
type Op = waitq.Op

const (
	opPark   Op = "park"
	opMove   Op = "move"
	opWake   Op = "wake"
	opDrain  Op = "drain"
	opChoose Op = "choose"
	opEnd    Op = "end"
)

// Thread is one thread of a program. A body may set the exported fields before
// its first Step, and then must not.
type Thread struct {
	Stoppable bool // its parks may end by shutdown
	Goroutine bool // it is an ordinary goroutine; else a coroutine
	MayWait   bool // it may wait for ever

	w       *World
	id      int
	worker  *worker
	at      at
	move    move // its present one
	ended   bool
	steps   int    // how many Steps it has come to
	noted   uint64 // what it noted
	seen    uint64 // what it read last: with its place it determines its local variables
	chosen  int    // what Choose gave last
	endless ctx

	shielded bool // Stoppable has no effect
	waiter   coroutine.Waiter
	waiting  bool // has the waiter
	ticket   int  // of the next or present park, as in package coroutine
	prepared int  // the ticket that a wake would be for
	woken    bool // for the present ticket; of a goroutine: there is a token
	why      coroutine.Wake
	waking   *coroutine.Waiter // it is about to wake it
	wakes    int               // the ticket that wake is for
}

// at is the access before which a thread is stopped.
type at struct {
	op    Op
	pc    uint64            // hash of its call stack
	wake  *coroutine.Waiter // opWake: the waiter
	guard *waitq.Guard      // OpGuard: which
	bound coroutine.Wake    // opPark: what else may end it; WakeReady: nothing
	n     int               // opChoose: among how many
}

type abandoned struct{} // panic value: the world has ended
type unwound struct{}   // panic value: in place of Goexit

// worker is a goroutine that runs threads, one after the other: a thread of
// each world of a search. To start it for each of them would take longer than
// most threads run.
type worker struct {
	thread *Thread // its present one
	body   func(*Thread)
	next   func() (at, bool)
	stop   func()
	yield  func(at) bool
}

func newWorker() *worker {
	k := &worker{}
	k.next, k.stop = iter.Pull(func(yield func(at) bool) {
		k.yield = yield
		for more := true; more; more = yield(at{op: opEnd}) {
			k.run()
		}
	})
	return k
}

// run runs the present thread.
func (w *worker) run() {
	defer func() {
		switch r := recover(); r.(type) {
		case nil, abandoned, unwound:
		default:
			w.thread.w.fail("thread %d panicked: %v", w.thread.id, r)
		}
	}()
	w.body(w.thread)
}

func newThread(w *World, id int, k *worker, body func(*Thread)) *Thread {
	k.thread, k.body = &Thread{w: w, id: id, worker: k}, body
	return k.thread
}

// ID returns which of Program.Threads it is.
func (t *Thread) ID() int { return t.id }

// At returns what the thread is about to do: an access, or a Step.
func (t *Thread) At() Op { return t.at.op }

// Ended reports whether the thread has returned or was unwound.
func (t *Thread) Ended() bool { return t.ended }

// Parked reports whether the thread is in a park that no wake has ended.
func (t *Thread) Parked() bool { return !t.ended && t.at.op == opPark && !t.woken }

// Waiter returns the thread's waiter.
func (t *Thread) Waiter() *coroutine.Waiter { return &t.waiter }

// Step lets other threads move before this one goes on. The name is for
// failures.
func (t *Thread) Step(name Op) {
	t.steps++
	t.w.pause(at{op: name})
}

// Note adds v to the key of the state, for instance what the thread has
// received.
func (t *Thread) Note(v uint64) { t.noted = mix(t.noted, v) }

// Panics calls f and returns what it panics with, or nil.
func (t *Thread) Panics(f func()) (value any) {
	defer func() {
		value = recover()
		switch value.(type) {
		case abandoned, unwound:
			panic(value)
		}
	}()
	f()
	return nil
}

// moves appends what the thread can do.
func (t *Thread) moves(all []move) []move {
	add := func(how how) { all = append(all, move{thread: t.id, how: how}) }
	if t.ended {
		return all
	}
	switch t.at.op {
	case waitq.OpGuard:
		if !t.at.guard.Held() {
			add(onward)
		}
	case waitq.OpReleased:
		if waitq.IsReleased(&t.waiter) {
			add(onward)
		}
	case opDrain:
		if t.woken {
			add(onward)
		}
	case opChoose:
		for i := range t.at.n {
			all = append(all, move{thread: t.id, choice: i})
		}
	case opPark:
		if t.hasLoop() {
			t.parkEnds(add)
		}
	case opMove:
		if t.hasLoop() {
			add(onward)
		}
	default:
		add(onward)
	}
	return all
}

// hasLoop reports whether the loop of some Processor can run the thread, a
// coroutine, which may be any: none that a coroutine holds up by spinning.
func (t *Thread) hasLoop() bool {
	if t.Goroutine {
		return true
	}
	for _, x := range t.w.threads {
		if !x.Goroutine && !x.ended && x.at.op == waitq.OpReleased &&
			!waitq.IsReleased(&x.waiter) {
			return false
		}
	}
	return true
}

// parkEnds adds how the thread's park may end.
func (t *Thread) parkEnds(add func(how)) {
	if t.woken {
		add(onward)
	}
	if t.woken && !t.Goroutine { // its end is settled; a goroutine's select may find both
		return
	}
	if t.at.bound != coroutine.WakeReady {
		add(overdue)
	}
	if t.Goroutine {
		return
	}
	if t.Stoppable && !t.shielded {
		add(shutdown)
	}
	if t.w.early > 0 {
		add(earlyEnd)
	}
}

// pause is called on a thread: it stops before an access until it is resumed.
//
//go:noinline
func (w *World) pause(a at) {
	t := w.running
	if a.pc = t.move.pc; a.pc == 0 {
		a.pc = stack()
	}
	if !w.over {
		t.worker.yield(a)
	}
	if w.over {
		panic(abandoned{})
	}
}

// see keeps what the access op, which comes now, reads.
func (w *World) see(op Op) {
	t := w.running
	if w.program.Seen != nil {
		t.seen = w.program.Seen(op)
		return
	}
	w.buf = w.program.State(w.buf[:0])
	t.seen = 0
	for _, c := range w.buf {
		t.seen = mix(t.seen, uint64(c))
	}
}

// stack returns a hash of the call stack above its caller: of the return
// addresses that the chain of frame pointers leads to. runtime.Callers, which
// decodes tables for each of them, would take a fifth of a search. In assembly
// it is not preempted, so the stack stays where it is.
func stack() uint64

// mix hashes one more value, by FNV-1a word by word.
func mix(h, v uint64) uint64 { return ((h ^ 14695981039346656037) ^ v) * 1099511628211 }
