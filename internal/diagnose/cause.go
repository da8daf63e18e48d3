package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/stacks"
	"github.com/netco-go/netco/processor"
)

// diagnose fills in a stall's cause, detail and stack.
func (d *watchdog) diagnose(w *subject, t processor.Turn, st *stall) {
	thread := stacks.OfThread(w.p.Thread())
	var s stacks.Stack
	why := ""
	switch {
	case !st.logged:
		why = "no stack: too many stalls"
	case thread.Fault:
		why = "no stack: the world would stand still until the page is there"
	default:
		s, why = stackOf(w.p, t.Coroutine)
		if now := w.now(); now.Number != t.Number || now.Asleep {
			// The stack may be of the next turn.
			s, why = stacks.Stack{}, "no stack: it was over too soon"
		}
	}
	st.Stack = s.Text
	st.Cause, st.Detail = causeOf(s, thread)
	if st.Cause == CauseComputation {
		st.Cause, st.Detail = w.computes(st, idOf(w.p.Executor().Current()), d.threshold)
	}
	if why != "" {
		st.Detail = strings.TrimPrefix(st.Detail+"; "+why, "; ")
	}
}

// manyCoroutines begins the detail of a computation by many coroutines.
const manyCoroutines = "many coroutines"

// computes returns the cause and detail of a stall with a running stack. It is
// a computation if the thread used CPU time for a quarter of the stall or for
// the threshold; otherwise the machine did not schedule the thread.
func (s *subject) computes(st *stall, id uint64, threshold int64) (cause, detail string) {
	if s.cpu >= 0 {
		if now := cpuOf(s.tid); now >= 0 && s.p.Thread() == s.tid {
			used, of := now-s.cpu, max(clock.Now()-s.seen, 1)
			detail = fmt.Sprintf("%v of CPU time in %v",
				time.Duration(used).Round(time.Millisecond),
				time.Duration(of).Round(time.Millisecond))
			if used < min(of/4, threshold) {
				return CauseNotScheduled, detail
			}
			detail = "; " + detail
		}
	}
	switch {
	case st.Coroutine == 0:
		detail = "the loop or a function of its own" + detail
	case st.Coroutine != s.suspID || id != s.suspID:
		detail = manyCoroutines + detail
	}
	return CauseComputation, strings.TrimPrefix(detail, "; ")
}

// Functions that identify a stack as a Processor's.
const (
	module       = "github.com/netco-go/netco/"
	coroutineEnd = module + "coroutine.workerMain"
	fiberEnd     = module + "coroutine.fiberMain"
	loopEnd      = module + "processor.(*Processor).loop"
)

// stackOf returns the stack of co, which has a Processor's thread, or of the
// loop if co is nil. If there is no such stack, why says why not.
func stackOf(p *processor.Processor, co *coroutine.Coroutine) (s stacks.Stack, why string) {
	all, err := stacks.All(stacks.MaxShort)
	if err == nil {
		var ids []uint64
		for _, g := range p.Executor().Goroutines(co) {
			id, _ := goruntime.Goid(g)
			ids = append(ids, id)
		}
		all = slices.DeleteFunc(all, func(one stacks.Stack) bool {
			return !slices.Contains(ids, one.ID)
		})
	} else {
		roots := []string{coroutineEnd, fiberEnd}
		if co == nil {
			roots = []string{loopEnd}
		}
		all, err = stacks.ByRoot(roots...)
	}
	if err == nil && len(all) == 0 {
		err = stacks.ErrGone
	}
	if err != nil {
		return s, "no stack: " + err.Error()
	}
	return oneOf(all)
}

// mostStacks is how many stacks are reported if several may be the stalled one.
const mostStacks = 4

// oneOf merges the stacks that may be the stalled one into one: coroutines of
// other Processors may run at this moment, or stall too.
func oneOf(all []stacks.Stack) (s stacks.Stack, why string) {
	if len(all) == 1 {
		return all[0], ""
	}
	var text strings.Builder
	for i, one := range all[:min(len(all), mostStacks)] {
		fmt.Fprintf(&text, "one of %d, number %d:\n%s\n", len(all), i+1, one.Text)
	}
	return stacks.Stack{Text: strings.TrimSuffix(text.String(), "\n")},
		fmt.Sprintf("the stack is one of %d", len(all))
}

