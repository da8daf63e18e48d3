package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

// echoURL is an echo server that lives until the test ends.
func echoURL(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go echoNet(c, serveConfig{})
		}
	}()
	return "tcp://" + ln.Addr().String()
}

// runLoadArgs runs the command and returns its exit code and output.
func runLoadArgs(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	code = run(ctx, append([]string{"load"}, args...), &out, &err)
	return code, out.String(), err.String()
}

func TestLoadMistakes(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "want a URL"},
		{"ftp://x", "tcp:// udp:// unix://"},
		{"tcp://127.0.0.1:1 tcp://127.0.0.1:2", `unexpected argument "tcp://127.0.0.1:2"`},
		{"tcp://127.0.0.1:1 -c x", "want a whole number from 1 to 1000000, such as 50 or 10k"},
		{"tcp://127.0.0.1:1 -c 0", "want a whole number from 1"},
		{"tcp://127.0.0.1:1 -c 1.5", "want a whole number"},
		{"tcp://127.0.0.1:1 -n -1", "want a whole number such as 5000 or 1M"},
		{"tcp://127.0.0.1:1 -warmup -1s", "want a time of 0s or more"},
		{"tcp://127.0.0.1:1 -timeout 0", "want a time of 1ms or more"},
		{"tcp://127.0.0.1:1 -rate -1", "0: a closed loop"},
		{"tcp://127.0.0.1:1 -d 10", "want a time of 10ms or more, such as 500ms"},
		{"tcp://127.0.0.1:1 -rate fast", "want requests per second up to 10000000"},
		{"tcp://127.0.0.1:1 -size 64:x", "weight \"x\""},
		{"tcp://127.0.0.1:1 -size 0", "want bytes from 1 to"},
		{"tcp://127.0.0.1:1 -size 16M -pipeline 5", "in flight on a connection"},
		{"tcp://127.0.0.1:1 -rate 5 -arrival even", "want uniform or poisson"},
		{"tcp://127.0.0.1:1 -arrival poisson", "give a -rate"},
		{"tcp://127.0.0.1:1 -ramp 0:1s", "give a -rate"},
		{"tcp://127.0.0.1:1 -rate 5 -ramp 30s", "such as 0:30s"},
		{"tcp://127.0.0.1:1 -max p99", "p99=5ms, errors=0.1%"},
		{"tcp://127.0.0.1:1 -max p200=1s", "p99=5ms"},
		{"tcp://127.0.0.1:1 -max median=1s", "p99=5ms"},
		{"tcp://127.0.0.1:1 -method PUT", "-method is for http, https, h2, not for tcp"},
		{"tcp://127.0.0.1:1 -redis PING", "-redis is for redis"},
		{"http://127.0.0.1:1 -verify", "-verify is for tcp"},
		{"http://127.0.0.1:1 -H nothing", "want 'Name: value'"},
		{"http://127.0.0.1:1 -body @/none", "-body: open /none"},
		{"http://127.0.0.1:1 -body {rand", "want {rand} or {rand:N}"},
		{"tcp://127.0.0.1:1 -pid 999999999", "no such process"},
		{"tcp://127.0.0.1:1 -nonsense", "-nonsense"},
		{"tcp://127.0.0.1:1 -work 5us,2ms", "more than one has no share"},
		{"ws://127.0.0.1:1 -work 5us,2ms:0.1", "-work is for tcp"},
		{"tcp://127.0.0.1:1 -targets x", "-targets is in place of a URL"},
		{"-targets /none", "-targets: open /none"},
		{"-targets /dev/null", "has 0 URLs"},
		{"tcp://127.0.0.1:1 -cert x", "-cert is for tls"},
		{"https://127.0.0.1:1 -key x", "-key is for a -cert"},
		{"https://127.0.0.1:1 -cert /none", "-cert: open /none"},
		{"https://127.0.0.1:1 -cacert /dev/null", "no certificate in /dev/null"},
	} {
		if code, _, stderr := runLoadArgs(t, strings.Fields(c.args)...); code != exitUsage ||
			!strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %q, want %q", c.args, code, stderr, c.want)
		}
	}
	if code, stdout, _ := runLoadArgs(t, "-h"); code != exitOK ||
		!strings.Contains(stdout, "-rate 10k") || !strings.Contains(stdout, "-churn") {
		t.Errorf("help: exit code %d\n%s", code, stdout)
	}
}

