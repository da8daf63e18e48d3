package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

// systemd listens as systemd does and returns what it receives, one line at a
// time.
func systemd(t *testing.T) (address string, next func() string) {
	t.Helper()
	address = testenv.SocketPath(t, "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetReadDeadline(time.Now().Add(4 * limit))
	var lines []string
	return address, func() string {
		t.Helper()
		for len(lines) == 0 {
			p := make([]byte, 4096)
			n, err := c.Read(p)
			if err != nil {
				t.Fatal(err)
			}
			lines = strings.Split(string(p[:n]), "\n")
		}
		line := lines[0]
		lines = lines[1:]
		return line
	}
}

// until skips lines until it comes to this one, and returns what was skipped.
func until(t *testing.T, next func() string, line string) (before []string) {
	t.Helper()
	for {
		l := next()
		if l == line {
			return before
		}
		before = append(before, l)
	}
}

// TestNotify: systemd is notified when the daemon is ready, that it is well as
// long as it is, and that it stops.
func TestNotify(t *testing.T) {
	t.Parallel()
	address, next := systemd(t)
	cmd := daemonCommand("-addr", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-faults",
		"-lock-threads", "-processors", "1", "-watchdog", "100ms", "-dead-after", "200ms")
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+address, "WATCHDOG_USEC=150000")
	d := startCommand(t, cmd)
	if before := until(t, next, "READY=1"); len(before) > 0 {
		t.Errorf("before READY=1 it says %q", before)
	}
	for range 3 {
		until(t, next, "WATCHDOG=1")
	}
	c := d.dial("tcp")
	// The watchdog may have to wait for a CPU itself.
	for long := 3 * time.Second; stalled(t, c, next, long) < 3; long *= 2 {
		if long > limit {
			t.Fatal("it says nothing while its Processor stands")
		}
	}
	d.signal(syscall.SIGTERM)
	until(t, next, "STOPPING=1")
	d.ends(0)
}

// stalled has the daemon's Processor stand for that long and returns how often
// the daemon says so. Once it has, nothing may report to systemd that all is
// well before the time is over.
func stalled(t *testing.T, c *client, next func() string, long time.Duration) (fed int) {
	t.Helper()
	begin := time.Now() // not later than the stall
	c.SetDeadline(begin.Add(limit + long))
	n := c.send(cmdFault, []byte{faultSleep}, u32s(uint32(long.Milliseconds())))
	for {
		line := next()
		over := time.Since(begin) >= long
		switch {
		case strings.HasPrefix(line, "STATUS=processor 0 has made no turn for") &&
			strings.HasSuffix(line, "cause: sleep"):
			fed++
		case line == "WATCHDOG=1" && over:
			c.wants(statusDone, n, nil)
			// Lines of this stall that are not read yet need not be waited for.
			for {
				asked := time.Now()
				if next() == "WATCHDOG=1" && time.Since(asked) > 10*time.Millisecond {
					return fed
				}
			}
		case line == "WATCHDOG=1" && fed > 0:
			t.Errorf("%v into a stall of %v it says that all is well", time.Since(begin), long)
		}
	}
}

// TestNotifier: what is in the environment is for this process alone, and may
// be wrong.
func TestNotifier(t *testing.T) {
	address, next := systemd(t)
	for _, c := range []struct {
		socket, usec, pid string
		watchdog          time.Duration
		fails             bool
	}{
		{"", "", "", 0, false},
		{address, "", "", 0, false},
		{address, "3000000", "", 3 * time.Second, false},
		{address, "3000000", strconv.Itoa(os.Getpid()), 3 * time.Second, false},
		{address, "3000000", "1", 0, false},
		{address, "soon", "", 0, true},
		{address, "0", "", 0, true},
		{"relative", "", "", 0, true},
	} {
		t.Setenv("NOTIFY_SOCKET", c.socket)
		t.Setenv("WATCHDOG_USEC", c.usec)
		t.Setenv("WATCHDOG_PID", c.pid)
		n, err := newNotifier()
		if (err != nil) != c.fails {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if n != nil && n.watchdog != c.watchdog {
			t.Errorf("%+v: it reports each %v", c, n.watchdog)
		}
		for _, v := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
			if value, there := os.LookupEnv(v); there {
				t.Errorf("%s=%s is left for children", v, value)
			}
		}
		if err := n.send("STATUS=a test"); err != nil {
			t.Error(err)
		}
		if n != nil && next() != "STATUS=a test" {
			t.Error("it says something else")
		}
	}
	if err := (&notifier{addr: &net.UnixAddr{Name: address + "gone", Net: "unixgram"}}).send(
		"READY=1"); err == nil {
		t.Error("nobody listens, and that is no error")
	}
}

