package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// TestCommands: each command, on both kinds of socket.
func TestCommands(t *testing.T) {
	d := start(t, "-unix", testenv.SocketPath(t, "socket"))
	for _, network := range []string{"tcp", "unix"} {
		c := d.dial(network)
		c.echoes("")
		c.echoes("hello")
		c.echoes(strings.Repeat("x", 300<<10))

		want := uint64(7)
		for range 100_000 {
			want = step(want)
		}
		c.wants(statusDone, c.send(cmdFanOut, u32s(1, 100_000), u64(7)), u64(want))

		sum := sha256.Sum256([]byte("hello"))
		c.wants(statusDone, c.send(cmdHash, u32s(1), []byte("hello")), sum[:])

		c.wants(statusDone, c.send(cmdFanOut, u32s(3, 2), u64(5)),
			u64(step(step(5))+step(step(6))+step(step(7))))
		c.wants(statusDone, c.send(cmdFanOut, u32s(0, 2), u64(5)), u64(0))

		n := c.send(cmdStream, u32s(3, 12, 1), u64(9))
		seed := uint64(9)
		for i := range 3 {
			p := make([]byte, 12)
			seed = fill(p, seed)
			c.wants([]status{statusMore, statusMore, statusDone}[i], n, p)
		}
	}
}

// TestPipelined: requests that come together are answered in their order.
func TestPipelined(t *testing.T) {
	c := start(t).dial("tcp")
	var numbers []uint32
	for range 50 {
		numbers = append(numbers, c.send(cmdFanOut, u32s(1, 0), u64(3)))
	}
	for _, n := range numbers {
		c.wants(statusDone, n, u64(3))
	}
}

// TestBadInput: what cannot be served is refused, and what cannot be understood
// ends its connection.
func TestBadInput(t *testing.T) {
	d := start(t, "-max-frame", "1000")
	c := d.dial("tcp")
	for _, bad := range []struct {
		name string
		cmd  command
		args []byte
	}{
		{"no such command", 77, nil},
		{"fan-out without arguments", cmdFanOut, nil},
		{"fan-out with too many", cmdFanOut, make([]byte, 17)},
		{"compute for ever", cmdFanOut, u32s(1, 1<<32-1, 0, 0)},
		{"hash without arguments", cmdHash, nil},
		{"a stream of nothing", cmdStream, u32s(0, 1, 0, 0, 0)},
		{"frames too long", cmdStream, u32s(1, 1001, 0, 0, 0)},
		{"too many children", cmdFanOut, u32s(maxChildren+1, 1, 0, 0)},
		{"a fault, without -faults", cmdFault, []byte{faultPanic, 0, 0, 0, 0}},
	} {
		n := c.send(bad.cmd, bad.args)
		if s, number, _, err := c.receive(); s != statusError || number != n || err != nil {
			t.Errorf("%s: status %d, number %d, %v", bad.name, s, number, err)
		}
	}
	c.echoes("still there")

	for _, length := range []uint32{0, headSize - 1, 1001, 1<<32 - 1} {
		c := d.dial("tcp")
		c.Write(u32s(length))
		c.refused(0, "length")
		c.ends()
	}

	slow := start(t, "-read-timeout", "100ms").dial("tcp")
	slow.Write(u32s(100)) // and no more
	slow.ends()
}

// TestPages: everything that the admin address has.
func TestPages(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.dial("tcp").echoes("hello")
	for _, p := range []struct{ path, has string }{
		{"/healthz", "ok\n"},
		{"/readyz", "ok\n"},
		{"/metrics", "netco_turns_total"},
		{"/metrics", `daemon_requests_total{command="echo",result="done"} 1`},
		{"/metrics", "go_goroutines"},
		{"/metrics", "process_open_fds"},
		{"/debug/netco/", "netco"},
		{"/debug/netco/coroutines.json", "accept tcp"},
		{"/debug/netco/sockets", d.tcp},
		{"/debug/netco/stalls", ""},
		{"/debug/pprof/", "goroutine"},
		{"/debug/pprof/goroutine?debug=1", "netco"},
		{"/debug/pprof/profile?seconds=1", ""},
		{"/debug/pprof/trace?seconds=0.1", ""},
		{"/debug/pprof/heap", ""},
		{"/debug/loglevel", "info"},
	} {
		d.wants(p.path, http.StatusOK, p.has)
	}
}

