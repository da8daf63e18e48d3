package netco_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	stdsync "sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/sync"
)

// A beginner's mistakes, each in a program of its own.

func inChannel() { <-make(chan int) }

func inMutex() {
	var mu stdsync.Mutex
	var locked sync.WaitGroup
	locked.Add(1)
	netco.Go(func() { mu.Lock(); locked.Done(); netco.Sleep(time.Hour) })
	locked.Wait()
	mu.Lock()
}

func inWaitGroup() {
	var wg stdsync.WaitGroup
	wg.Add(1)
	wg.Wait()
}

func inNet() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	ln.Accept()
}

func inSleep() { time.Sleep(time.Hour) }

func inContext() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	<-ctx.Done()
}

func inCall() {
	var pipe [2]int
	testenv.MustOK(syscall.Pipe(pipe[:]))
	syscall.Read(pipe[0], make([]byte, 1))
}

// inSecond blocks for a time, and then, without a call of netco in between, in
// another call for good.
func inSecond(first time.Duration) {
	ts := syscall.NsecToTimespec(int64(first))
	syscall.Nanosleep(&ts, nil)
	<-make(chan int)
}

func inLoop() {
	//lint:ignore SA5002 the mistake
	for {
	}
}

func inLocks() {
	var a, b sync.Mutex
	var held sync.WaitGroup
	held.Add(2)
	cross := func(first, second *sync.Mutex) {
		first.Lock()
		held.Done()
		held.Wait()
		second.Lock()
	}
	netco.GoWith(netco.Spawn{Name: "one", Fn: func() { cross(&a, &b) }})
	netco.GoWith(netco.Spawn{Name: "victim", Fn: func() { cross(&b, &a) }})
}

var mistakes = map[string]struct {
	make func()
	want []string // in the report
}{
	"Go channel": {
		inChannel,
		[]string{"Go channel", "netco_test.inChannel", "channel.Make", "#blocking-calls"},
	},
	"sync.Mutex": {
		inMutex,
		[]string{"sync", "netco_test.inMutex", "netco/sync", "#blocking-calls"},
	},
	"sync.WaitGroup": {
		inWaitGroup,
		[]string{"sync.WaitGroup", "netco_test.inWaitGroup", "netco/sync"},
	},
	"package net":  {inNet, []string{"package net", "netco_test.inNet", "netco/net"}},
	"time.Sleep":   {inSleep, []string{"time.Sleep", "netco_test.inSleep", "netco.Sleep"}},
	"ctx.Done":     {inContext, []string{"Go channel", "netco_test.inContext", "sync.Wait of"}},
	"system call":  {inCall, []string{"a system call", "netco_test.inCall", "blocking.Do"}},
	"endless loop": {inLoop, []string{"computes", "netco_test.inLoop", "netco.Yield"}},
	"deadlock": {
		inLocks,
		[]string{"deadlock", "netco_test.inLocks", "waiting for a lock", "#deadlocks"},
	},
}

// reporters are children that make mistakes.
var reporters = testenv.Children{
	"mistake": func() {
		m := mistakes[os.Args[1]].make
		netco.Run(func() {
			if os.Args[1] == "deadlock" {
				m()
				return
			}
			netco.GoWith(netco.Spawn{Name: "victim", Fn: m})
			netco.Sleep(time.Hour)
		})
	},
	"again": func() {
		netco.Run(func() { inSecond(testenv.Must(time.ParseDuration(os.Args[1]))) })
	},
	"holders": func() { netco.Run(holders[os.Args[1]].make) },
	"quiet": func() {
		o := map[string]netco.Options{
			"Quiet":        {Quiet: true},
			"Logger":       {Logger: zap.NewNop()},
			"Slog":         {Slog: slog.New(slog.DiscardHandler)},
			"NETCO_REPORT": {},
		}[os.Args[1]]
		o.Processors = 2
		testenv.MustOK(netco.Start(o))
		netco.GoWith(netco.Spawn{Name: "victim", Fn: func() { time.Sleep(time.Hour) }})
		noticed()
	},
	"deadlock": func() { fmt.Println(netco.Run(deadlocks[os.Args[1]].run)) },
	"locked deadlock": func() {
		testenv.MustOK(netco.Start(netco.Options{LockThreads: true}))
		fmt.Println(netco.Run(deadlocks[os.Args[1]].run))
	},
}

// noticed returns when the handoff or stall of a coroutine has been counted.
func noticed() {
	s := testenv.Must(netco.Default())
	for len(s.Handoffs())+len(s.Stalls()) == 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond) // a report would follow
}