// states maps the runtime's words for a goroutine's state to causes.
var states = []struct{ prefix, cause string }{
	{"chan ", CauseChannel},
	{"select", CauseChannel},
	{"sync.Mutex", CauseMutex},
	{"sync.RWMutex", CauseMutex},
	{"sync.WaitGroup", CauseWait},
	{"sync.Cond", CauseWait},
	{"sleep", CauseSleep},
	{"IO wait", CauseIO},
	{"syscall", CauseSyscall},
	{"running", CauseComputation},
	{"runnable", CauseComputation},
	{"preempted", CauseComputation},
}

// innermost maps functions among the innermost calls to causes, for stacks
// without a state. The first matching entry holds.
var innermost = []struct{ prefix, cause string }{
	{"time.Sleep", CauseSleep},
	{"runtime.chan", CauseChannel},
	{"runtime.selectgo", CauseChannel},
	{"runtime.block", CauseChannel},
	{"sync.(*WaitGroup).Wait", CauseWait},
	{"sync.(*Cond).Wait", CauseWait},
	{"sync.(*Mutex)", CauseMutex},
	{"sync.(*RWMutex)", CauseMutex},
	{"internal/sync.(*Mutex)", CauseMutex},
	{"internal/poll.runtime_pollWait", CauseIO},
	{"internal/poll.(*fdMutex)", CauseIO}, // waits for another reader or writer of the fd
	{"internal/synctest.", CauseWait},
	{"runtime.cgocall", CauseCgo},
	{"syscall.Syscall", CauseSyscall},
	{"syscall.RawSyscall", CauseSyscall},
	{"syscall.syscall", CauseSyscall},
	{"syscall.rawSyscall", CauseSyscall},
	{"internal/runtime/syscall.", CauseSyscall},
	{"golang.org/x/sys/unix.Syscall", CauseSyscall},
}

// searched is how many of the innermost calls are matched with innermost.
const searched = 6

// causeOf returns what a stalled Processor does, from its stack and the
// kernel's view of its thread.
func causeOf(s stacks.Stack, thread stacks.Thread) (cause, detail string) {
	if thread.Fault {
		return CausePageFault, thread.In
	}
	cause, detail = fromStack(s)
	switch {
	case cause == "" && s.Text == "" && thread.State == 'R':
		return CauseComputation, ""
	case cause == "":
		return CauseUnknown, kernel(s.State, thread)
	case cause == CauseSyscall || cause == CauseCgo:
		return cause, kernel(detail, thread)
	}
	return cause, detail
}

// kernel appends the kernel's view of the thread to detail.
func kernel(detail string, thread stacks.Thread) string {
	if thread.In == "" {
		return detail
	}
	return strings.TrimPrefix(detail+"; in the kernel's "+thread.In, "; ")
}

// fromStack returns the cause that a stack shows; "" if it shows none.
func fromStack(s stacks.Stack) (cause, detail string) {
	funcs := s.Funcs[:min(len(s.Funcs), searched)]
	for _, f := range funcs {
		if strings.Contains(f, "._Cfunc_") {
			return CauseCgo, f
		}
	}
	for _, w := range states {
		if strings.HasPrefix(s.State, w.prefix) {
			if w.cause == CauseSyscall {
				return w.cause, systemCall(funcs)
			}
			return w.cause, s.State
		}
	}
	for _, w := range innermost {
		for _, f := range funcs {
			if !strings.HasPrefix(f, w.prefix) {
				continue
			}
			if w.cause == CauseSyscall {
				return w.cause, systemCall(funcs)
			}
			return w.cause, f
		}
	}
	if s.State == "" && len(funcs) > 0 {
		return CauseComputation, ""
	}
	return "", ""
}

// systemCall returns the innermost function named after a system call: the
// function that calls syscall.Syscall or a variant of it.
func systemCall(funcs []string) string {
	for _, f := range funcs {
		name := f[strings.LastIndexByte(f, '.')+1:]
		if !strings.HasPrefix(f, "runtime.") && !strings.HasPrefix(f, "internal/runtime/") &&
			!strings.HasPrefix(strings.ToLower(strings.TrimPrefix(name, "Raw")), "syscall") &&
			!strings.HasPrefix(name, "rawSyscall") {
			return f
		}
	}
	return ""
}