func TestLoadUnits(t *testing.T) {
	cfg, err := parseLoad(strings.Fields("-c 1k -n 1.5M -rate 10k/s -size 64:80,4k:20 -d 1m30s "+
		"-timeout 2s -threads 3 -ramp 1k:5s tcp://127.0.0.1:1"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Connections != 1000 || cfg.Requests != 1_500_000 || cfg.Rate != 10_000 ||
		cfg.Mix.String() != "64:80,4096:20" || cfg.Duration != 90*time.Second ||
		cfg.Timeout != 2*time.Second || cfg.Threads != 3 || cfg.RampFrom != 1000 ||
		cfg.Ramp != 5*time.Second {
		t.Errorf("%+v", cfg)
	}
	if cfg, err = parseLoad([]string{"tcp://127.0.0.1:1", "-n", "5"}, io.Discard); err != nil ||
		cfg.Duration != 0 {
		t.Errorf("-n without -d: %+v, %v", cfg, err)
	}
	for _, zero := range []string{"0", "0s"} {
		cfg, err = parseLoad([]string{"tcp://127.0.0.1:1", "-warmup", zero, "-n", "0", "-rate", "0",
			"-churn", "0", "-idle", "0", "-timeout", "5ms"}, io.Discard)
		if err != nil || cfg.Warmup != 0 || cfg.Duration != 10*time.Second || cfg.Rate != 0 {
			t.Errorf("zeros: %+v, %v", cfg, err)
		}
	}
}

// Each file that can be asked for says the same.
func TestLoadFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	code, stdout, stderr := runLoadArgs(t, echoURL(t), "-c", "3", "-n", "500", "-verify",
		"-json", file("r.json"),
		"-csv", file("r.csv"), "-max", "p99=1m", "-pid",
		strconv.Itoa(os.Getpid()))
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{"500 in", "p99.9", "errors     none", "closed loop",
		"-max p99=1m", "holds", "CPU per request"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the output has no %q:\n%s", want, stdout)
		}
	}
	saved, err := readSaved(file("r.json"))
	r := saved.load
	if err != nil {
		t.Fatal(err)
	}
	if r.Totals.Requests != 500 || r.Response.Count() != 500 || r.Args[0] != r.Target ||
		r.Server == nil || len(r.Thresholds) != 1 ||
		r.Environment.Kernel == "" {
		t.Errorf("%+v", r)
	}
	b, _ := os.ReadFile(file("r.csv"))
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(rows) != 1+len(r.Series) ||
		rows[1][2] != strconv.FormatUint(r.Series[0].Requests, 10) {
		t.Errorf("%q, %v", rows, err)
	}
}