// stderrOf starts a child and returns what it writes to stderr, up to where
// enough says so. The child is killed.
func stderrOf(t *testing.T, cmd *exec.Cmd, enough func(text string) bool) string {
	t.Helper()
	stderr := testenv.Must(cmd.StderrPipe())
	testenv.OK(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var text strings.Builder
	for chunk := make([]byte, 4096); !enough(text.String()); {
		n, err := stderr.Read(chunk)
		if text.Write(chunk[:n]); err != nil {
			t.Fatalf("the child's report: %v\n%s", err, &text)
		}
	}
	return text.String()
}

// reported waits for a report of a child with all of parts.
func reported(t *testing.T, cmd *exec.Cmd, parts ...string) {
	t.Helper()
	stderrOf(t, cmd, func(text string) bool { return says(text, parts...) })
}

// says reports whether one of the reports in text has all of parts. On a busy
// machine there may be others, of coroutines that did not get a CPU.
func says(text string, parts ...string) bool {
	for one := range strings.SplitSeq("\n"+text, "\nnetco: ") {
		lacks := func(part string) bool { return !strings.Contains(one, part) }
		if !slices.ContainsFunc(parts, lacks) {
			return true
		}
	}
	return false
}

// TestMistakes: each is reported on stderr: what, which coroutine, where, what
// to write instead, and where to read on.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for name, c := range mistakes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := append(c.want, `"victim"`, "mistakes_test.go:", "https://")
			reported(t, reporters.Command(t, "mistake", name), want...)
		})
	}
}

// TestBlocksAgain: a coroutine that went on outside netco after a wait, which
// was reported or too short for that, is reported once it blocks for long.
// It used to be lost: no second handoff follows.
func TestBlocksAgain(t *testing.T) {
	t.Parallel()
	if err := testrun.CanHandOn(); err != nil {
		t.Skip("both waits are one stall, which is reported once: ", err)
	}
	for _, first := range []string{"30ms", "140ms"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			reported(t, reporters.Command(t, "again", first), "Go channel", "inSecond")
		})
	}
}

// TestSilenced: a logger takes the place of the reports, and an option and the
// environment leave them out.
func TestSilenced(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"Quiet", "Logger", "Slog", "NETCO_REPORT"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd := reporters.Command(t, "quiet", how)
			if how == "NETCO_REPORT" {
				cmd.Env = append(cmd.Env, "NETCO_REPORT=off")
			}
			var out bytes.Buffer
			cmd.Stderr = &out
			if err := cmd.Run(); err != nil || out.Len() != 0 {
				t.Errorf("%v, %s", err, &out)
			}
		})
	}
}