// TestLogLevel: it can be changed while the daemon runs. SIGHUP does nothing.
func TestLogLevel(t *testing.T) {
	d := start(t)
	d.dial("tcp").Close()
	r, err := http.NewRequest(http.MethodPut, "http://"+d.admin+"/debug/loglevel",
		strings.NewReader(`{"level":"debug"}`))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	answer.Body.Close()
	d.eventually("a debug line", func() bool {
		d.dial("tcp").Close()
		return d.said(`"debug"`, `"closed"`)
	})
	d.signal(syscall.SIGHUP)
	d.dial("tcp").echoes("hello")
}

// TestDrain: after SIGTERM the daemon is not ready, takes no connections and
// closes those that are idle; what is under way is finished, and then it ends
// with 0.
func TestDrain(t *testing.T) {
	d := start(t, "-unix", testenv.SocketPath(t, "socket"), "-grace", "1h",
		"-write-timeout", "1h")
	idle, busy := d.dial("tcp"), d.dial("unix")
	idle.echoes("hello")
	// It is under way until the client reads: a unix socket holds much less
	// than a frame.
	const frames, size = 6, 1 << 20
	frame := make([]byte, size)
	x := fill(frame, 1)
	n := busy.send(cmdStream, u32s(frames, size, 1), u64(1))
	busy.wants(statusMore, n, frame)
	d.signal(syscall.SIGTERM)
	d.eventually("/readyz says that it drains", func() bool {
		return d.answers("/readyz", http.StatusServiceUnavailable, "draining\n")
	})
	d.wants("/healthz", http.StatusOK, "")
	idle.ends()
	d.eventually("connections are refused", func() bool {
		for network, address := range map[string]string{"tcp": d.tcp, "unix": d.unix} {
			if c, err := net.Dial(network, address); err == nil {
				c.Close()
				return false
			}
		}
		return true
	})
	for i := range frames - 1 {
		x = fill(frame, x)
		busy.wants([]status{statusMore, statusDone}[i/(frames-2)], n, frame)
	}
	busy.ends()
	d.ends(0)
	if _, err := os.Lstat(d.unix); err == nil {
		t.Error("the unix socket is left behind")
	}
}

// TestDrainDelay: for a while it is not ready but serves on.
func TestDrainDelay(t *testing.T) {
	d := start(t, "-drain-delay", "1h")
	d.signal(syscall.SIGINT)
	d.eventually("/readyz says that it drains", func() bool {
		return d.answers("/readyz", http.StatusServiceUnavailable, "")
	})
	d.dial("tcp").echoes("hello")
	d.signal(syscall.SIGINT)
	d.ends(130)
}

