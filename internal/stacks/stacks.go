// Package stacks captures the stack of a goroutine that blocks its thread or
// computes.
//
// Go has no call for that. It has two calls that return the stacks of all
// goroutines, from which this package selects:
//
//	All      stops the world: 4 to 10 µs for each goroutine, 40 if it is
//	         in 50 calls, 0.1 more for each further call. It knows the
//	         goroutines' numbers and states, and returns the innermost and
//	         outermost 50 calls.
//	ByRoot   stops the world twice, shortly; 2 to 5 µs for each goroutine while
//	         others run, and 400 bytes. It returns the innermost 32 calls,
//	         without number or state.
//
// Both wait until every thread that runs Go code has reached a point at which
// it can be stopped. A thread in a page fault, or in a system call made without
// the Go scheduler, reaches no such point before that ends, and all other
// threads wait with it. The caller must exclude both cases first.
package stacks

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The most goroutines for which All and ByRoot may be called.
const (
	MaxShort  = 512     // All stops the world for 5 ms, or 20 if all are in 50 calls
	MaxAll    = 1 << 15 // for a fraction of a second
	MaxByRoot = 1 << 16 // 25 MB, for a fraction of a second
)

// maxShortBytes is how large all stacks together may be for All(MaxShort):
// under deep recursion a hundred goroutines would stop the world for longer
// than the stall that the caller examines.
const maxShortBytes = 64 << 20

// bytesInUse returns the memory of all stacks.
func bytesInUse() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// Errors of All and ByRoot.
var (
	ErrTooMany = errors.New("there are too many goroutines")
	ErrGone    = errors.New("the goroutine was not found")
)

// Stack is the stack of one goroutine.
type Stack struct {
	ID    uint64   // 0 if unknown
	State string   // the runtime's word, such as "chan receive" or "runnable"; "" if unknown
	Funcs []string // the functions' names, innermost first
	Text  string   // as a traceback prints it, without the line that names the goroutine

	Bystander bool // marked by Bystander; All sets it
}

// suspended begins the state of a goroutine that is parked in the switch from
// one coroutine to another.
var suspended = []byte("[coroutine")

// texts are buffers of All. As garbage they would start the collector, and thus
// the runtime's scavenger, which sets a timer: with any timer of Go's set, the
// watchdog cannot be sure of a deadlock.
var texts sync.Pool

// All returns the stacks, at one instant, of all goroutines but the runtime's
// own and those that are parked in the switch between coroutines. The error is
// ErrTooMany, if there are more than limit goroutines, or with MaxShort if all
// stacks together are large.
func All(limit int) ([]Stack, error) {
	n := runtime.NumGoroutine()
	if n > limit || limit <= MaxShort && bytesInUse() > maxShortBytes {
		return nil, ErrTooMany
	}
	marked := bystanderIDs()
	last, _ := texts.Get().(*[]byte)
	if least := 64<<10 + n<<12; last == nil || len(*last) < least {
		buf := make([]byte, least)
		last = &buf
	}
	defer texts.Put(last)
	size := runtime.Stack(*last, true)
	if size == len(*last) {
		return nil, ErrTooMany // the last ones are missing
	}
	var all []Stack
	for one := range bytes.SplitSeq((*last)[:size], []byte("\n\n")) {
		if head, _, _ := bytes.Cut(one, []byte("\n")); bytes.Contains(head, suspended) {
			continue
		}
		if s, ok := parse(string(one)); ok {
			s.Bystander = marked[s.ID]
			all = append(all, s)
		}
	}
	return all, nil
}

// parse reads one goroutine's traceback.
func parse(text string) (s Stack, ok bool) {
	head, calls, ok := strings.Cut(text, "\n")
	if !ok {
		return s, false
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(head, "goroutine "), " ")
	s.ID, _ = strconv.ParseUint(number, 10, 64)
	_, state, _ := strings.Cut(head, "[")
	state, _, _ = strings.Cut(state, "]")
	state, _, _ = strings.Cut(state, ",") // "chan receive, 2 minutes, locked to thread"
	state, _, _ = strings.Cut(state, " (scan)")
	s.State, s.Text = state, strings.TrimSuffix(calls, "\n")
	for line := range strings.Lines(s.Text) {
		if name, ok := called(strings.TrimSuffix(line, "\n")); ok {
			s.Funcs = append(s.Funcs, name)
		}
	}
	return s, true
}

// called returns the function's name in a line of a traceback:
// "pkg.(*T).Method(0xc000012345, 0x2)". Other lines name a file, begin with
// "created by" or count omitted calls.
func called(line string) (name string, ok bool) {
	end := strings.LastIndexByte(line, '(')
	if end <= 0 || line[0] == '\t' || !strings.HasSuffix(line, ")") ||
		strings.HasPrefix(line, "created by ") {
		return "", false
	}
	return line[:end], true
}

// ByRoot returns the stacks of the goroutines that run now, or block their
// threads, below a call of one of these functions. It leaves out goroutines
// that are in the switch between coroutines, or new. It does not see the root
// of a goroutine in more than 32 calls; such goroutines are returned if there
// are no others. The error is ErrTooMany, if there are more than MaxByRoot
// goroutines, or ErrGone.
func ByRoot(roots ...string) ([]Stack, error) {
	n := runtime.NumGoroutine()
	if n > MaxByRoot {
		return nil, ErrTooMany
	}
	records := make([]runtime.StackRecord, n+n/8+16)
	n, ok := runtime.GoroutineProfile(records)
	if !ok {
		return nil, ErrTooMany // too many were started meanwhile
	}
	var found, deep []Stack
	for i := range records[:n] {
		pcs := records[i].Stack()
		if len(pcs) == 0 || parked(pcs[0]) {
			continue
		}
		s := ofPCs(pcs)
		switch {
		case switching(s.Funcs):
		case slices.ContainsFunc(roots, func(f string) bool { return slices.Contains(s.Funcs, f) }):
			found = append(found, s)
		case len(pcs) == len(records[i].Stack0):
			deep = append(deep, s)
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case len(deep) > 0:
		return deep, nil
	}
	return nil, ErrGone
}

// parked is a fast path for most goroutines: it does not resolve the names of
// all calls.
func parked(pc uintptr) bool {
	f := runtime.FuncForPC(pc - 1)
	return f != nil && switchFunc(f.Name())
}

// switchFunc reports whether name is the runtime's function in which a
// coroutine is parked, or in which a new coroutine waits to begin.
func switchFunc(name string) bool {
	return strings.HasPrefix(name, "runtime.coro")
}

func switching(funcs []string) bool { return len(funcs) > 0 && switchFunc(funcs[0]) }

// ofPCs writes a stack as a traceback does.
func ofPCs(pcs []uintptr) (s Stack) {
	var text strings.Builder
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if f.Function != "" {
			s.Funcs = append(s.Funcs, f.Function)
			fmt.Fprintf(&text, "%s(...)\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			s.Text = strings.TrimSuffix(text.String(), "\n")
			return s
		}
	}
}
