package rwmutex

import (
	"encoding/binary"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// world is one lock and some threads that use it, of which one at a time goes one step, as the test says. It runs the
// real code: it is the tracer. Each thread is an iter.Pull'ed function, and yields before every shared access.
type world struct {
	m       RWMutex
	threads []*simThread
	running *simThread
	early   int // how many more parks may end for no reason
	inside  struct{ readers, writers int }
	failure string
}

// simThread runs a program: a letter per operation.
//
//	W, R  lock, stay a step, unlock, for writing or reading
//	w, r  the same with TryLock or TryRLock; nothing if that fails
//	S     R, but unlock by the slow path even if the fast one would do
//	x, y  an RUnlock, Unlock too many; y must panic, x must panic or do no harm
type simThread struct {
	id      int
	program string
	pos     int  // in program
	doomed  bool // its parks may be ended by shutdown
	next    func() (at, bool)
	stop    func()
	yield   func(at) bool
	at      at
	ended   bool

	waiter   coroutine.Waiter
	waiting  bool // has the waiter
	holds    bool // has the lock for reading, until it has taken its 1 off the count
	leaves   bool // is about to
	queued   bool // has been in the queue in this operation
	ticket   int  // of the next or present park, as in package coroutine
	prepared int  // the ticket that a wake would be for
	woken    bool
	waking   *coroutine.Waiter // whom it woke last in this operation
	move     move              // its present one
	seen     int64             // what it last loaded: its local variables are a function of this and where it is
}

// at is where a thread stands: before which access.
type at struct {
	op   op
	pc   uint64            // hash of its call stack
	wake *coroutine.Waiter // whom it is about to wake
}

const (
	opBegin op = "begin"
	opStay  op = "stay inside"
	opPark  op = "park"
	opWake  op = "wake"
)

// move is one step of one thread.
type move struct {
	thread int
	how    how    // its park ends
	pc     uint64 // where it led, if it has been made before: finding that out takes most of the time
}

type how string

const (
	onward   how = ""
	earlyEnd how = " (ends early)"
	shutdown how = " (ends by shutdown)"
)

type abandoned struct{} // panic value: the world is over
type unwound struct{}   // panic value: in place of Goexit

// newWorld makes a world of the given programs; "!" behind one dooms it.
func newWorld(programs []string, early int) *world {
	w := &world{early: early}
	for i, p := range programs {
		t := &simThread{id: i, program: strings.TrimSuffix(p, "!"), doomed: strings.HasSuffix(p, "!")}
		t.next, t.stop = iter.Pull(func(yield func(at) bool) {
			t.yield = yield
			w.main(t)
		})
		w.threads = append(w.threads, t)
	}
	trace = w
	for _, t := range w.threads {
		w.resume(t)
	}
	return w
}

// end stops all threads.
func (w *world) end() {
	for _, t := range w.threads {
		w.running = t
		t.stop()
	}
	trace = nil
}

func (w *world) main(t *simThread) {
	defer func() {
		switch r := recover(); r.(type) {
		case nil, abandoned, unwound:
		default:
			w.fail("thread %d panicked: %v", t.id, r)
		}
	}()
	for ; t.pos < len(t.program); t.pos++ {
		t.queued, t.waking = false, nil
		w.pause(opBegin, nil)
		switch t.program[t.pos] {
		case 'W':
			w.m.Lock()
			w.write()
		case 'R':
			w.m.RLock()
			w.read(w.m.RUnlock)
		case 'S':
			w.m.RLock()
			w.read(w.m.runlockSlow)
		case 'w':
			if w.m.TryLock() {
				w.write()
			}
		case 'r':
			if w.m.TryRLock() {
				w.read(w.m.RUnlock)
			}
		case 'x':
			w.misuse("rwmutex: RUnlock of unlocked RWMutex", w.m.RUnlock, true)
		case 'y':
			w.misuse("rwmutex: Unlock of unlocked RWMutex", w.m.Unlock, false)
		}
	}
}

func (w *world) write() {
	w.inside.writers++
	w.pause(opStay, nil)
	w.inside.writers--
	w.m.Unlock()
}

func (w *world) read(unlock func()) {
	t := w.running
	w.inside.readers++
	t.holds = true
	w.pause(opStay, nil)
	w.inside.readers--
	t.leaves = true
	unlock()
}

// misuse calls f, which must panic with want, or may return.
func (w *world) misuse(want string, f func(), mayReturn bool) {
	defer func() {
		r := recover()
		if _, over := r.(abandoned); over {
			panic(r)
		}
		if s, ok := r.(string); ok && strings.HasPrefix(s, want) || r == nil && mayReturn {
			return
		}
		w.fail("misuse gave %v, want a panic with %q", r, want)
	}()
	f()
}

func (w *world) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
	}
}