// TestExitCodes: how it ends is what it exits with.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	hold := func(d *child, kind byte) {
		c := d.dial("tcp")
		c.send(cmdFault, []byte{kind}, u32s(3_600_000/2))
		d.eventually("the request is being served", func() bool {
			return kind != faultHold ||
				d.answers("/debug/netco/coroutines.json", http.StatusOK, "sleep")
		})
	}
	t.Run("a second signal", func(t *testing.T) {
		d := start(t, "-faults", "-grace", "1h")
		hold(d, faultHold)
		d.endsByTwo(syscall.SIGTERM)
	})
	for name, grace := range map[string]string{"the grace is over": "100ms", "no grace": "0"} {
		t.Run(name, func(t *testing.T) {
			for try := 1; ; try++ {
				d := start(t, "-faults", "-grace", grace)
				hold(d, faultHold)
				d.signal(syscall.SIGTERM)
				// What is ended by force has a second for it. A thread that did
				// not get to run in that is left over, as it should be: 4.
				if try == 5 || d.code() != 4 {
					d.ends(3)
					return
				}
			}
		})
	}
	t.Run("a thread that cannot be ended", func(t *testing.T) {
		t.Parallel()
		// No machine alone makes a thread stall for 2 s.
		d := start(t, "-faults", "-lock-threads", "-grace", "100ms", "-watchdog", "2s")
		hold(d, faultSleep)
		d.eventually("the thread stands", func() bool { return d.said(`"cause"`) })
		d.signal(syscall.SIGTERM)
		d.ends(4)
	})
	t.Run("nothing to serve on", func(t *testing.T) {
		exits(t, 1, "nothing to listen on", "-addr", "", "-admin", "")
	})
	t.Run("an address in use", func(t *testing.T) {
		l := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
		exits(t, 1, "address already in use", "-addr", l.Addr().String(), "-admin", "")
		exits(t, 1, "address already in use", "-addr", "127.0.0.1:0", "-admin", l.Addr().String())
	})
	t.Run("a unix socket in use", func(t *testing.T) {
		path := testenv.SocketPath(t, "socket")
		testenv.Closing(t, testenv.Must(net.Listen("unix", path)))
		exits(t, 1, "address already in use", "-addr", "", "-unix", path, "-admin", "")
	})
	t.Run("a wrong flag", func(t *testing.T) { exits(t, 2, "-max-conns", "-max-conns", "-1") })
	t.Run("help", func(t *testing.T) { exits(t, 0, "-drain-delay", "-h") })
}

// exits wants the daemon to end at once with that code, and to say why.
func exits(t *testing.T, code int, why string, args ...string) {
	t.Helper()
	cmd := daemonCommand(args...)
	out := outputOf(t, cmd)
	if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(out, why) {
		t.Errorf("%q: exit code %d, want %d, and %q in\n%s", args, got, code, why, out)
	}
}

// outputOf runs a daemon that is expected to end by itself, and kills one that
// does not.
func outputOf(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(limit, func() { cmd.Process.Kill() }).Stop()
	cmd.Wait()
	return out.String()
}

