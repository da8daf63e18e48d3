package diagnose

import (
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/stacks"
)

// inState is a goroutine's stack with its state, as a trace of all has it.
func inState(state string, funcs ...string) stacks.Stack {
	return stacks.Stack{State: state, Funcs: funcs, Text: strings.Join(funcs, "\n")}
}

// funcs is a stack without a state.
func funcs(list ...string) stacks.Stack { return inState("", list...) }

// causeCases are what each state, stack and kernel's word is taken for.
var causeCases = []struct {
	stack         stacks.Stack
	thread        stacks.Thread
	cause, detail string
}{
	{inState("chan receive", "main.f"), stacks.Thread{State: 'S', In: "futex_wait_queue"},
		CauseChannel, "chan receive"},
	{inState("chan send (nil chan)", "main.f"), stacks.Thread{}, CauseChannel,
		"chan send (nil chan)"},
	{inState("select (no cases)", "main.f"), stacks.Thread{}, CauseChannel, "select (no cases)"},
	{inState("sync.Mutex.Lock", "main.f"), stacks.Thread{}, CauseMutex, "sync.Mutex.Lock"},
	{inState("sync.RWMutex.Lock", "main.f"), stacks.Thread{}, CauseMutex, "sync.RWMutex.Lock"},
	{inState("sync.WaitGroup.Wait", "main.f"), stacks.Thread{}, CauseWait, "sync.WaitGroup.Wait"},
	{inState("semacquire", "sync.runtime_Semacquire", "sync.(*WaitGroup).Wait"), stacks.Thread{},
		CauseWait, "sync.(*WaitGroup).Wait"},
	{inState("sleep", "time.Sleep", "main.f"), stacks.Thread{}, CauseSleep, "sleep"},
	{inState("IO wait", "internal/poll.runtime_pollWait"), stacks.Thread{}, CauseIO, "IO wait"},
	{inState("syscall", "syscall.Syscall", "syscall.read", "syscall.Read"),
		stacks.Thread{State: 'S', In: "anon_pipe_read"}, CauseSyscall,
		"syscall.read; in the kernel's anon_pipe_read"},
	{inState("syscall", "syscall.Syscall6", "golang.org/x/sys/unix.fstat"),
		stacks.Thread{State: 'D'}, CauseSyscall, "golang.org/x/sys/unix.fstat"},
	{inState("syscall", "runtime.cgocall", "main._Cfunc_usleep", "main.f"),
		stacks.Thread{State: 'S', In: "hrtimer_nanosleep"}, CauseCgo,
		"main._Cfunc_usleep; in the kernel's hrtimer_nanosleep"},
	{inState("runnable", "main.f"), stacks.Thread{State: 'R'}, CauseComputation, "runnable"},
	{inState("running", "main.f"), stacks.Thread{State: 'D', In: "folio_wait_bit", Fault: true},
		CausePageFault, "folio_wait_bit"},
	{stacks.Stack{}, stacks.Thread{State: 'S', Fault: true}, CausePageFault, ""},
	{inState("GC assist wait", "main.f"), stacks.Thread{State: 'S', In: "futex_wait_queue"},
		CauseUnknown, "GC assist wait; in the kernel's futex_wait_queue"},
	{stacks.Stack{}, stacks.Thread{}, CauseUnknown, ""},
	{stacks.Stack{}, stacks.Thread{State: 'R'}, CauseComputation, ""},
	{stacks.Stack{}, stacks.Thread{State: 'S', In: "pipe_read"}, CauseUnknown,
		"in the kernel's pipe_read"},

	{funcs("runtime.gopark", "runtime.chanrecv", "runtime.chanrecv1", "main.f"),
		stacks.Thread{}, CauseChannel, "runtime.chanrecv"},
	{funcs("runtime.gopark", "runtime.selectgo", "main.f"), stacks.Thread{}, CauseChannel,
		"runtime.selectgo"},
	{funcs("runtime.gopark", "time.Sleep", "main.f"), stacks.Thread{}, CauseSleep,
		"time.Sleep"},
	{funcs("main.f", "main.g"), stacks.Thread{State: 'R'}, CauseComputation, ""},
	{funcs("main.f", "main.g", "main.h", "main.i", "main.j", "main.k", "time.Sleep"),
		stacks.Thread{}, CauseComputation, ""},
	{funcs("runtime.cgocall", "main._Cfunc_usleep"), stacks.Thread{}, CauseCgo,
		"main._Cfunc_usleep"},
	{funcs("internal/runtime/syscall.Syscall6", "syscall.RawSyscall6", "syscall.Syscall",
		"syscall.read", "main.f"), stacks.Thread{}, CauseSyscall, "syscall.read"},
}

func TestCauses(t *testing.T) {
	for _, c := range causeCases {
		if cause, detail := causeOf(c.stack, c.thread); cause != c.cause || detail != c.detail {
			t.Errorf("%+v, %+v: %q, %q; want %q, %q", c.stack, c.thread, cause, detail, c.cause,
				c.detail)
		}
	}
}

// TestOneOf: more stacks than one are all reported, up to a limit, and the
// cause is not guessed from any.
func TestOneOf(t *testing.T) {
	one := stacks.Stack{Funcs: []string{"time.Sleep"}, Text: "time.Sleep"}
	if s, why := oneOf([]stacks.Stack{one}); why != "" || s.Text != one.Text {
		t.Errorf("%+v, %q", s, why)
	}
	s, why := oneOf([]stacks.Stack{one, one, one, one, one})
	if cause, _ := causeOf(s, stacks.Thread{}); why != "the stack is one of 5" ||
		strings.Count(s.Text, "time.Sleep") != 4 || cause != CauseUnknown {
		t.Errorf("%+v, %q, %q", s, why, cause)
	}
}
