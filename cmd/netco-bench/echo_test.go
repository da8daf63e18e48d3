package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/cmd/netco-bench/internal/compare"
	"github.com/netco-go/netco/internal/testenv"
)

// few are flags for rounds of so few requests that a test can wait for them.
const few = " -n 1000 -d 5m -timeout 5m -warmup 0s -verify"

// measured runs echo or proxy, and wants so many tables, in each of which each
// server has answered each request, and has cost something.
func measured(t *testing.T, args string, tables int) (stdout, stderr string, f *compare.File) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.json")
	var out, errs bytes.Buffer
	if code := run(t.Context(), strings.Fields(args+few+" -json "+file), &out,
		&errs); code != exitOK {
		t.Fatalf("%s: exit code %d\n%s", args, code, &errs)
	}
	f = testenv.Must(readSaved(file)).compare
	if len(f.Comparisons) != tables {
		t.Fatalf("%s: %d tables, want %d", args, len(f.Comparisons), tables)
	}
	for _, c := range f.Comparisons {
		for _, s := range c.Sides {
			for _, r := range s.Rounds {
				if r.Totals.Requests != 1000 || r.Totals.Errors.Sum() != 0 || r.Server == nil ||
					r.Server.User+r.Server.System <= 0 || r.Server.RSSMax == 0 {
					t.Errorf("%s: %s: %+v, server %+v", c.Title, s.Name, r.Totals, r.Server)
				}
			}
		}
	}
	return out.String(), errs.String(), f
}

// TestEcho measures all servers under loads of each kind, with every byte
// compared.
func TestEcho(t *testing.T) {
	noChildren(t)
	sameFiles(t)
	var all []string
	for name := range echoServers {
		if name != "c" && faultyServers[name] == nil {
			all = append(all, name)
		}
	}
	for _, c := range []struct {
		flags  string
		tables int
		wants  string
	}{
		{"-conns 4 -rounds 1 -servers " + strings.Join(all, ","), 1,
			"closed loop, 4 connections,"},
		{"-conns 4 -rounds 1 -size 64,5000x16 -processors 1", 2,
			"pipeline 16, 1 threads, 5000 B"},
		{"-conns 4 -rounds 1 -rate 20k,40k -procs 2 -spin off -arrival poisson -servers netco", 2,
			"poisson, 4 connections, pipeline 1, 1 threads, 64 B, GOMAXPROCS 2, no spinning"},
		{"-conns 4 -rounds 1 -work 1us,100us:0.1 -servers netco,netco-goroutines", 1,
			"1us,100us:0.1 of work"},
		{"-conns 4 -rounds 1 -work 1us,100us:0.1 -pipeline 3 -servers net,netco", 1, "p90 of 1µs"},
	} {
		stdout, stderr, _ := measured(t, "echo -threads 1 "+c.flags, c.tables)
		if !strings.Contains(stdout, c.wants) || !strings.Contains(stdout, "server CPU/request") ||
			!strings.Contains(stderr, "round 1 of ") {
			t.Errorf("%s:\n%s\n%s", c.flags, stdout, stderr)
		}
	}
}

// TestEchoWork: a request's work is CPU time of the server, or time that its
// answer takes. Half of the CPU time is wanted, of a machine that may have been
// slow when it was measured.
func TestEchoWork(t *testing.T) {
	_, _, f := measured(t, "echo -servers net -conns 1 -rounds 1 -q -work 200us", 1)
	if s := f.Comparisons[0].Sides[0].Rounds[0].Server; (s.User + s.System).Seconds() < 0.1 {
		t.Errorf("1000 requests with 200 µs of work took %v", s.User+s.System)
	}
	_, _, f = measured(t, "echo -servers netco -conns 1 -rounds 1 -q -work sleep=1ms", 1)
	times := f.Comparisons[0].Sides[0].Rounds[0].Response
	if p1 := time.Duration(times.At(1)); p1 < time.Millisecond {
		t.Errorf("the p1 of requests that sleep 1 ms is %v", p1)
	}
}

func TestProxy(t *testing.T) {
	noChildren(t)
	sameFiles(t)
	stdout, _, _ := measured(t, "proxy -conns 4 -size 1000,20000x3 -rounds 1 -threads 1", 2)
	for _, want := range []string{"1000 B", "pipeline 3, 1 threads, 20000 B", "a: net-splice, ",
		"c: netco, 1 rounds"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}

// TestFloor: the server in C answers every byte, and leaves nothing behind.
func TestFloor(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("this machine has no C compiler: ", err)
	}
	noChildren(t)
	t.Setenv("TMPDIR", t.TempDir())
	measured(t, "echo -servers c -conns 4 -size 64,64x16,100000x2 -rounds 1 -q", 3)
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestEchoFails: what is wrong with a server is said, and no process is left.
func TestEchoFails(t *testing.T) {
	for _, c := range []struct {
		server, path, want string
		code               int
	}{
		{"dies", "", "and the server has ended: panic: out of luck", exitFailed},
		{"unborn", "", "no such luck", exitFailed},
		{"c", "none", "needs a C compiler", exitFailed},
		{"garbles", "", "errors, the first: wrong answer: byte 32", exitOK},
		{"adds", "", "errors, the first: wrong answer", exitOK},
	} {
		t.Run(c.server, func(t *testing.T) {
			noChildren(t)
			if c.path != "" {
				t.Setenv("PATH", c.path)
			}
			var out bytes.Buffer
			code := run(t.Context(), strings.Fields("echo -rounds 1 -conns 4 -servers "+c.server+
				few), &out, &out)
			if code != c.code || !strings.Contains(out.String(), c.want) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, c.code, c.want, &out)
			}
		})
	}
}