// TestStaleSocket: the socket that a daemon has left which was killed is no
// hindrance.
func TestStaleSocket(t *testing.T) {
	path := testenv.SocketPath(t, "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	start(t, "-unix", path).dial("unix").echoes("hello")
}

// TestPanic: a request that panics ends its connection and nothing else.
func TestPanic(t *testing.T) {
	d := start(t, "-faults", "-processors", "1")
	other := d.dial("tcp")
	other.echoes("before")
	c := d.dial("tcp")
	c.send(cmdFault, []byte{faultPanic}, u32s(0))
	c.ends()
	other.echoes("after")
	d.eventually("the log tells of it", func() bool {
		return d.said("panicked", "a fault that a client asked for", "faults.go")
	})
	d.eventually("the panic is counted", func() bool { // after it has been logged
		return d.answers("/metrics", http.StatusOK, "\ndaemon_panics_total 1\n")
	})
}

// TestConnectionLimit: at the limit the daemon is alive and not ready, and a
// client that comes waits.
func TestConnectionLimit(t *testing.T) {
	d := start(t, "-max-conns", "2")
	a, b := d.dial("tcp"), d.dial("tcp")
	a.echoes("a")
	b.echoes("b")
	d.wants("/readyz", http.StatusServiceUnavailable, "limit")
	d.wants("/healthz", http.StatusOK, "")
	late := d.dial("tcp") // the kernel takes it, the daemon does not
	n := late.send(cmdEcho)
	late.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if _, _, _, err := late.receive(); err == nil {
		t.Error("a third connection is served")
	}
	late.SetReadDeadline(time.Now().Add(limit))
	a.Close()
	late.wants(statusDone, n, make([]byte, 4))
	b.Close()
	d.eventually("it is ready again", func() bool {
		return d.answers("/readyz", http.StatusOK, "")
	})
}

// TestCoroutineLimit: at this limit it is not ready either, and what a request
// cannot start it is refused.
func TestCoroutineLimit(t *testing.T) {
	d := start(t, "-max-conns", "3", "-max-coroutines", "3")
	a, b := d.dial("tcp"), d.dial("tcp") // the third is the one that accepts
	for _, c := range []*client{a, b} {
		n := c.send(cmdStream, u32s(2, 0, 60_000), u64(0))
		c.wants(statusMore, n, nil)
	}
	d.eventually("/readyz tells of the limit", func() bool {
		return d.answers("/readyz", http.StatusServiceUnavailable,
			"3 coroutines, which is the limit\n")
	})
	a.Close()
	d.endsByTwo(syscall.SIGTERM)

	d = start(t, "-max-conns", "3", "-max-coroutines", "3")
	c := d.dial("tcp")
	// Too many to be started so slowly that one always ends before the next.
	n := c.send(cmdFanOut, u32s(maxChildren, maxRounds/maxChildren), u64(1))
	c.refused(n, "coroutines")
	c.echoes("hello")
}

// TestFewFDs: -max-conns leaves fds for all else, so that the admin address can
// still be had when there are as many connections as there may be.
func TestFewFDs(t *testing.T) {
	limited := func(n int, args ...string) *exec.Cmd { // the shell's limit is the child's hard one
		cmd := daemonCommand(args...)
		cmd.Args = append([]string{"sh", "-c", `ulimit -n ` + strconv.Itoa(n) + `; exec "$0" "$@"`,
			cmd.Path}, args...)
		cmd.Path = "/bin/sh"
		return cmd
	}
	d := startCommand(t, limited(reservedFDs+3, "-addr", "127.0.0.1:0", "-admin", "127.0.0.1:0"))
	if !d.said("-max-conns", `"lowered":3`) {
		t.Error("the limit is not told")
	}
	for range 3 {
		d.dial("tcp").echoes("hello")
	}
	for range 50 { // all of them wait in the backlog
		d.dial("tcp")
	}
	d.wants("/readyz", http.StatusServiceUnavailable, "3 connections, which is the limit\n")
	d.wants("/metrics", http.StatusOK, "\ndaemon_connections_max 3\n")
	cmd := limited(reservedFDs, "-addr", "127.0.0.1:0", "-admin", "")
	if out := outputOf(t, cmd); cmd.ProcessState.ExitCode() != 1 ||
		!strings.Contains(out, "RLIMIT_NOFILE") {
		t.Errorf("without room for a connection: %v\n%s", cmd.ProcessState, out)
	}
}

// TestStall: while a Processor stands the daemon says that it is not alive, why
// and for how long, and afterwards that it is.
func TestStall(t *testing.T) {
	t.Parallel()
	d := start(t, "-faults", "-lock-threads", "-processors", "1", "-dead-after", "200ms",
		"-watchdog", "100ms")
	c := d.dial("tcp")
	notAlive := func() bool {
		status, body := d.get("/healthz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "processor 0") &&
			strings.Contains(body, "sleep")
	}
	noticed := false
	// The observers, the watchdog for one, may have to wait for a CPU
	// themselves.
	for long := 1500 * time.Millisecond; !noticed; long *= 2 {
		if long > limit {
			t.Fatal("never: it is not alive")
		}
		c.SetDeadline(time.Now().Add(limit + long))
		n := c.send(cmdFault, []byte{faultSleep}, u32s(uint32(long.Milliseconds())))
		for end := time.Now().Add(long); !noticed &&
			time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			noticed = notAlive()
		}
		c.wants(statusDone, n, nil)
	}
	d.eventually("it is alive", func() bool {
		return d.answers("/healthz", http.StatusOK, "")
	})
	d.eventually("the log tells the cause", func() bool { return d.said(`"cause":"sleep"`) })
}

// TestBlocked: while a request blocks outside netco its Processor serves the
// others, and the end does not wait for it.
func TestBlocked(t *testing.T) {
	if err := testrun.CanHandOn(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	handoffs := regexp.MustCompile(`(?m)^netco_handoffs_total\{processor="0"\} \d+$`)
	for name, kind := range map[string]byte{"sleep": faultSleep, "channel": faultChannel,
		"mutex": faultMutex, "system call": faultSyscall} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t, "-faults", "-processors", "1", "-grace", "100ms", "-watchdog", "-1s")
			_, body := d.get("/metrics")
			before := handoffs.FindString(body) // a slow write to the log is one, too
			d.dial("tcp").send(cmdFault, []byte{kind}, u32s(uint32(maxFault.Milliseconds())))
			d.eventually("its Processor goes on", func() bool {
				_, body := d.get("/metrics")
				now := handoffs.FindString(body)
				return now != "" && now != before
			})
			d.dial("tcp").echoes("hello")
			d.signal(syscall.SIGTERM)
			d.ends(4)
		})
	}
}