// resume lets t go on to its next access.
func (w *world) resume(t *simThread) {
	w.running = t
	var ok bool
	if t.at, ok = t.next(); !ok {
		t.ended = true
	}
}

// pause is called on a thread: it stands before an access until it is resumed.
func (w *world) pause(op op, who *coroutine.Waiter) {
	t := w.running
	h := t.move.pc
	if h == 0 {
		h = 14695981039346656037 // FNV
		var pcs [16]uintptr
		for _, pc := range pcs[:runtime.Callers(2, pcs[:])] {
			h = (h ^ uint64(pc)) * 1099511628211
		}
	}
	if !t.yield(at{op, h, who}) {
		panic(abandoned{})
	}
	if op == opLoad {
		t.seen = w.m.state.Load()
	}
}

// The tracer.

func (w *world) step(op op) { w.pause(op, nil) }

func (w *world) acquire() *coroutine.Waiter {
	t := w.running
	t.waiting, t.prepared = true, t.ticket
	return &t.waiter
}

func (w *world) release(wt *coroutine.Waiter) {
	w.running.waiting = false
	wt.Link, wt.Tag = nil, 0
}

func (w *world) prepare(wt *coroutine.Waiter) {
	if w.m.guard.held.Load() == 0 {
		w.fail("prepared for another park without the guard")
	}
	w.running.prepared = w.running.ticket
}

func (w *world) park(wt *coroutine.Waiter) coroutine.Wake {
	t := w.running
	w.pause(opPark, nil)
	t.ticket++
	t.woken = false
	if t.move.how == shutdown {
		return coroutine.WakeShutdown
	}
	return coroutine.WakeReady
}

func (w *world) wake(wt *coroutine.Waiter) {
	w.pause(opWake, wt)
	w.running.waking = wt
	t := w.owner(wt)
	if !t.waiting || atomic.LoadUintptr(&wt.Tag) != tagGranted {
		w.fail("thread %d woke thread %d, which does not wait", w.running.id, t.id)
	}
	if t.prepared == t.ticket {
		t.woken = true
	} // else it is for an old park and does nothing
}

func (w *world) unwind() { panic(unwound{}) }

func (w *world) owner(wt *coroutine.Waiter) *simThread {
	for _, t := range w.threads {
		if &t.waiter == wt {
			return t
		}
	}
	return nil
}

// moves returns what can happen next.
func (w *world) moves() (all []move) {
	for i, t := range w.threads {
		switch {
		case t.ended:
		case t.kind() == 'x' && w.reading(): // it would be that reader's
		case t.at.op != opPark || t.woken:
			all = append(all, move{thread: i, how: onward})
		default:
			if t.doomed {
				all = append(all, move{thread: i, how: shutdown})
			}
			if w.early > 0 {
				all = append(all, move{thread: i, how: earlyEnd})
			}
		}
	}
	return all
}

// reading reports whether a reader has the lock, so that an RUnlock too many could take it away.
func (w *world) reading() bool {
	for _, t := range w.threads {
		if t.holds || !t.ended && strings.IndexByte("RS", t.kind()) >= 0 && t.waiter.Tag >= tagGranted {
			return true
		}
	}
	return w.m.state.Load() > 0 // visitors of an open lock are as good as in
}

