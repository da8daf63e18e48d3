package diagnose

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/stacks"
	"github.com/netco-go/netco/internal/testenv"
)

// TestReporter: the first of each key is written, ten in all; the last says so.
func TestReporter(t *testing.T) {
	for _, c := range []struct {
		mode  string
		lines int
	}{{"", maxReports + 1}, {"off", 0}, {"all", 3 * 2 * maxReports}} {
		var out strings.Builder
		r := &reporter{out: &out, mode: c.mode}
		for range 3 {
			for i := range 2 * maxReports {
				r.write(fmt.Sprint(i), func() string { return "a line" })
			}
		}
		testenv.Equal(t, strings.Count(out.String(), "\n"), c.lines, c.mode, "lines", &out)
		if last := strings.Contains(out.String(), reportVariable); last != (c.mode == "") {
			t.Errorf("%q: says that it was the last: %v", c.mode, last)
		}
	}
}

// TestReporterLast: the line about the last report stands behind all of them,
// however long one takes to make. A later one used to overtake it.
func TestReporterLast(t *testing.T) {
	var out strings.Builder
	r := &reporter{out: &out}
	begun, goOn, written := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		r.write("slow", func() string { close(begun); <-goOn; return "slow" })
		close(written)
	}()
	<-begun
	for i := range maxReports - 1 {
		r.write(fmt.Sprint(i), func() string { return "quick" })
	}
	close(goOn)
	<-written
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if n := len(lines); n != maxReports+1 || lines[n-2] != "netco: slow" ||
		!strings.Contains(lines[n-1], "the last one") {
		t.Errorf("%d lines:\n%s", n, &out)
	}
}

// TestMayWake: which goroutines could end another's wait, of those that wait
// for no fd and no signal.
func TestMayWake(t *testing.T) {
	const user = "example.com/m.f"
	for _, c := range []struct {
		name, state string
		funcs       []string
		want        bool
	}{
		{"sleeps", "sleep", []string{"time.Sleep", user}, true},
		{"in a channel", "chan receive", []string{user}, false},
		{"in a select", "select", []string{user}, false},
		{"sends", "chan send", []string{user}, false},
		{"in a lock", "sync.Mutex.Lock", []string{user}, false},
		{"of the runtime's", "semacquire", []string{user}, true},
		{"in a bubble", "chan receive (durable)", []string{user}, true},
		{"main", "IO wait", []string{"net.(*TCPListener).Accept", "main.main"}, true},
		{"in a system call", "syscall", []string{"syscall.Syscall6", user}, true},
		{"runs", "running", []string{user}, true},
		{"has been woken", "runnable", []string{user}, true},
		{"the signals'", "syscall", []string{"os/signal.signal_recv", "os/signal.loop"}, false},
	} {
		testenv.Equal(t, mayWake(stacks.Stack{State: c.state, Funcs: c.funcs}), c.want, c.name)
	}
}

// TestWithinNetco: whose call it is that blocks. Only the user's gets advice: a
// lock of package outbox used to be reported as the user's to replace.
func TestWithinNetco(t *testing.T) {
	const netco = "github.com/netco-go/netco/"
	for _, c := range []struct {
		want  bool
		funcs []string // innermost first
	}{
		{false, []string{"runtime.gopark", "time.Sleep", "main.f", netco + "coroutine.workerMain"}},
		{true, []string{"syscall.Syscall6", "net.setSockopt", netco + "socket.Listen", "main.f"}},
		{true, []string{"syscall.Syscall6", "github.com/netco-go/netco.Listen", "main.f"}},
		{false, []string{"sync.(*Mutex).Lock", "example.com/lib.F", netco + "blocking.Do",
			"main.f"}},
		{true, []string{"sync.(*Mutex).Lock", netco + "outbox.(*Outbox).run"}},
		{false, []string{"os.(*File).Read"}}, {false, nil},
	} {
		var frames []runtime.Frame
		for _, f := range c.funcs {
			frames = append(frames, runtime.Frame{Function: f})
		}
		testenv.Equal(t, advice(CauseMutex, frames) == "", c.want, c.funcs)
	}
}

