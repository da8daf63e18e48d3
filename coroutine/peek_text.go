package coroutine

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// text is p's answer as StackOf returns it.
func (p *peek) text(i *Info) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "coroutine %d", p.of.id)
	if i.Name != "" {
		fmt.Fprintf(&b, " %q", i.Name)
	}
	what := p.was.String()
	if p.was == Waiting {
		what = p.reason.String()
	}
	fmt.Fprintf(&b, " [%s]:\n", what)
	from := 0
	for n, end := range p.ends {
		if n > 0 {
			b.WriteString("resumed by\n")
		}
		for _, f := range ofInterest(framesOf(p.pcs[from:end])) {
			fmt.Fprintf(&b, "%s(...)\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
		from = end
	}
	if len(p.pcs) == cap(p.pcs) {
		b.WriteString("...further frames left out...\n")
	}
	if f := frameOf(uint64(i.Site)); f.Function != "" {
		fmt.Fprintf(&b, "created by %s\n", f.Function)
		if f.File != "" {
			fmt.Fprintf(&b, "\t%s:%d\n", f.File, f.Line)
		}
	}
	return b.String(), nil
}

func framesOf(pcs []uintptr) (list []runtime.Frame) {
	frames := runtime.CallersFrames(pcs)
	for more := len(pcs) > 0; more; {
		var f runtime.Frame
		f, more = frames.Next()
		list = append(list, f)
	}
	return list
}

// module is netco's import path.
var module = strings.TrimSuffix(reflect.TypeFor[Executor]().PkgPath(), "/coroutine")

// ofInterest leaves out what is netco's own at either end of a stack: below, what runs a coroutine; above, what follows the function of
// netco's that was called. Of a coroutine that is all netco's, what follows the function that parked.
func ofInterest(stack []runtime.Frame) []runtime.Frame {
	for n := len(stack); n > 1 && runs(stack[n-1]); n-- {
		stack = stack[:n-1]
	}
	own := 0
	for own < len(stack) && belongs(stack[own], "") {
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

// runs reports whether f is of what runs coroutines.
func runs(f runtime.Frame) bool {
	return strings.HasPrefix(f.Function, "runtime.") || strings.HasPrefix(f.Function, "iter.") || belongs(f, "/coroutine") || belongs(f, "/context") || belongs(f, "/internal") ||
		belongs(f, "/processor")
}

// belongs reports whether f is of netco's package path, "" being all of netco, or of one below it. Its tests are not.
func belongs(f runtime.Frame, path string) bool {
	rest, ok := strings.CutPrefix(f.Function, module+path)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '/') && !strings.HasSuffix(f.File, "_test.go")
}
