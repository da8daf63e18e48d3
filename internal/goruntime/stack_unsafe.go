package goruntime

import (
	"runtime"
	"slices"
	_ "unsafe" // for go:linkname

	"github.com/netco-go/netco/asm"
)

// Fields of a goroutine's struct that locate its stack: the stack's bounds come
// first; before its number runtime.g has sched (sp, pc, g, ctxt, lr, bp),
// syscallsp, syscallpc, syscallbp, stktopsp, param, atomicstatus and stackLock.
const (
	stackHi             = 8
	schedPCBeforeGoid   = 88
	schedBPBeforeGoid   = 56
	syscallPCBeforeGoid = 40
	syscallBPBeforeGoid = 32

	maxStackSize = 1 << 30
)

// MaxStack is how many calls StackOf follows.
const MaxStack = 64

// StackOf stores in pcs, and counts, the return addresses of the innermost
// calls of the blocked goroutine g, an identity that asm.Getg returned once:
// one for each frame on its stack, of which Frames returns the calls. It
// returns 0 if the goroutine is not blocked, or has run meanwhile. From any
// thread; it takes 0.5 to 3 µs and stops nothing. Precondition: FindStandings
// has succeeded.
//
// It follows the frame pointers, as the runtime's execution tracer does
// (runtime/tracestack.go), though the goroutine may wake at any moment. A walk
// may then read another stack or none, so a result counts only if two walks in
// a row agree. The memory itself stays mapped: stacks are in Go's heap, which
// is never unmapped, and nothing outside of the bounds in the goroutine's
// struct is read. These are two words; a pair that is half written is no power
// of two apart, as every stack's are.
func StackOf(g uintptr, pcs *[MaxStack]uintptr) int {
	if !standings.stacks {
		return 0
	}
	var before [MaxStack]uintptr
	for last, tries := 0, 0; tries < 4; tries++ { // the collector may move a stack to a smaller one
		n := walk(g, pcs)
		if n > 0 && slices.Equal(pcs[:n], before[:last]) {
			return n
		}
		last, before = n, *pcs
	}
	return 0
}

// walk follows the frames once. A chain of frames that breaks off counts as
// none: the collector is moving the stack.
func walk(g uintptr, pcs *[MaxStack]uintptr) (n int) {
	field := func(beforeGoid uintptr) uintptr { return asm.Load(g + standings.goid - beforeGoid) }
	if StandingOf(g) == Unblocked {
		return 0
	}
	lo, hi := asm.Load(g), asm.Load(g+stackHi)
	pc, bp := field(schedPCBeforeGoid), field(schedBPBeforeGoid)
	if statusOf(g) == statusSyscall {
		pc, bp = field(syscallPCBeforeGoid), field(syscallBPBeforeGoid)
	}
	if size := hi - lo; lo == 0 || hi < lo || size > maxStackSize || size&(size-1) != 0 {
		return 0
	}
	pcs[0] = pc
	for n = 1; n < len(pcs) && bp != 0; n++ { // 0 at the outermost
		if bp < lo || bp > hi-16 || bp%8 != 0 {
			return 0
		}
		pcs[n] = asm.Load(bp + 8)
		outer := asm.Load(bp)
		if outer != 0 && outer <= bp {
			return 0
		}
		bp = outer
	}
	if StandingOf(g) == Unblocked {
		return 0
	}
	return n
}

// Frames returns the calls that StackOf has found, innermost first, those that
// the compiler has inlined included.
func Frames(pcs []uintptr) (frames []runtime.Frame) {
	for _, pc := range pcs {
		calls := runtime.CallersFrames(expandInlined([]uintptr{pc}))
		for more := true; more; {
			var f runtime.Frame
			if f, more = calls.Next(); f.Function != "" {
				frames = append(frames, f)
			}
		}
	}
	return frames
}

// expandInlined returns pcs with all calls for the last one. The runtime keeps
// it for libraries that use it: "Do not remove or change the type signature",
// runtime/symtab.go.
//
//go:linkname expandInlined runtime/pprof.runtime_expandFinalInlineFrame
func expandInlined(pcs []uintptr) []uintptr

// probeStack reports whether StackOf works, on a goroutine that waits for a
// channel in f.
func probeStack(g uintptr, f string) bool {
	standings.stacks = true
	var pcs [MaxStack]uintptr
	frames := Frames(pcs[:StackOf(g, &pcs)])
	is := func(name string) bool {
		return slices.ContainsFunc(frames, func(call runtime.Frame) bool {
			return call.Function == name
		})
	}
	standings.stacks = is("runtime.gopark") && is(f) && is("runtime.goexit")
	return standings.stacks
}
