package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

// TestMain runs the daemon itself when a test starts it as a child.
func TestMain(m *testing.M) {
	if os.Getenv("DAEMON_CHILD") != "" {
		os.Unsetenv("DAEMON_CHILD")
		main()
		return
	}
	testenv.Parallel()
	os.Exit(m.Run())
}

// limit is when a test gives up.
const limit = time.Minute

// child is a daemon that a test has started.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	tcp    string
	unix   string
	admin  string
	exited chan struct{}
	err    error // of Wait, once exited is closed

	mu  sync.Mutex
	log []string // under mu
}

// daemonCommand returns one that runs the daemon with these flags.
func daemonCommand(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "DAEMON_CHILD=1")
	return cmd
}

// start starts the daemon on ports that are free, and waits until it says that
// it is ready.
func start(t *testing.T, args ...string) *child {
	t.Helper()
	return startCommand(t,
		daemonCommand(append([]string{"-addr", "127.0.0.1:0", "-admin", "127.0.0.1:0"},
			args...)...))
}

func startCommand(t *testing.T, cmd *exec.Cmd) *child {
	t.Helper()
	d := &child{t: t, cmd: cmd, exited: make(chan struct{})}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			d.line(lines.Text(), ready)
		}
		d.err = cmd.Wait()
		close(d.exited)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-d.exited
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", strings.Join(d.log, "\n"))
		}
	})
	select {
	case <-ready:
	case <-d.exited:
		t.Fatalf("the daemon has ended: %v", d.err)
	case <-time.After(limit):
		t.Fatal("the daemon does not get ready")
	}
	return d
}

func (ch *child) line(text string, ready chan struct{}) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.log = append(ch.log, text)
	var said struct{ Msg, Network, Address string }
	json.Unmarshal([]byte(text), &said)
	switch {
	case said.Msg == "listening" && said.Network == "tcp":
		ch.tcp = said.Address
	case said.Msg == "listening" && said.Network == "unix":
		ch.unix = said.Address
	case said.Msg == "admin":
		ch.admin = said.Address
	case said.Msg == "ready":
		close(ready)
	}
}

// said reports whether a line of the log has all of the words.
func (ch *child) said(words ...string) bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
next:
	for _, line := range ch.log {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		return true
	}
	return false
}

func (ch *child) signal(sig syscall.Signal) {
	ch.t.Helper()
	if err := ch.cmd.Process.Signal(sig); err != nil {
		ch.t.Fatal(err)
	}
}

// code waits for the end and returns the exit code.
func (ch *child) code() int {
	ch.t.Helper()
	select {
	case <-ch.exited:
	case <-time.After(limit):
		ch.t.Fatal("the daemon does not end")
	}
	return ch.cmd.ProcessState.ExitCode()
}

// ends waits for the end and wants that exit code.
func (ch *child) ends(code int) {
	ch.t.Helper()
	if got := ch.code(); got != code {
		ch.t.Errorf("exit code %d (%v), want %d", got, ch.err, code)
	}
}

// get returns an admin page.
func (ch *child) get(path string) (status int, body string) {
	ch.t.Helper()
	c := http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.Get("http://" + ch.admin + path)
	if err != nil {
		ch.t.Fatal(err)
	}
	defer r.Body.Close()
	p, err := io.ReadAll(r.Body)
	if err != nil {
		ch.t.Fatal(err)
	}
	return r.StatusCode, string(p)
}

// answers reports whether an admin page has that status and text.
func (ch *child) answers(path string, status int, has string) bool {
	ch.t.Helper()
	got, body := ch.get(path)
	return got == status && strings.Contains(body, has)
}

// wants wants an admin page to have that status and text.
func (ch *child) wants(path string, status int, has string) {
	ch.t.Helper()
	if got, body := ch.get(path); got != status || body == "" || !strings.Contains(body, has) {
		ch.t.Errorf("%s: status %d, %d bytes, want %d and %q in\n%.500s", path, got, len(body),
			status, has, body)
	}
}

// endsByTwo signals twice, the second time while it drains, and wants the exit
// code of that signal.
func (ch *child) endsByTwo(sig syscall.Signal) {
	ch.t.Helper()
	ch.signal(sig)
	ch.eventually("it drains", func() bool { return ch.said(`"draining"`) })
	ch.signal(sig)
	ch.ends(128 + int(sig))
}

// eventually waits until ask is true.
func (ch *child) eventually(what string, ask func() bool) {
	ch.t.Helper()
	for end := time.Now().Add(limit); !ask(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ch.t.Fatalf("never: %s", what)
		}
	}
}

// client is one connection to the daemon.
type client struct {
	net.Conn
	t    *testing.T
	next uint32
}

func (ch *child) dial(network string) *client {
	ch.t.Helper()
	c, err := net.Dial(network, map[string]string{"tcp": ch.tcp, "unix": ch.unix}[network])
	if err != nil {
		ch.t.Fatal(err)
	}
	ch.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(limit))
	return &client{Conn: c, t: ch.t}
}

func (c *client) send(cmd command, args ...[]byte) uint32 {
	c.t.Helper()
	c.next++
	p := bytes.Join(args, nil)
	frame := binary.BigEndian.AppendUint32(nil, uint32(headSize+len(p)))
	frame = append(frame, byte(cmd))
	frame = append(binary.BigEndian.AppendUint32(frame, c.next), p...)
	if _, err := c.Write(frame); err != nil {
		c.t.Fatal(err)
	}
	return c.next
}

// receive returns the next frame.
func (c *client) receive() (s status, number uint32, body []byte, err error) {
	var head [lengthSize + headSize]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, 0, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint32(head[:])-headSize)
	_, err = io.ReadFull(c, body)
	return status(head[4]), binary.BigEndian.Uint32(head[5:]), body, err
}

// wants wants the next frame to be this one.
func (c *client) wants(s status, number uint32, body []byte) {
	c.t.Helper()
	gotS, gotN, got, err := c.receive()
	if err != nil || gotS != s || gotN != number || !bytes.Equal(got, body) {
		c.t.Fatalf("status %d, number %d, %.60q, %v; want %d, %d, %.60q", gotS, gotN, got, err, s,
			number, body)
	}
}

// refused wants the next frame to refuse a request, for a reason with this
// word.
func (c *client) refused(number uint32, why string) {
	c.t.Helper()
	if s, n, body, err := c.receive(); s != statusError || n != number || err != nil ||
		!strings.Contains(string(body), why) {
		c.t.Errorf("status %d, number %d, %q, %v; want %d, %d, %q", s, n, body, err, statusError,
			number, why)
	}
}

// ends wants the stream to end.
func (c *client) ends() {
	c.t.Helper()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF &&
		!errors.Is(err, syscall.ECONNRESET) {
		c.t.Fatalf("%d bytes, %v, want the end", n, err)
	}
}

// echoes wants an echo to be answered.
func (c *client) echoes(text string) {
	c.t.Helper()
	sum := crc32.Checksum([]byte(text), castagnoli)
	c.wants(statusDone, c.send(cmdEcho, []byte(text)),
		append(binary.BigEndian.AppendUint32(nil, sum), text...))
}

func u32s(all ...uint32) (p []byte) {
	for _, n := range all {
		p = binary.BigEndian.AppendUint32(p, n)
	}
	return p
}
