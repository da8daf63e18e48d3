package main

import (
	"bytes"
	"flag"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestUsage: a flag's value is called by what it is. A word of the text in back
// quotes becomes its name: -grace long.
func TestUsage(t *testing.T) {
	var out bytes.Buffer
	if _, err := parse([]string{"-h"}, &out); err != flag.ErrHelp {
		t.Fatal(err)
	}
	values := map[string]bool{"": true, "address": true, "path": true, "names": true, "bytes": true,
		"int": true, "duration": true, "level": true}
	for _, m := range regexp.MustCompile(`(?m)^  -([\w-]+) ?(.*)$`).FindAllStringSubmatch(
		out.String(), -1) {
		if !values[m[2]] {
			t.Errorf("-%s %s", m[1], m[2])
		}
	}
	if !strings.Contains(out.String(), "-grace duration\n") {
		t.Errorf("%s", &out)
	}
}

// TestNothingToDrain: a daemon that cannot start says why, and not that it
// drains.
func TestNothingToDrain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := daemonCommand("-addr", l.Addr().String(), "-admin", "")
	out := outputOf(t, cmd)
	if code := cmd.ProcessState.ExitCode(); code != 1 ||
		!strings.Contains(out, "address already in use") || strings.Contains(out, "draining") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestForceNames: what a drain cuts off is in the log by name and place.
func TestForceNames(t *testing.T) {
	d := start(t, "-faults", "-grace", "0")
	c := d.dial("tcp")
	c.send(cmdFault, []byte{faultHold}, u32s(3_600_000))
	d.eventually("the request is being served", func() bool {
		_, body := d.get("/debug/netco/coroutines.json")
		return strings.Contains(body, "sleep")
	})
	d.signal(syscall.SIGTERM)
	d.code()
	if !d.said("coroutines are ended by force", `\"request\", waiting for a time, made at `,
		"service.go:") {
		t.Error("the log does not say who was cut off")
	}
}

// TestSamples: the lines of code that docs/OPERATING.md names are those that it
// means.
func TestSamples(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "OPERATING.md"))
	if err != nil {
		t.Fatal(err)
	}
	source := func(file string) []string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(text), "\n")
	}
	for _, s := range []struct{ sample, file, has string }{
		{`"stack":"time\.Sleep.*?/faults\.go:(\d+)`, "faults.go", "time.Sleep(long)"},
		{`"stack":"time\.Sleep.*?/commands\.go:(\d+)`, "commands.go", "s.fault("},
		{`"blocked_at": "…/faults\.go:(\d+)`, "faults.go", "time.Sleep(long)"},
		{`"name": "deadlock b then a"[^}]*"line": (\d+)`, "faults.go", `"deadlock b then a"`},
		{`"name": "deadlock a then b"[^}]*"line": (\d+)`, "faults.go", `"deadlock a then b"`},
		{`main\.deadlock\.deadlock\.func1\.func3\(\.\.\.\)\s+…/faults\.go:(\d+)`, "faults.go", "second.Lock()"},
		{`created by main\.deadlock\s+…/faults\.go:(\d+)`, "faults.go", `"deadlock b then a"`},
		{`sync\.\(\*Mutex\)\.Lock\(\.\.\.\)\s+…/sync/mutex\.go:(\d+)`, "../../sync/mutex.go",
			"lock"},
		{`panic\(\{…\}\).*?/faults\.go:(\d+)`, "faults.go", "panic("},
		{`panic\(\{…\}\).*?/commands\.go:(\d+)`, "commands.go", "s.fault("},
		{`made at …/service\.go:(\d+) main\.\(\*service\)\.accept`, "service.go", "server.Serve("},
	} {
		m := regexp.MustCompile(s.sample).FindStringSubmatch(string(page))
		if m == nil {
			t.Errorf("nothing matches %s", s.sample)
			continue
		}
		n, _ := strconv.Atoi(m[1])
		lines := source(s.file)
		if n < 1 || n > len(lines) || !strings.Contains(lines[n-1], s.has) {
			t.Errorf("%s:%d is not %q", s.file, n, s.has)
		}
	}
}