func TestEchoInterrupt(t *testing.T) {
	noChildren(t)
	fifo := newFIFO(t)
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int)
	var stderr bytes.Buffer
	go func() {
		code <- run(ctx, strings.Fields("echo -servers announced -d 5m"), io.Discard, &stderr)
	}()
	pid := awaitPID(t, fifo)
	cancel()
	if got := <-code; got != exitInterrupted ||
		!strings.HasSuffix(stderr.String(), "interrupted\n") {
		t.Errorf("exit code %d, stderr %q", got, &stderr)
	}
	awaitEnd(t, pid)
}

// A parent that is killed outright leaves no server behind.
func TestEchoNoOrphan(t *testing.T) {
	fifo := newFIFO(t)
	parent := exec.Command(testenv.Must(os.Executable()), "echo", "-servers", "announced", "-d",
		"5m")
	testenv.OK(t, parent.Start())
	pid := awaitPID(t, fifo)
	testenv.OK(t, parent.Process.Signal(unix.SIGKILL))
	_ = parent.Wait() // killed, as intended
	awaitEnd(t, pid)
}

// TestStartOwn: a server enters its cgroup and has its CPU and its GOMAXPROCS
// from its first instruction on.
func TestStartOwn(t *testing.T) {
	noChildren(t)
	fifo, group := newFIFO(t), t.TempDir()
	cpus := []int{testenv.Must(affinity(0))[0]}
	started := make(chan *serverCommand)
	go func() {
		s, url, err := startOwn(t.Context(), group, 3, cpus, []string{"serve", "announced"})
		if err != nil || !strings.HasPrefix(url, "tcp://127.0.0.1:") {
			t.Errorf("%s, %v", url, err)
		}
		started <- s
	}()
	pid := awaitPID(t, fifo)
	s := <-started
	defer s.stop()
	env := testenv.Must(os.ReadFile(filepath.Join("/proc", itoa(pid), "environ")))
	entered, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	if err != nil || string(entered) != "0\n" || !strings.Contains(string(env), "GOMAXPROCS=3") ||
		s.cmd.Process.Pid != pid || !slices.Equal(testenv.Must(affinity(pid)), cpus) {
		t.Errorf("%q, %v; pid %d of %d, CPUs %v, %q", entered, err, s.cmd.Process.Pid, pid,
			testenv.Must(affinity(pid)), env)
	}
}

func affinity(pid int) (cpus []int, err error) {
	var set unix.CPUSet
	err = unix.SchedGetaffinity(pid, &set)
	for cpu := range 1024 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, err
}

func TestEchoRefuses(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-conns 0", "want a whole number from 1"},
		{"-conns 1,,2", "want a whole number"},
		{"-conns 999999", "open files"},
		{"-size 0", "want bytes from 1"},
		{"-size 10x", "want a whole number"},
		{"-size 1048576x1000", "in flight on a connection"},
		{"-d 1ms", "want a time of 10ms"},
		{"-rounds 0", "-rounds must"},
		{"-procs -1", "-procs"},
		{"-processors -1", "-processors not negative"},
		{"-servers nginx", "unknown server"},
		{"-servers ,", "unknown server"},
		{"-servers net,net", "twice"},
		{"-spin maybe", "-spin must"},
		{"-rate 10k,", "want requests per second"},
		{"-rate 10k -arrival bursts", "uniform or poisson"},
		{"-arrival poisson", "give a -rate"},
		{"-work 40", "\"40\" is no time"},
		{"-work 5us -servers net,netco-idle", "netco-idle computes nothing"},
		{"-c 5", "-c: echo sets it itself"},
		{"-no-such-flag", "no-such-flag"},
		{"tcp://x:1", "its servers are its own"},
		{"stray", "\"stray\" is neither"},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), append([]string{"echo"}, strings.Fields(c.args)...), &out,
			&out); code != exitUsage || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: exit code %d, %s, want %q", c.args, code, &out, c.want)
		}
	}
}

// TestScrape: the server that is watched notices that there are no metrics.
func TestScrape(t *testing.T) {
	if err := scrapeOnce(nothing{}); err == nil {
		t.Error("no error")
	}
}

// longEnough has something measured for so short a time that a busy machine may
// have nothing to count, and then for longer and longer.
func longEnough(t *testing.T, measure func(duration string) error) {
	t.Helper()
	err := errors.New("not measured")
	for d := 50 * time.Millisecond; d < 30*time.Second; d *= 4 {
		if err = measure(d.String()); err == nil {
			return
		}
		t.Logf("in %v: %v", d, err)
	}
	t.Fatal(err)
}