func TestLoadThresholds(t *testing.T) {
	r := result.New()
	r.Totals.Requests, r.Totals.Errors.Timeout = 999, 1
	for i := range 1000 {
		r.Response.Record(int64(i) * 1000)
	}
	for text, broken := range map[string]bool{
		"p50=499us": true, "p50=501us": false, "p99.9=1ms": false, "max=998us": true,
		"max=1ms": false, "mean=490us": true, "mean=510us": false,
		"errors=0": true, "errors=1": false, "errors=0.05%": true, "errors=0.1%": false,
	} {
		var cfg loadConfig
		if err := cfg.addLimit(text); err != nil {
			t.Fatal(err)
		}
		if got := cfg.limits[0].check(r); got.Broken != broken || got.Limit != text ||
			got.Value == "" {
			t.Errorf("%s: %+v", text, got)
		}
	}
	code, stdout, stderr := runLoadArgs(t, echoURL(t), "-n", "10", "-max", "p50=1ns", "-max",
		"errors=0")
	if code != exitThreshold || !strings.Contains(stderr, "over the limit: p50=1ns is") ||
		strings.Contains(stderr, "errors=0") || !strings.Contains(stdout, "BROKEN") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestLoadFailures(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if code, stdout, stderr := runLoadArgs(t, "tcp://"+ln.Addr().String()); code != exitFailed ||
		stdout != "" || !strings.Contains(stderr, "cannot connect to tcp://") ||
		!strings.Contains(stderr, "refused") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

// TestLoadAllFail: a server whose answers are all errors fails the run, which
// says what they are; one that sends some other answers does not.
func TestLoadAllFail(t *testing.T) {
	answers := 0 // one connection: one at a time
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answers++; r.URL.Path == "/all" || answers%2 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	code, stdout, stderr := runLoadArgs(t, s.URL+"/all", "-c", "1", "-n", "10")
	if code != exitFailed || !strings.Contains(stdout, "status     503: 10\n") ||
		!strings.Contains(stdout, "the first: HTTP status 503 Service Unavailable\n") ||
		!strings.Contains(stderr, "all answers were errors: HTTP status 503") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, stderr = runLoadArgs(t, s.URL+"/some", "-c", "1", "-n", "10")
	if code != exitOK || !strings.Contains(stdout, "status     200: 5, 503: 5\n") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

// TestLoadNoAnswer: there is no table of latencies that nothing had.
func TestLoadNoAnswer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close() // its backlog accepts, and nothing answers
	code, stdout, stderr := runLoadArgs(t, "tcp://"+ln.Addr().String(), "-c", "2", "-d", "100ms",
		"-timeout", "1h")
	if code != exitFailed || strings.Contains(stdout, "p50  ") ||
		!strings.Contains(stderr, "no request was answered within 100ms; none had timed out") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

// TestLoadFilesFirst: a file that can't be written is known before the run.
func TestLoadFilesFirst(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none", "r")
	for _, name := range []string{"-json", "-csv"} {
		// Nothing listens there, which a run would find out.
		if code, stdout, stderr := runLoadArgs(t, "tcp://127.0.0.1:1", name,
			missing); code != exitFailed || stdout != "" ||
			!strings.Contains(stderr, "open "+missing) {
			t.Errorf("%s: exit code %d, %q, %q", name, code, stdout, stderr)
		}
	}
}

// TestLoadTargets: all URLs of a file are asked, and each server for its own.
func TestLoadTargets(t *testing.T) {
	var asked [2]sync.Map
	var urls string
	for i, paths := range [][]string{{"/a", "/b?c", "/d/{rand:10}"}, {"/other"}} {
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			asked[i].Store(strings.TrimRight(r.URL.RequestURI(), "0123456789"), true)
		}))
		defer s.Close()
		for _, p := range paths {
			urls += "  " + s.URL + p + " \n\n# a comment\n"
		}
	}
	file := filepath.Join(t.TempDir(), "targets")
	if err := os.WriteFile(file, []byte(urls), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runLoadArgs(t, "-targets", file, "-c", "3", "-n", "300")
	if code != exitOK || !strings.Contains(stdout, "/a and 3 more: closed loop") ||
		!strings.Contains(stdout, "status     200: 300\n") {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	for i, want := range []string{"/a /b?c /d/", "/other"} {
		var got []string
		asked[i].Range(func(path, _ any) bool { got = append(got, path.(string)); return true })
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("server %d was asked for %v, want %s", i, got, want)
		}
	}
	if code, _, stderr := runLoadArgs(t, "-targets", file, "-c", "1"); code != exitUsage ||
		!strings.Contains(stderr, "2 servers need as many connections") {
		t.Errorf("one connection: exit code %d, %q", code, stderr)
	}
}

// Ctrl-C prints what there is.
func TestLoadInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	time.AfterFunc(500*time.Millisecond, cancel)
	code := run(ctx, []string{"load", echoURL(t), "-d", "1h"}, &stdout, &stderr)
	if code != exitInterrupted || !strings.Contains(stdout.String(), "requests ") ||
		!strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit code %d\n%s\n%s", code, &stdout, &stderr)
	}
}

func TestLiveView(t *testing.T) {
	var out bytes.Buffer
	v := liveView{w: &out}
	seconds := []result.Second{{At: 0, Requests: 2000, P99: 1000}, {At: 1, Errors: 7, P99: 8000}}
	v.show(seconds)
	v.show(seconds)
	if s := out.String(); strings.Count(s, "\n") != 2 || !strings.Contains(s, "2,000/s") ||
		!strings.Contains(s, "errors 7") {
		t.Errorf("lines %q", s)
	}
}

func TestLoadTexts(t *testing.T) {
	for ns, want := range map[int64]string{999: "999ns", 1500: "1.5µs", 12_345_678: "12.3ms",
		2_500_000_000: "2.5s"} {
		if got := latencyText(ns); got != want {
			t.Errorf("%d: %s, want %s", ns, got, want)
		}
	}
	if countText(1234567) != "1,234,567" || countText(999) != "999" {
		t.Error(countText(1234567), countText(999))
	}
}

// freeAddr is an address that had no listener a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