// TestCauseToReport: a lock of the standard library's own that is waited for
// once is no mistake, and within package net everything is that package's.
// net.Listen's first call takes a lock of internal/godebug's, and used to be
// reported as a sync.Mutex of the caller's.
func TestCauseToReport(t *testing.T) {
	const (
		lock = "internal/sync.(*Mutex).Lock"
		own  = "github.com/netco-go/netco/processor.f"
	)
	for _, c := range []struct {
		cause string
		count uint64
		funcs []string // innermost first
		want  string
	}{
		{CauseMutex, 1, []string{lock, "sync.(*Mutex).Lock", "main.f"}, CauseMutex},
		{CauseMutex, 1, []string{lock, "sync.(*Map).Load", "net.Listen", "main.f"}, ""},
		{CauseMutex, 2, []string{lock, "sync.(*Map).Load", "net.Listen", "main.f"}, CauseIO},
		{CauseMutex, 1, []string{lock, "sync.(*Mutex).Lock", "log.Print", "main.f"}, ""},
		{CauseMutex, 2, []string{lock, "sync.(*Mutex).Lock", "log.Print", "main.f"}, CauseMutex},
		{CauseMutex, 1, []string{lock, "sync.(*Mutex).Lock", "main.f", "net.control"}, CauseMutex},
		{CauseSyscall, 1, []string{"syscall.Syscall", "net.Listen", "main.f"}, CauseIO},
		{CauseSyscall, 1, []string{"syscall.Syscall", "syscall.Read", "main.f"}, ""},
		{CauseSyscall, 2, []string{"syscall.Syscall", "syscall.Read", "main.f"}, CauseSyscall},
		{CauseChannel, 1, []string{"runtime.gopark", "main.f"}, CauseChannel},
		{CauseChannel, 1, []string{"runtime.gopark", own, "main.f"}, ""},
		{CauseUnknown, 2, []string{"main.f"}, ""},
	} {
		var frames []runtime.Frame
		for _, f := range c.funcs {
			frames = append(frames, runtime.Frame{Function: f})
		}
		testenv.Equal(t, causeToReport(c.cause, c.count, frames), c.want, c.cause, c.count, c.funcs)
	}
}

// TestFramesOf reads a traceback back.
func TestFramesOf(t *testing.T) {
	frames := framesOf("main.(*T).f(0xc000012345, {0x1, 0x2})\n\t/src/a.go:12 +0x1d\n" +
		"main.main()\n\t/src/b.go:3\n" + "created by main.x in goroutine 1\n\t/src/c.go:4 +0x5\n")
	var got []string
	for _, f := range frames {
		got = append(got, place(f.File, f.Line, f.Function))
	}
	if want := []string{"a.go:12 main.(*T).f",
		"b.go:3 main.main"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestHandoffsBounded: beyond so many places only causes are distinguished.
func TestHandoffsBounded(t *testing.T) {
	o := New(Config{})
	causes := []string{CauseChannel, CauseMutex}
	const places = 100
	for i := range places {
		for _, cause := range causes {
			o.handoffs.countLocked(Handoff{Cause: cause, BlockedAt: fmt.Sprint("file.go:", i),
				Coroutine: uint64(i)})
		}
	}
	o.handoffs.countLocked(Handoff{Cause: CauseChannel, BlockedAt: "file.go:0", Coroutine: 1000})
	all := o.Handoffs()
	n, elsewhere := uint64(0), uint64(0)
	for _, one := range all {
		n += one.Count
		if one.BlockedAt == BlockedElsewhere {
			elsewhere += one.Count
		}
	}
	if len(all) != maxHandoffs+len(causes) || n != places*2+1 || elsewhere != places*2-maxHandoffs {
		t.Errorf("%d lines with %d handoffs, %d of them elsewhere", len(all), n, elsewhere)
	}
	testenv.Equal(t, all[len(causes)], (Handoff{Cause: CauseChannel, BlockedAt: "file.go:0",
		Count: 2, Coroutine: 1000}))
}

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
	{funcs("runtime.gopark", "time.Sleep", "main.f"), stacks.Thread{}, CauseSleep, "time.Sleep"},
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