// deadlocks are what Run runs in a child, and how what it returns begins; ""
// for those of TestNoDeadlockEndsRun.
var deadlocks = map[string]struct {
	run  func()
	want string
}{
	"locks":   {inLocks, "netco: deadlock: 2 coroutines wait for one another: "},
	"channel": {func() { channel.Make[int](0).Recv() }, oneDead},
	"itself":  {func() { var wg sync.WaitGroup; wg.Add(1); wg.Wait() }, oneDead},
	"goroutine": {func() {
		wokenBy(func(wake func()) { go func() { time.Sleep(1500 * time.Millisecond); wake() }() })
	}, "<nil>"},
	"timer": {func() {
		wokenBy(func(wake func()) { netco.AfterFunc(1500*time.Millisecond, wake) })
	}, "<nil>"},
	"sleeper": {func() {
		wokenBy(
			func(wake func()) { netco.Go(func() { netco.Sleep(1500 * time.Millisecond); wake() }) },
		)
	}, "<nil>"},
	"context": {func() {
		ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
		defer cancel()
		if _, err := channel.Make[int](0).RecvContext(ctx); !errors.Is(err,
			context.DeadlineExceeded) {
			panic(err)
		}
	}, "<nil>"},
	"520":   {func() { inChannels(520) }, "netco: deadlock: 520 coroutines"},
	"1000":  {func() { inChannels(1000) }, "netco: deadlock: 1000 coroutines"},
	"10000": {func() { inChannels(10_000) }, "netco: deadlock: 10000 coroutines"},
	"Go's channel": {func() {
		c, full := make(chan int), make(chan int)
		var begun sync.WaitGroup
		begun.Add(1)
		netco.Go(func() { begun.Done(); <-c })
		begun.Wait()
		select {
		case <-c:
		case full <- 1:
		}
	}, "netco: deadlock: 2 coroutines"},
	"Go's lock": {func() { var mu stdsync.Mutex; mu.Lock(); mu.Lock() }, oneDead},
	"a blocking call": {func() {
		blocking.Do(context.Background(), func() { <-make(chan int) })
	}, oneDead},
	"a goroutine that ends": {func() {
		go time.Sleep(1500 * time.Millisecond)
		channel.Make[int](0).Recv()
	}, oneDead},
	"another Scheduler's end": {func() {
		s := testenv.Must(scheduler.New(netco.Options{Processors: 1}))
		testenv.MustOK(s.Start())
		testenv.Must(s.Go(func() { netco.Sleep(1500 * time.Millisecond) }))
		channel.Make[int](0).Recv()
	}, oneDead},
	"a goroutine, with signals": {func() {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
		go func() { <-make(chan int) }()
		channel.Make[int](0).Recv()
	}, oneDead},
	"Go's timer": {func() {
		wokenBy(func(wake func()) { time.AfterFunc(1500*time.Millisecond, wake) })
	}, "<nil>"},
	"Go's timer, Go's channel": {func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		<-ctx.Done()
	}, "<nil>"},
	"signal": {func() {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGUSR1)
		fmt.Println("ready")
		<-signals
	}, ""},
	"a goroutine that has waited for an fd": {func() {
		ln := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
		defer ln.Close()
		go ln.Accept()
		for n := uint64(0); n == 0; netco.Yield() {
			n, _ = processor.GoroutinesAtFDs()
		}
		testenv.Must(net.Dial("tcp", ln.Addr().String()))
		channel.Make[int](0).Recv()
	}, oneDead},
	"connection":             {func() { wokenByConnection(func(f func()) { netco.Go(f) }) }, ""},
	"goroutine's connection": {func() { wokenByConnection(func(f func()) { go f() }) }, ""},
}

const oneDead = "netco: deadlock: 1 coroutines"

// inChannels has n coroutines wait for others, all but one at the same place.
func inChannels(n int) {
	var wg sync.WaitGroup
	c := channel.Make[int](0)
	for range n - 1 {
		wg.Go(func() { c.Recv() })
	}
	wg.Wait()
}

// wokenBy waits for a channel until something calls wake.
func wokenBy(begin func(wake func())) {
	c := channel.Make[int](0)
	begin(func() { c.Send(1) })
	c.Recv()
}

// wokenByConnection waits for a channel until what start starts has accepted a
// connection.
func wokenByConnection(start func(func())) {
	ln := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	fmt.Println(ln.Addr())
	wokenBy(func(wake func()) { start(func() { ln.Accept(); wake() }) })
}

// TestDeadlockEndsRun: Run names the coroutines, and returns nothing of the
// kind while something could wake one.
func TestDeadlockEndsRun(t *testing.T) {
	t.Parallel()
	for name, c := range deadlocks {
		if c.want == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "10000" {
				testenv.Long(t)
			}
			out, err := testenv.Output(reporters.Command(t, "deadlock", name))
			if err != nil || !strings.HasPrefix(out, c.want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	t.Run("threads locked", func(t *testing.T) {
		t.Parallel()
		out, err := testenv.Output(reporters.Command(t, "locked deadlock", "Go's lock"))
		if err != nil || !strings.HasPrefix(out, oneDead) {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// TestNoDeadlockEndsRun: Run goes on while a connection or a signal may come.
func TestNoDeadlockEndsRun(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]string{
		"connection": "deadlock", "goroutine's connection": "any of the 1 coroutines.",
		"signal": "deadlock",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := reporters.Command(t, "deadlock", name)
			var text bytes.Buffer
			cmd.Stderr = &text
			stdout := bufio.NewReader(testenv.Must(cmd.StdoutPipe()))
			testenv.OK(t, cmd.Start())
			addr := testenv.Must(stdout.ReadString('\n'))
			time.Sleep(2500 * time.Millisecond) // a deadlock would have ended Run
			if name == "signal" {
				testenv.OK(t, cmd.Process.Signal(syscall.SIGUSR1))
			} else {
				testenv.Closing(t, testenv.Must(net.Dial("tcp", strings.TrimSpace(addr))))
			}
			out := testenv.Must(io.ReadAll(stdout))
			err := cmd.Wait()
			if err != nil || string(out) != "<nil>\n" || says(text.String(), wrong) {
				t.Errorf("%v: %s\n%s", err, out, text.String())
			}
		})
	}
}
