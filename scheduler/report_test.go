package scheduler

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netco-go/netco/coroutine"
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
		if n := strings.Count(out.String(), "\n"); n != c.lines {
			t.Errorf("%q: %d lines, want %d:\n%s", c.mode, n, c.lines, &out)
		}
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

// TestMayWake: which goroutines could end another's wait, where signals
// are in use and where not.
func TestMayWake(t *testing.T) {
	const (
		user  = "example.com/m.f"
		root  = "github.com/netco-go/netco."
		netco = "github.com/netco-go/netco/"
		waits = netco + "coroutine.(*Waiter)."
		run   = netco + "scheduler.(*Scheduler).Run"
		no    = 0
		yes   = 2
	)
	const ifSignals = 1
	for _, c := range []struct {
		name, state string
		funcs       []string
		want        int
	}{
		{"sleeps", "sleep", []string{"time.Sleep", user}, yes},
		{"in a channel", "chan receive", []string{user}, ifSignals},
		{"in a select", "select", []string{user}, ifSignals},
		{"sends", "chan send", []string{user}, no},
		{"in a lock", "sync.Mutex.Lock", []string{user}, no},
		{"of the runtime's", "semacquire", []string{user}, yes},
		{"in a bubble", "chan receive (durable)", []string{user}, yes},
		{"main", "IO wait", []string{"net.(*TCPListener).Accept", "main.main"}, yes},
		{"a server's", "IO wait", []string{"net/http.(*Server).Serve"}, yes},
		{"a client's", "select", []string{"net/http.(*persistConn).writeLoop"}, no},
		{"NotifyContext's", "select", []string{"os/signal.NotifyContext.func1"}, ifSignals},
		{"a coroutine's", stacks.Switching, []string{user}, no},
		{"a coroutine's that is blocked", "select", []string{user, coroutineEnd}, no},
		{"a loop's", "syscall", []string{"syscall.Syscall6", loopEnd}, no},
		{"Run's", "select", []string{netco + "scheduler.awaitRun", run, root + "Run", "main.main"},
			no},
		{"Run's that begins", "running",
			[]string{netco + "processor.(*Group).Go", run, root + "Main.func1"}, yes},
		{"Main's ahead of Run", "runnable", []string{root + "Main.func1"}, yes},
		{"Main's", "select", []string{root + "(*MainOptions).await", root + "Main", "main.main"},
			no},
		{"waits for a coroutine", "chan receive",
			[]string{waits + "Park", netco + "sync.(*Mutex).Lock", user}, no},
		{"waits for an fd", "chan receive", []string{waits + "Park", forFD, user}, yes},
		{"has been woken", "runnable",
			[]string{waits + "Park", netco + "sync.(*Mutex).Lock", user}, yes},
		{"the signals'", "syscall", []string{"os/signal.signal_recv", "os/signal.loop"}, no},
		{"in netco", "running", []string{netco + "channel.Make", user}, yes},
	} {
		got := no
		for _, signals := range []bool{true, false} {
			if mayWake(stacks.Stack{State: c.state, Funcs: c.funcs}, signals) {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestWithinNetco: whose call it is that blocks.
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
		{false, []string{"os.(*File).Read"}},
		{false, nil},
	} {
		var frames []runtime.Frame
		for _, f := range c.funcs {
			frames = append(frames, runtime.Frame{Function: f})
		}
		if got := withinNetco(frames); got != c.want {
			t.Errorf("%q: %v", c.funcs, got)
		}
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
		if got := causeToReport(c.cause, c.count, frames); got != c.want {
			t.Errorf("%s, %d, %q: %q, want %q", c.cause, c.count, c.funcs, got, c.want)
		}
	}
}

// TestFramesOf reads a traceback back.
func TestFramesOf(t *testing.T) {
	frames := framesOf(
		"main.(*T).f(0xc000012345, {0x1, 0x2})\n\t/src/a.go:12 +0x1d\n" +
			"main.main()\n\t/src/b.go:3\n" +
			"created by main.x in goroutine 1\n\t/src/c.go:4 +0x5\n",
	)
	var got []string
	for _, f := range frames {
		got = append(got, place(f.File, f.Line, f.Function))
	}
	if want := []string{"a.go:12 main.(*T).f", "b.go:3 main.main"}; fmt.Sprint(
		got,
	) != fmt.Sprint(
		want,
	) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestHandoffLogged: a logger gets the first handoff of a place.
func TestHandoffLogged(t *testing.T) {
	if err := coroutine.CanLeave(); err != nil {
		t.Skip("no handoffs: ", err)
	}
	core, logs := observer.New(zap.WarnLevel)
	s := testenv.Must(New(Options{Processors: 1, Logger: zap.New(core)}))
	testenv.OK(t, s.Start())
	block := make(chan int)
	wait := func() { <-block }
	for i := range 3 {
		testenv.Must(s.Go(NewSpawn(wait)))
		testenv.Until(t, "a handoff", func() bool {
			return slices.ContainsFunc(s.Handoffs(), func(h Handoff) bool {
				return h.Cause == CauseChannel && h.Count == uint64(i+1)
			})
		})
	}
	close(block)
	testenv.OK(t, s.Shutdown(t.Context()))
	lines := logs.FilterMessage("processor handed on").
		FilterField(zap.String("cause", CauseChannel)).All()
	if len(lines) != 1 ||
		lines[0].ContextMap()["instead"] != cures[CauseChannel] {
		t.Errorf("%v", lines)
	}
}
