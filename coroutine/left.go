package coroutine

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/netco-go/netco/internal/goruntime"
)

// LeftBehind describes a coroutine that was left behind.
type LeftBehind struct {
	ID   uint64
	Name string // may be ""

	Stack Stack

	w   *worker
	run uint64 // of w.open
}

// Stack has the calls that a coroutine was found blocked in; the zero value if
// it had woken before. Stacks of the same calls are equal.
type Stack struct {
	pcs [64]uintptr // as goruntime.StackOf stores them
	n   int
}

// noteLeft describes w's coroutine, which is about to be left behind: it is
// claimed and was found blocked, but may have woken since.
func (w *worker) noteLeft(co *Coroutine) *LeftBehind {
	l := &LeftBehind{ID: co.ID(), Name: co.Name(), w: w, run: w.open.Run()}
	l.Stack.fill(w)
	return l
}

// Again returns where the coroutine is blocked now, the zero value if it is not
// blocked; and false if it has come back to its loop since. Any thread.
func (l *LeftBehind) Again() (now Stack, away bool) {
	is := func() bool {
		co, at := l.w.co.Load(), l.w.away.load()
		return co != nil && co.ID() == l.ID && l.w.open.Run() == l.run &&
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
	frames := goruntime.Frames(s.pcs[:s.n])
	for len(frames) > 0 && runs(frames[len(frames)-1]) {
		frames = frames[:len(frames)-1]
	}
	return frames
}

// BlockedAt returns the frame with the user's call: the innermost frame that is
// neither the standard library's nor netco's; else the innermost of netco's;
// else the outermost.
func BlockedAt(frames []runtime.Frame) (at runtime.Frame) {
	var own runtime.Frame
	for _, at = range frames {
		switch {
		case Standard(at.Function), strings.Contains(at.Function, "._Cfunc_"): // made by cgo
		case !belongs(at, ""):
			return at
		case own.Function == "":
			own = at
		}
	}
	if own.Function != "" {
		return own
	}
	return at
}

// Standard reports whether a function belongs to the standard library or to
// golang.org/x/sys, which counts as a part of it. The paths of the standard
// library's packages have no dot in their first element; a module's path may
// have none either.
func Standard(function string) bool {
	function, _, _ = strings.Cut(function, "[") // type arguments have paths of their own
	dir := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[dir:], ".")
	path := function[:dir] + name
	first, _, _ := strings.Cut(path, "/")
	switch {
	case path == "main":
		return false
	case strings.Contains(first, "."):
		return strings.HasPrefix(path, "golang.org/x/sys/")
	}
	for _, module := range dotless() {
		if path == module || strings.HasPrefix(path, module+"/") {
			return false
		}
	}
	return true
}

// dotless are the paths of the program's modules that have no dot in their
// first element.
var dotless = sync.OnceValue(func() (paths []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, m := range append(info.Deps, &info.Main) {
		if first, _, _ := strings.Cut(m.Path, "/"); first != "" && !strings.Contains(first, ".") {
			paths = append(paths, m.Path)
		}
	}
	return paths
})