// TestActivation: sockets that were handed over go before the flags.
func TestActivation(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := daemonCommand("-addr", "127.0.0.1:1", "-admin", "127.0.0.1:0")
	cmd.ExtraFiles = []*os.File{file}
	cmd.Env = append(cmd.Env, "LISTEN_FDS=1")
	d := startCommand(t, cmd)
	if d.tcp != l.Addr().String() {
		t.Errorf("it listens on %s, and was handed %s", d.tcp, l.Addr())
	}
	d.dial("tcp").echoes("hello")
}

// TestFlags: all values that are out of bounds are reported at once.
func TestFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"", nil},
		{"-addr :7 -admin [::1]:8", nil},
		{"-max-conns 0 -max-coroutines 0 -buffer-memory 0", nil},
		{"-addr 7070", []string{"-addr"}},
		{"-admin localhost", []string{"-admin"}},
		{"-processors -1 -max-frame 2 -grace -1s -dead-after 0",
			[]string{"-processors", "-max-frame", "-grace", "-dead-after"}},
		{"-max-conns 5 -max-coroutines 4", []string{"-max-conns"}},
		{"-max-conns 0 -max-coroutines 4", []string{"-max-conns"}},
		{"-read-timeout 0 -write-timeout 0", []string{"-read-timeout", "-write-timeout"}},
		{"-log-level loud", []string{"-log-level"}},
		{"-grace soon", []string{"-grace"}},
		{"an argument", []string{"argument"}},
	} {
		var out bytes.Buffer
		_, err := parse(strings.Fields(c.args), &out)
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", c.args, err)
		}
		first, _, _ := strings.Cut(out.String(), "Usage")
		for _, w := range c.want {
			if !strings.Contains(first, w) {
				t.Errorf("%s: no %q in\n%s", c.args, w, first)
			}
		}
	}
}

// TestPromises: a length is not believed further than bytes come.
func TestPromises(t *testing.T) {
	memory := sync.NewSemaphore(1 << 20)
	few := request{memory: memory}
	if err := few.readArgs(strings.NewReader("hello"), 1<<29); err != io.ErrUnexpectedEOF ||
		cap(few.args) > 1<<16 {
		t.Errorf("%d bytes, %v", cap(few.args), err)
	}
	few.release()
	long := bytes.Repeat([]byte("0123456789"), 50_000)
	r := bufio.NewReader(bytes.NewReader(append(long, 'x')))
	q := request{memory: memory}
	if err := q.readArgs(r, len(long)); !bytes.Equal(q.args, long) || err != nil {
		t.Errorf("%d bytes, %v, want %d", len(q.args), err, len(long))
	}
	if q.taken != int64(len(long)) || memory.TryAcquire(1<<20) {
		t.Errorf("%d bytes of memory for %d", q.taken, len(long))
	}
	if q.release(); !memory.TryAcquire(1 << 20) {
		t.Error("memory is not given back")
	}
	if c, err := r.ReadByte(); c != 'x' || err != nil {
		t.Errorf("%q, %v after it", c, err)
	}
	for n, want := range []bool{false, false, false, false, true, false} {
		if into := uint32(0); decode(make([]byte, n), &into) != want {
			t.Errorf("%d bytes for 4", n)
		}
	}
}
