package stacks

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// The calls of a stack belong to the user's code, to netco or to the standard
// library.

// module is netco's import path.
const module = "github.com/netco-go/netco"

// OfUser drops the frames at either end of a coroutine's stack that are not the
// user's: at the top, a switch or a wait in Go, and all calls inside the
// function of netco that the user has called; at the bottom, the code that runs
// coroutines. If all frames are netco's, it keeps the function that parked.
func OfUser(stack []runtime.Frame) []runtime.Frame {
	for len(stack) > 1 && switches(stack[0]) {
		stack = stack[1:]
	}
	stack = CutRuns(stack, 1)
	own := 0
	for own < len(stack) && OfNetco(stack[own]) {
		own++
	}
	switch {
	case own == len(stack):
		for len(stack) > 1 && runs(stack[0]) {
			stack = stack[1:]
		}
	case own > 0:
		stack = stack[own-1:]
	}
	return stack
}

// CutRuns drops the frames at the bottom of a stack that run a coroutine. It
// keeps at least keep frames.
func CutRuns(stack []runtime.Frame, keep int) []runtime.Frame {
	for len(stack) > keep && runs(stack[len(stack)-1]) {
		stack = stack[:len(stack)-1]
	}
	return stack
}

// runs reports whether f belongs to the code that runs coroutines.
func runs(f runtime.Frame) bool {
	return switches(f) || belongs(f, "/coroutine") || belongs(f, "/internal") ||
		belongs(f, "/processor")
}

// switches reports whether f belongs to the runtime, or to a context's switch.
func switches(f runtime.Frame) bool {
	return strings.HasPrefix(f.Function, "runtime.") || strings.HasPrefix(f.Function, "iter.") ||
		belongs(f, "/context") || belongs(f, "/asm")
}

// OfNetco reports whether f is in a package of netco's, and not in a test.
func OfNetco(f runtime.Frame) bool { return belongs(f, "") }

// belongs reports whether f is in netco's package path or a package below it,
// and not in a test. "" means all of netco.
func belongs(f runtime.Frame, path string) bool {
	rest, ok := strings.CutPrefix(f.Function, module+path)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '/') &&
		!strings.HasSuffix(f.File, "_test.go")
}

// BlockedAt returns the frame with the user's call: the innermost frame that is
// neither the standard library's nor netco's; else the innermost frame of
// netco's; else the outermost frame.
func BlockedAt(frames []runtime.Frame) (at runtime.Frame) {
	var own runtime.Frame
	for _, at = range frames {
		switch {
		case Standard(at.Function), strings.Contains(at.Function, "._Cfunc_"): // made by cgo
		case !OfNetco(at):
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
