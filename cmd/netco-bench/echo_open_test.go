package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/cgroup"
	"github.com/netco-go/netco/cmd/netco-bench/internal/load"
)

func TestLoads(t *testing.T) {
	c, err := parseEcho(strings.Fields("-servers net -conns 8,64 -rate 10k,30k"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(c.loads()); got != "[8 conns, 64 bytes, 10000/s "+
		"8 conns, 64 bytes, 30000/s 64 conns, 64 bytes, 10000/s 64 conns, 64 bytes, 30000/s]" {
		t.Errorf("loads %s", got)
	}
	if want := 4 * 3 * 5 * time.Second; c.total() != want {
		t.Errorf("the run takes %v, want %v", c.total(), want)
	}
	c.Rates = nil
	if got := fmt.Sprint(c.loads()); got != "[8 conns, 64 bytes 64 conns, 64 bytes]" {
		t.Errorf("closed loads %s", got)
	}
}

func TestEchoOpenLoop(t *testing.T) {
	warmedUp(t)
	for _, arrival := range []string{"uniform", "poisson"} {
		t.Run(arrival, func(t *testing.T) {
			noChildren(t)
			sameFiles(t)
			var stdout, stderr bytes.Buffer
			longEnough(t, func(duration string) error {
				stdout.Reset()
				stderr.Reset()
				file := filepath.Join(t.TempDir(), "out.json")
				args := "echo -servers net -conns 4 -rate 0.4k,800 -warmup 10ms -rounds 1 " +
					"-verify -arrival " + arrival +
					" -json " + file + " -duration " + duration
				if code := run(t.Context(), strings.Fields(args), &stdout,
					&stderr); code != exitOK {
					return fmt.Errorf("exit code %d\n%s", code, &stderr)
				}
				checkOpenReport(t, file)
				return checkReport(t, file)
			})
			if !hasLine(stdout.String(), strings.Fields("4 connections, 64 B, 400 req/s intended ("+
				arrival+"),")) {
				t.Errorf("table:\n%s", &stdout)
			}
			if !strings.Contains(stderr.String(), "round 2/2: 4 conns, 64 bytes, 800/s, net: ") {
				t.Errorf("progress:\n%s", &stderr)
			}
		})
	}
}

// checkOpenReport: each round intends exactly rate times duration.
func checkOpenReport(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Config struct {
			Duration time.Duration `json:"duration_ns"`
		}
		Rounds []echoRound
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for i, rate := range []int{400, 800} {
		r := doc.Rounds[i]
		if want := load.Intended(rate, doc.Config.Duration); r.Offered != rate ||
			r.Intended != uint64(want) || r.LateMaxUs < r.LateP50Us {
			t.Errorf("round: %+v\nwant %d intended at %d/s", r, want, rate)
		}
	}
}

func TestBusy(t *testing.T) {
	noChildren(t)
	stop, err := startBusy(2)
	if err != nil {
		t.Fatal(err)
	}
	pids := children(t)
	if len(pids) != 2 {
		t.Errorf("%d processes, want 2", len(pids))
	}
	for _, pid := range pids {
		for end := time.Now().Add(time.Minute); ticks(t,
			pid) < 5; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("process %d has not used 50 ms of CPU time in a minute", pid)
			}
		}
	}
	stop()
	for _, pid := range pids {
		awaitEnd(t, pid)
	}
}

// children returns the pids of this process's children.
func children(t *testing.T) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // that thread has ended
		}
		for s := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(s)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// ticks returns a process's CPU time in user mode, in hundredths of a second.
func ticks(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, fields, _ := strings.Cut(string(text), ") ")
	n, err := strconv.Atoi(strings.Fields(fields)[11])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A server under -quota runs in a cgroup, which is gone afterwards.
func TestEchoQuota(t *testing.T) {
	g, err := cgroup.New(0.5)
	if err != nil {
		t.Skip("this machine lets this user make no cpu cgroup: ", err)
	}
	if err := g.Remove(); err != nil {
		t.Fatal(err)
	}
	noChildren(t)
	cfg, err := parseEcho(strings.Fields("-servers net -conns 2 -quota 0.5 -busy 1 -duration 1h"),
		io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	fifo := newFIFO(t)
	cfg.Servers = []string{"announced"}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := measureEcho(ctx, cfg, io.Discard, io.Discard)
		ended <- err
	}()
	pid := awaitPID(t, fifo)
	where, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("a run that was cancelled succeeds")
	}
	if !strings.Contains(string(where), "/"+filepath.Base(cfg.cgroup)+"\n") {
		t.Errorf("the server was in\n%s, its group is %q", where, cfg.cgroup)
	}
	if _, err := os.Stat(cfg.cgroup); !os.IsNotExist(err) {
		t.Errorf("%q afterwards: %v", cfg.cgroup, err)
	}
}
