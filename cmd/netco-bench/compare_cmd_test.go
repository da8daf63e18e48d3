package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/internal/testenv"
)

// fakeLoad is a variable of the environment that makes the test binary's load a
// fake.
const fakeLoad = "NETCO_BENCH_FAKE_LOAD"

// playPart makes the test binary a server, or a load that is a fake.
func playPart(args []string) {
	switch {
	case args[0] == "accept":
		l, err := net.Listen("tcp", args[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		for {
			if c, err := l.Accept(); err == nil {
				c.Close()
			}
		}
	case args[0] == "load" && os.Getenv(fakeLoad) != "":
		r := loaded(args[len(args)-1], 100, time.Millisecond)
		r.Tool = strings.Join(args, " ")
		r.Failure = os.Getenv(fakeLoad)
		switch r.Failure {
		case "fine":
			r.Failure = ""
		case "silent":
			os.Exit(1)
		case "refused":
			fmt.Fprintln(os.Stderr, "first\nnetco-bench load: refused\nRun 'netco-bench load -h' "+
				"for the flags.")
			os.Exit(1)
		}
		testenv.MustOK(writeJSON(args[slices.Index(args, "-json")+1], nil, r))
		if r.Failure != "" {
			os.Exit(1)
		}
		os.Exit(0)
	}
}

func TestLoadInChild(t *testing.T) {
	for part, want := range map[string]string{"fine": "", "died": "died", "silent": "exit status 1",
		"refused": "load: refused"} {
		t.Setenv(fakeLoad, part)
		r, err := loadInChild(t.Context(), nil, []string{"-c", "3", "tcp://x:1"})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", part, err)
		}
		if r == nil {
			continue
		}
		// The fake returns its flags in Tool. The file is none of the load's.
		if args := []string{"-c", "3", "tcp://x:1"}; r.Totals.Requests != 100 ||
			!strings.HasPrefix(r.Tool, "load -q -json ") ||
			!strings.HasSuffix(r.Tool, ".json -c 3 tcp://x:1") || !slices.Equal(r.Args, args) {
			t.Errorf("%s: %q, %q", part, r.Tool, r.Args)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := loadInChild(gone, nil, nil); err == nil {
		t.Error("after the end: no error")
	}
}

func TestSplitLoad(t *testing.T) {
	own := map[string]bool{"rounds": true, "q": false}
	for line, want := range map[string][3]string{
		"tcp://a:1 tcp://b:1":                   {"", "", "tcp://a:1 tcp://b:1"},
		"-c 64 tcp://a:1 -rounds 3 tcp://b:1":   {"-rounds 3", "-c 64", "tcp://a:1 tcp://b:1"},
		"-q a.json --rounds=3 b.json,c.json":    {"-q --rounds=3", "", "a.json b.json,c.json"},
		"-verify h2://a -H=x://y -size 64:80":   {"", "-verify -H=x://y -size 64:80", "h2://a"},
		"unix:///tmp/s -H Referer:http://x -d=": {"", "-H Referer:http://x -d=", "unix:///tmp/s"},
		"-rounds":                               {"-rounds", "", ""},
	} {
		mine, load, targets, err := splitLoad(strings.Fields(line), own)
		got := [3]string{strings.Join(mine, " "), strings.Join(load, " "),
			strings.Join(targets, " ")}
		if err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", line, got, err, want)
		}
	}
	for _, line := range []string{"nonsense", "tcp://a:1 b:1", "-c 64 65"} {
		if _, _, _, err := splitLoad(strings.Fields(line), own); err == nil {
			t.Errorf("%q: no error", line)
		}
	}
}

// fakeTargets answer for the loads of a command: they count, and the second is
// twice as fast.
type fakeTargets struct {
	calls []string
	fail  int // the number of a call that fails
}

func (f *fakeTargets) load(_ context.Context, args []string) (*result.Result, error) {
	f.calls = append(f.calls, strings.Join(args, " "))
	if len(f.calls) == f.fail {
		return nil, errors.New("the server is gone")
	}
	target := args[len(args)-1]
	requests, latency := 100, 2*time.Millisecond
	if strings.Contains(target, "b:") {
		requests, latency = 200, time.Millisecond
	}
	if i := slices.Index(args, "-rate"); i >= 0 {
		rate, _ := strconv.Atoi(args[i+1])
		if requests = min(requests, rate); rate > 50 {
			latency *= 10
		}
	}
	return loaded(target, requests, latency), nil
}

// A commandTest is a command line, and what comes of it.
type commandTest struct {
	args         string
	fail         int
	calls        int
	code         int
	stdout, file string
	stderr       string
}

func (c *commandTest) run(t *testing.T, name string, by func(context.Context, loader, []string,
	io.Writer, io.Writer) error) {
	t.Helper()
	targets := &fakeTargets{fail: c.fail}
	var stdout, stderr bytes.Buffer
	cmd := command{name: name}
	code := exitCode(t.Context(), cmd, by(t.Context(), targets.load, strings.Fields(c.args),
		&stdout, &stderr), &stderr)
	if code != c.code || len(targets.calls) != c.calls {
		t.Errorf("%q: exit code %d, want %d, after %q\n%s", c.args, code, c.code, targets.calls,
			&stderr)
	}
	words := strings.Join(strings.Fields(stdout.String()), " ")
	if !strings.Contains(words, c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
		t.Errorf("%q:\n%s\n%s", c.args, &stdout, &stderr)
	}
	if c.file != "" {
		if info, err := os.Stat(c.file); err != nil || info.Size() == 0 {
			t.Errorf("%q: no %s: %v", c.args, c.file, err)
		}
	}
}

func TestCompareCommand(t *testing.T) {
	t.Chdir(savedFiles(t))
	for _, c := range []commandTest{
		{args: "-h", stdout: "compare A B [flags]"},
		{args: "", code: exitUsage, stderr: "two targets needed"},
		{args: "tcp://a:1", code: exitUsage, stderr: "two targets needed"},
		{args: "tcp://a:1 tcp://b:1 -rounds 0", code: exitUsage, stderr: "-rounds must be"},
		{args: "tcp://a:1 tcp://b:1 -csv x", code: exitUsage, stderr: "-csv: rounds are written"},
		{args: "tcp://a:1 tcp://b:1 -names x", code: exitUsage, stderr: "1 names for 2 sides"},
		{args: "tcp://a:1 a.json", code: exitUsage, stderr: "cannot be compared with a URL"},
		{args: "-a x tcp://a:1", code: exitUsage, stderr: "go together"},
		{args: "-a x -b y", code: exitUsage, stderr: "need the URL"},
		{args: "-side x tcp://a:1", code: exitUsage, stderr: "is not NAME=COMMAND"},
		{args: "-side x=y tcp://a:1", code: exitUsage, stderr: "nothing to be compared with"},
		{args: "-side x=y -a v -b w tcp://a:1 tcp://b:1", code: exitUsage,
			stderr: "or one for each"},
		{args: "tcp://a:1 tcp://b:1 -json gone/x.json", code: exitFailed, stderr: "gone/x.json"},
		{args: "tcp://a:1 tcp://b:1", calls: 12, stdout: "requests/s ↑ 100 ±0.0 % 200 ±0.0 % " +
			"2.00 2.00–2.00 b is better", stderr: "round 6 of 6, tcp://a:1: 100"},
		{args: "tcp://a:1 tcp://b:1 -rounds 2 -q -json c.json", calls: 4,
			stdout: "2 rounds: an interval needs 6", file: "c.json"},
		{args: "c.json", stdout: "p99 ↓ 2 ms ±0.0 % 1 ms ±0.0 % 0.50 2 rounds"},
		{args: "tcp://a:1 tcp://b:1 -names old,new", fail: 8, calls: 8, code: exitFailed,
			stdout: "b: new, 4 rounds old ended in round 4: the server is gone",
			stderr: "round 4 of old: the server is gone"},
		{args: "tcp://a:1 tcp://b:1", fail: 2, calls: 2, code: exitFailed,
			stderr: "the server is gone"},
		{args: "a.json b.json", stdout: "requests/s ↑ 100 300 3.00 one round: no interval"},
		{args: "a.json,b.json b.json,a.json -names x,y", stdout: "b: y, 2 rounds"},
		{args: "a.json b.json -c 4", code: exitUsage, stderr: "not loaded again"},
		{args: "a.json", code: exitUsage, stderr: "two results needed"},
		{args: "a.json sweep.json", code: exitUsage, stderr: "no result of load"},
		{args: "a.json gone.json", code: exitFailed, stderr: "gone.json"},
	} {
		c.run(t, "compare", compareBy)
	}
}

func TestSweepCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []commandTest{
		{args: "-h", stdout: "sweep URL [flags]"},
		{args: "", code: exitUsage, stderr: "one target needed"},
		{args: "tcp://a:1 -rate 10", code: exitUsage, stderr: "-rate: sweep sets the rates itself"},
		{args: "tcp://a:1 -knee 1", code: exitUsage, stderr: "-knee must be"},
		{args: "tcp://a:1 -halve -1", code: exitUsage, stderr: "-halve must"},
		{args: "tcp://a:1 -c 4 -json s.json", calls: 1 + 5 + 2 + 4, file: "s.json",
			stderr: "closed loop: 100 requests/s",
			stdout: "The knee is at 50 requests/s, 50 % of the closed loop's 100; at 53: latency " +
				"turned up."},
		{args: "tcp://a:1 -knee 11 -q -halve 0", calls: 1 + 10 + 2,
			stdout: "knee is at 100 requests/s, 100 % of the closed loop's 100; at 110: did not " +
				"keep up"},
		{args: "tcp://a:1", fail: 1, calls: 1, code: exitFailed,
			stderr: "the closed loop: the server is gone"},
		{args: "tcp://a:1", fail: 4, calls: 4, code: exitFailed, stderr: "at 30 requests",
			stdout: "No knee up to 20"},
	} {
		c.run(t, "sweep", sweepBy)
	}
}

// TestServerCommand: compare starts a server for each round, measures that
// process, and leaves none behind.
func TestServerCommand(t *testing.T) {
	self := testenv.Must(os.Executable())
	free := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
	address := free.Addr().String()
	testenv.OK(t, free.Close())
	target := "tcp://" + address
	pids := map[string]bool{}
	load := func(_ context.Context, args []string) (*result.Result, error) {
		if !accepts("tcp", address) || args[0] != "-pid" || pids[args[1]] {
			t.Errorf("the server of %q does not accept, or ran before", args)
		}
		pids[args[1]] = true
		return loaded(target, 100, time.Millisecond), nil
	}
	command := self + " accept " + address
	err := compareBy(t.Context(), load, []string{"-a", command, "-b", command, target, "-rounds",
		"2", "-q"}, io.Discard, io.Discard)
	if err != nil || len(pids) != 4 {
		t.Errorf("%d servers, %v", len(pids), err)
	}
	var stdout bytes.Buffer
	err = compareBy(t.Context(), load, []string{"-side", "x=" + command, "-side", "y=" + command,
		"-side", "z=" + command, target, "-rounds", "1", "-q"},
		&stdout, io.Discard)
	if err != nil || len(pids) != 7 || !strings.Contains(stdout.String(), "c: z, 1 rounds") {
		t.Errorf("%d servers, %v: %s", len(pids), err, &stdout)
	}
	if accepts("tcp", address) {
		t.Error("a server is left")
	}
	for command, want := range map[string]string{
		"/nonexistent/server":             "no such file",
		"sh -c exit":                      "it has ended",
		"echo sorry; exit 1":              "it has ended: sorry",
		self + " accept 256.0.0.1:1 2>&1": "it has ended: listen",
		" ":                               "a command is empty",
	} {
		if s, err := startServer(t.Context(), command, target); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", command, s, err)
		}
	}
	l := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	if _, err := startServer(t.Context(), command, "tcp://"+l.Addr().String()); err == nil ||
		!strings.Contains(err.Error(), "in use before") {
		t.Errorf("a port in use: %v", err)
	}
}

