package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/cmd/netco-bench/internal/load"
)

// warmedUp makes the runtime open what it keeps open (its epoll, pidfds), so
// that the count of files is steady.
func warmedUp(t *testing.T) {
	t.Helper()
	measured(t, "echo -servers net -conns 1 -warmup 0s -rounds 1", 1)
}

// document is what -json writes of echo and proxy.
type document struct {
	Environment environment
	Error       string
	Config      struct {
		Duration time.Duration `json:"duration_ns"`
	}
	Rounds []echoRound
}

// measured runs a command that measures for long enough, and wants so many
// rounds that have all figures and pass the checks. It returns what it has said
// and written.
func measured(t *testing.T, args string, rounds int,
	checks ...func(*echoRound) error) (stdout, stderr string, doc document) {
	t.Helper()
	longEnough(t, func(duration string) error {
		file := filepath.Join(t.TempDir(), "out.json")
		var out, errs bytes.Buffer
		code := run(t.Context(), strings.Fields(args+" -json "+file+" -duration "+duration), &out,
			&errs)
		if stdout, stderr = out.String(), errs.String(); code != exitOK {
			return fmt.Errorf("exit code %d\n%s", code, stderr)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc = document{}
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Environment.Kernel == "" || doc.Environment.Go == "" || doc.Error != "" ||
			len(doc.Rounds) != rounds {
			t.Fatalf("report:\n%s", text)
		}
		for _, r := range doc.Rounds {
			if r.Requests == 0 || r.Rate <= 0 || r.P50Us <= 0 || r.P50Us > r.P999Us ||
				r.CPUUs <= 0 || r.RSS < 1<<20 && r.Server != "c" || r.ClientBusy <= 0 ||
				r.GOMAXPROCS < 1 && r.Server != "c" || r.Server == "" || r.Size == 0 {
				return fmt.Errorf("round: %+v", r)
			}
			for _, check := range checks {
				if err := check(&r); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return stdout, stderr, doc
}

// longEnough has something measured for so short a time that a busy machine may
// have nothing to count, and then for longer and longer.
func longEnough(t *testing.T, measure func(duration string) error) {
	t.Helper()
	var err error
	for d := 50 * time.Millisecond; d < 30*time.Second; d *= 4 {
		if err = measure(d.String()); err == nil {
			return
		}
		t.Logf("in %v: %v", d, err)
	}
	t.Fatal(err)
}

func TestEchoEndToEnd(t *testing.T) {
	warmedUp(t)
	for name, flags := range map[string]string{
		"plain":     "",
		"pipelined": "-pipeline 16",
		"large":     "-size 1000000 -pipeline 2",
		"threads":   "-threads 2 -procs 1",
	} {
		t.Run(name, func(t *testing.T) {
			noChildren(t)
			sameFiles(t)
			stdout, stderr, _ := measured(t, "echo -servers net -conns 4 -warmup 10ms -rounds 2 "+
				"-verify "+flags, 2)
			if !hasLine(stdout, []string{"4", "connections,"}) ||
				!hasLine(stdout, []string{"net"}) {
				t.Errorf("table:\n%s", stdout)
			}
			if !strings.Contains(stderr, "round 2/2: 4 conns, ") {
				t.Errorf("progress:\n%s", stderr)
			}
		})
	}
}

// TestFloor: the server in C answers every byte, ends when it is to, and leaves
// nothing behind.
func TestFloor(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("this machine has no C compiler: ", err)
	}
	noChildren(t)
	sameFiles(t)
	t.Setenv("TMPDIR", t.TempDir())
	for _, flags := range []string{"", "-pipeline 16", "-size 1000000 -pipeline 2"} {
		measured(t, "echo -servers c -conns 4 -warmup 10ms -rounds 1 -verify "+flags, 1)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestFloorNeedsCompiler: without one, the error says what is missing.
func TestFloorNeedsCompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr bytes.Buffer
	args := strings.Fields("echo -servers c -conns 1 -rounds 1 -duration 10ms")
	if code := run(t.Context(), args, &stdout, &stderr); code != exitFailed ||
		!strings.Contains(stderr.String(), "needs a C compiler") {
		t.Errorf("exit code %d\n%s", code, &stderr)
	}
}

// TestWatched: the server that serves its metrics beside is scraped, and
// measured as the others.
func TestWatched(t *testing.T) {
	warmedUp(t)
	noChildren(t)
	stdout, _, _ := measured(t, "echo -servers netco-bare,netco-watched -conns 2 -warmup 10ms "+
		"-rounds 1 -verify", 2)
	if !strings.Contains(stdout, "netco-watched") {
		t.Errorf("table:\n%s", stdout)
	}
}

func TestEchoServerFaults(t *testing.T) {
	for _, c := range []struct {
		server string
		want   []string // one of these
		target error
	}{
		{"dies", []string{"exit status 7\npanic: out of luck"}, nil},
		{"hangs up", []string{"closed by the server", "connection reset", "broken pipe"}, nil},
		{"resets", []string{"connection reset", "broken pipe"}, nil},
		{"mute", []string{"no answer for 300ms"}, load.ErrStall},
		{"drops", []string{"no answer for 300ms", "wrong echo"}, nil},
		{"garbles", []string{"wrong echo: byte 32"}, nil},
		{"adds", []string{"wrong echo"}, nil},
		{"unborn", []string{"no such luck"}, nil},
		{"unscraped", []string{"scrape: "}, nil},
	} {
		t.Run(c.server, func(t *testing.T) {
			noChildren(t)
			cfg, err := parseEcho([]string{"-servers", "net", "-conns", "4", "-duration", "1h",
				"-warmup", "0s", "-verify"}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			// No machine answers later than that.
			cfg.Servers, cfg.Stall = []string{c.server}, time.Minute
			if c.server == "mute" || c.server == "drops" {
				cfg.Stall = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			rounds, err := measureEcho(ctx, cfg, io.Discard, io.Discard)
			if err == nil || len(rounds) != 0 {
				t.Fatalf("no error, %d rounds", len(rounds))
			}
			if ctx.Err() != nil {
				t.Error("not noticed for two minutes")
			}
			if c.target != nil && !errors.Is(err, c.target) {
				t.Errorf("%v is not %v", err, c.target)
			}
			found := false
			for _, w := range c.want {
				found = found || strings.Contains(err.Error(), w)
			}
			if !found {
				t.Errorf("error %q, want one of %q", err, c.want)
			}
		})
	}
}

// Without -verify lengths are still checked.
func TestEchoChecksLengths(t *testing.T) {
	noChildren(t)
	longEnough(t, func(duration string) error {
		cfg, err := parseEcho(strings.Fields("-servers net -conns 1 -warmup 0s -duration "+
			duration), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Servers = []string{"adds"}
		_, err = measureEcho(t.Context(), cfg, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "wrong echo") {
			return fmt.Errorf("one byte too many: %v", err)
		}
		return nil
	})
}

func TestEchoInterrupt(t *testing.T) {
	noChildren(t)
	fifo := newFIFO(t)
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int)
	var stderr bytes.Buffer
	go func() {
		code <- run(ctx, strings.Fields("echo -servers announced -duration 1m"), io.Discard,
			&stderr)
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
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(exe, strings.Fields("echo -servers announced -duration 1m")...)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid := awaitPID(t, fifo)
	if err := parent.Process.Signal(unix.SIGKILL); err != nil {
		t.Error(err)
	}
	_ = parent.Wait() // killed, as intended
	awaitEnd(t, pid)
}
