package coroutine

import (
	"runtime"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/stacks"
)

// LeftBehind describes a coroutine that was left behind.
type LeftBehind struct {
	ID   uint64
	Name string // may be ""

	Stack Stack

	w   *worker
	run uint64 // of w.pinning
}

// Stack has the calls that a coroutine was found blocked in; the zero value if
// it had already woken. Stacks of the same calls are equal.
type Stack struct {
	pcs [64]uintptr // as goruntime.StackOf stores them
	n   int
}

// noteLeft describes w's coroutine, which is about to be left behind: it is
// claimed and was found blocked, but may have woken since.
func (w *worker) noteLeft(co *Coroutine) *LeftBehind {
	l := &LeftBehind{ID: co.ID(), Name: co.Name(), w: w, run: w.pinning.Run()}
	l.Stack.fill(w)
	return l
}

// Again returns where the coroutine is blocked now, the zero value if it is not
// blocked; and false if it has come back to its loop since. Any thread.
func (l *LeftBehind) Again() (now Stack, away bool) {
	is := func() bool {
		co, at := l.w.co.Load(), l.w.away.load()
		return co != nil && co.ID() == l.ID && l.w.pinning.Run() == l.run &&
			(at == leaving || at == outside)
	}
	if !is() {
		return now, false
	}
	now.fill(l.w)
	if !is() {
		return Stack{}, false
	}
	return now, true
}

// fill stores the calls in which w's goroutine is blocked.
func (s *Stack) fill(w *worker) {
	s.n = goruntime.StackOf(w.innermost().ctx.G(), s.pcs[:])
	clear(s.pcs[s.n:])
}

// Frames returns the calls, innermost first, without netco's calls that run
// coroutines. Some 30 µs.
func (s *Stack) Frames() []runtime.Frame {
	return stacks.CutRuns(goruntime.Frames(s.pcs[:s.n]), 0)
}