func TestDialable(t *testing.T) {
	for target, want := range map[string]string{
		"tcp://127.0.0.1:80": "tcp 127.0.0.1:80", "http://x/y": "tcp x:80",
		"https://[::1]/": "tcp [::1]:443", "unix:///tmp/s": "unix /tmp/s",
		"redis://x": "tcp x:6379", "udp://x:1": " ", "tcp://x": "! tcp://x names no port",
		"tcp://%zz": "! parse",
	} {
		network, address, err := dialable(target)
		got := network + " " + address
		if err != nil {
			got = "! " + err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}

// TestWithLoad runs compare and sweep on the load generator itself, and on
// servers of netco-bench.
func TestWithLoad(t *testing.T) {
	t.Chdir(t.TempDir())
	address := freeAddr(t)
	server := func(on string) string {
		return testenv.Must(os.Executable()) + " serve " + on + " -addr " + address
	}
	var stdout, stderr bytes.Buffer
	longEnough(t, func(duration string) error {
		stderr.Reset()
		if code := run(t.Context(), []string{"compare", "-a", server("net"), "-b", server("netco"),
			"-names", "net,netco", "tcp://" + address, "-c", "4", "-d", duration, "-rounds", "2",
			"-json", "c.json"}, &stdout, &stderr); code != exitOK {
			return fmt.Errorf("exit code %d: %s", code, &stderr)
		}
		return nil
	})
	for _, side := range testenv.Must(readSaved("c.json")).compare.Comparisons[0].Sides {
		for _, r := range side.Rounds {
			if r.Totals.Requests == 0 || r.Options.Connections != 4 || r.Server == nil ||
				r.Server.User+r.Server.System == 0 {
				t.Errorf("%s: %d requests, server %+v", side.Name, r.Totals.Requests, r.Server)
			}
		}
	}
	url := echoURL(t)
	longEnough(t, func(duration string) error {
		stderr.Reset()
		if code := run(t.Context(), []string{"sweep", url, "-c", "4", "-d", duration, "-halve", "0",
			"-knee", "1.01", "-json", "s.json"}, &stdout, &stderr); code != exitOK {
			return fmt.Errorf("exit code %d: %s", code, &stderr)
		}
		return nil
	})
	if s := testenv.Must(readSaved("s.json")).sweep; len(s.Steps) == 0 ||
		s.Steps[0].Result.Options.Rate != s.Steps[0].Rate {
		t.Errorf("%d steps: %s", len(s.Steps), &stderr)
	}
}