// do makes a move and checks what must always be.
func (w *world) do(mv *move) {
	t := w.threads[mv.thread]
	before := w.queue()
	insideBefore := w.inside
	stateBefore := w.m.state.Load()
	misused := !t.ended && t.kind() == 'x' && stateBefore < 0 && stateBefore&hasWriter != 0
	t.move = *mv
	if mv.how == earlyEnd {
		w.early--
	}
	w.resume(t)
	mv.pc = t.at.pc
	if t.leaves && t.at.op != opLoad && t.at.op != opSwap { // its swap has succeeded
		t.holds, t.leaves = false, false
	}

	after := w.queue()
	for _, id := range after {
		w.threads[id].queued = true
	}
	entered := w.inside.readers > insideBefore.readers || w.inside.writers > insideBefore.writers
	if w.inside.writers > 1 || w.inside.writers == 1 && w.inside.readers > 0 {
		w.fail("%d writers and %d readers are inside", w.inside.writers, w.inside.readers)
	}
	if misused && w.m.state.Load() != stateBefore {
		w.fail("RUnlock while a writer is in changed the state")
	}
	if entered && !t.queued && len(before) > 0 {
		w.fail("thread %d went in past the queue %v", t.id, before)
	}
	if flags, _ := split(w.m.state.Load()); flags&hasQueue == 0 && len(after) > 0 {
		w.fail("queue %v without the flag", after)
	}
	if s := w.m.state.Load(); w.m.guard.held.Load() == 0 && s&^(hasQueue-1) == queued && w.threads[after[0]].kind() != 'W' {
		w.fail("a reader waits behind readers")
	}
	w.checkOrder(t, before, after)
	if t.ended && t.waiting {
		w.fail("thread %d has not released its waiter", t.id)
	}
}

// checkOrder fails unless the step of t that turned the queue before into after added t at its end, or took out t, which
// gives up, or granted the lock to a writer in front or all readers in front, or several of these.
func (w *world) checkOrder(t *simThread, before, after []int) {
	if n := len(after); n > 0 && after[n-1] == t.id && (len(before) == 0 || before[len(before)-1] != t.id) {
		after = after[:n-1]
	}
	granted := len(before) - len(after)
	for i, id := range before {
		if id == t.id && t.doomed && granted > 0 && w.threads[id].waiter.Tag == 0 {
			before = append(before[:i:i], before[i+1:]...)
			granted--
			break
		}
	}
	if granted < 0 || !slices.Equal(before[granted:], after) {
		w.fail("the queue went from %v to %v", before, after)
		return
	}
	kinds := ""
	for _, id := range before[:granted] {
		kinds += string(w.threads[id].kind())
	}
	if kinds != "W" && strings.Trim(kinds, "RS") != "" {
		w.fail("granted at once: %s", kinds)
	}
	if kinds != "" && kinds != "W" && len(after) > 0 && w.threads[after[0]].kind() != 'W' {
		w.fail("readers granted without the reader behind them")
	}
}

// kind returns the operation that the thread is at.
func (t *simThread) kind() byte { return t.program[t.pos] }

// queue returns the ids of the queued threads, and checks the list.
func (w *world) queue() []int {
	ids := []int{}
	var last *coroutine.Waiter
	for wt := w.m.queue.head; wt != nil; wt = wt.Link {
		ids = append(ids, w.owner(wt).id)
		last = wt
		if len(ids) > len(w.threads) {
			w.fail("the queue is a ring")
			break
		}
	}
	if last != w.m.queue.tail {
		w.fail("the queue's tail is not its last")
	}
	return ids
}

// stuck says what is wrong when no move is left, or returns "".
func (w *world) stuck() string {
	for _, t := range w.threads {
		if !t.ended {
			state := misuse("", w.m.state.Load())
			return fmt.Sprintf("thread %d waits for ever at %q: %s", t.id, t.at.op, state)
		}
	}
	if s := w.m.state.Load(); s != 0 || w.m.guard.held.Load() != 0 || w.m.queue != (queue{}) {
		return fmt.Sprintf("at the end: state %#x, guard %d, queue %v", s, w.m.guard.held.Load(), w.queue())
	}
	return ""
}

// key appends what distinguishes this state of the world from others.
func (w *world) key(b []byte) []byte {
	put := func(v uint64) { b = binary.LittleEndian.AppendUint64(b, v) }
	is := func(v bool) {
		if v {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	who := func(wt *coroutine.Waiter) {
		if t := w.owner(wt); t != nil {
			b = append(b, byte(t.id))
		} else {
			b = append(b, 255)
		}
	}
	put(uint64(w.m.state.Load()))
	b = append(b, byte(w.m.guard.held.Load()), byte(w.early))
	who(w.m.queue.head)
	for _, t := range w.threads {
		put(t.at.pc)
		put(uint64(t.seen))
		b = append(b, byte(t.pos), byte(t.waiter.Tag), byte(t.ticket-t.prepared))
		is(t.holds)
		is(t.ended)
		is(t.waiting)
		is(t.woken)
		is(t.queued)
		who(t.waiter.Link)
		who(t.at.wake)
		who(t.waking)
	}
	return b
}