// TestFeed: who is not well is not reported as well.
func TestFeed(t *testing.T) {
	address, next := systemd(t)
	n := &notifier{addr: &net.UnixAddr{Name: address, Net: "unixgram"},
		watchdog: 3 * time.Millisecond}
	ctx, cancel := context.WithCancel(context.Background())
	var ill atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.feed(ctx, func() error {
			if ill.Load() {
				return errors.New("ill")
			}
			return nil
		})
	}()
	until(t, next, "WATCHDOG=1")
	ill.Store(true)
	until(t, next, "STATUS=ill")
	for range 5 {
		if l := next(); l != "STATUS=ill" {
			t.Errorf("it says %q", l)
		}
	}
	ill.Store(false)
	until(t, next, "WATCHDOG=1")
	cancel()
	<-ended
}

// unit returns the settings of a unit file; of those that are there several
// times, the last.
func unit(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok &&
			!strings.HasPrefix(name, "#") {
			settings[name] = value
		}
	}
	return settings
}

// TestUnitFits: the unit's figures fit the flags that it starts the daemon
// with.
func TestUnitFits(t *testing.T) {
	u := unit(t, "netco-daemon.service")
	args := strings.Fields(u["ExecStart"])[1:]
	c, err := parse(args, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	duration := func(name string) time.Duration {
		d, err := time.ParseDuration(u[name])
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return d
	}
	// After the grace come five seconds for coroutines that are ended by force,
	// and one for the last scrape.
	if stop, want := duration("TimeoutStopSec"), c.drainDelay+c.grace+10*time.Second; stop < want {
		t.Errorf("TimeoutStopSec=%v would cut a drain short that may take %v", stop, want)
	}
	// It reports three times in each WatchdogSec, until a Processor has stood
	// for -dead-after.
	if w := duration("WatchdogSec"); w/3 > c.deadAfter {
		t.Errorf("WatchdogSec=%v is much longer than -dead-after %v", w, c.deadAfter)
	}
	if n, err := strconv.Atoi(u["LimitNOFILE"]); err != nil || n < c.maxConns+1024 {
		t.Errorf("LimitNOFILE=%v is too little for -max-conns %d", u["LimitNOFILE"], c.maxConns)
	}
	if u["Type"] != "notify" {
		t.Error("READY=1 is not waited for")
	}
}

// TestUnitVerify has systemd itself read the units.
func TestUnitVerify(t *testing.T) {
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	dir := t.TempDir()
	for _, name := range []string{"netco-daemon.service", "netco-daemon.socket"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		// The program is not installed here, which would be an error.
		text = []byte(strings.ReplaceAll(string(text), "/usr/local/bin/netco-daemon ",
			"/bin/true "))
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plain := filepath.Join(dir, "plain.service")
	if err := os.WriteFile(plain, []byte("[Service]\nExecStart=/bin/true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "verify", plain).CombinedOutput(); err != nil {
		t.Skipf("systemd-analyze can verify nothing here: %v\n%s", err, out)
	}
	out, err := exec.Command(program, "verify", filepath.Join(dir, "netco-daemon.service"),
		filepath.Join(dir, "netco-daemon.socket")).CombinedOutput()
	// Unknown settings are no error to it, but it reports them, as of those in
	// the machine's own units.
	if err != nil || strings.Contains(string(out), "netco-daemon") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
