package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestMain runs the daemon itself when a test, or the daemon, starts it as a
// child.
func TestMain(m *testing.M) {
	if os.Getenv("RESTART_CHILD") != "" {
		if os.Getenv("RESTART_FAILS") != "" && os.Getenv("LISTEN_FDS") != "" {
			os.Exit(3) // a new version that does not work
		}
		main()
		return
	}
	os.Exit(m.Run())
}

const limit = time.Minute

// daemon is the first process and all that follow it, which write to one pipe.
type daemon struct {
	address string
	out     *bufio.Reader
	first   *exec.Cmd
	last    int // the process's number
}

func startDaemon(t *testing.T, env ...string) *daemon {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	r.SetReadDeadline(time.Now().Add(3 * limit))
	d := &daemon{out: bufio.NewReader(r)}
	d.first = exec.Command(os.Args[0], "-addr", "127.0.0.1:0", "-grace", "1h")
	d.first.Env = append(append(os.Environ(), "RESTART_CHILD=1"), env...)
	d.first.Stdout, d.first.Stderr = w, w
	if err := d.first.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { // only what is still there after a failure
		d.first.Process.Kill()
		if p, err := os.FindProcess(d.last); err == nil && d.last != d.first.Process.Pid &&
			t.Failed() {
			p.Kill()
		}
		d.first.Wait()
	})
	d.next(t)
	return d
}

// next waits for the next process's first line.
func (d *daemon) next(t *testing.T) {
	t.Helper()
	line := d.line(t)
	if _, err := fmt.Sscanf(line, "%d listening on %s", &d.last, &d.address); err != nil {
		t.Fatalf("it says %q", line)
	}
}

func (d *daemon) line(t *testing.T) string {
	t.Helper()
	line, err := d.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func (d *daemon) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(d.last, sig); err != nil {
		t.Fatal(err)
	}
}

// gone waits until all processes have ended and wants them to have had nothing
// more to say.
func (d *daemon) gone(t *testing.T) {
	t.Helper()
	if rest, err := io.ReadAll(d.out); len(rest) > 0 || err != nil {
		t.Errorf("at the end they say %q, %v", rest, err)
	}
	if err := d.first.Wait(); err != nil {
		t.Errorf("the first process: %v", err)
	}
}

func dial(address string) (net.Conn, *bufio.Reader, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, nil, err
	}
	c.SetDeadline(time.Now().Add(limit))
	return c, bufio.NewReader(c), nil
}

// ask sends a line and returns the number of the process that answers.
func ask(c net.Conn, answers *bufio.Reader) (pid int, err error) {
	if _, err := c.Write([]byte("hello\n")); err != nil {
		return 0, err
	}
	line, err := answers.ReadString('\n')
	if err != nil {
		return 0, err
	}
	number, said, _ := strings.Cut(line, " ")
	if said != "hello\n" {
		return 0, fmt.Errorf("the answer is %q", line)
	}
	return strconv.Atoi(number)
}

// TestRestart: clients connect without a pause while the daemon replaces itself
// twice. None is refused, none is cut, and connections from before go on with
// the process that accepted them.
func TestRestart(t *testing.T) {
	d := startDaemon(t)
	first := d.last
	old, oldAnswers, err := dial(d.address)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	old.SetDeadline(time.Time{}) // it stays to the end
	if pid, err := ask(old, oldAnswers); pid != first || err != nil {
		t.Fatal(pid, err)
	}
	address := d.address
	clients := startClients(t, address)
	defer clients.end()
	clients.serves(t, first)
	for range 2 {
		before := d.last
		d.signal(t, syscall.SIGHUP)
		d.next(t)
		if d.last == before || d.address != address {
			t.Errorf("process %d on %s follows process %d on %s", d.last, d.address, before,
				address)
		}
		clients.serves(t, d.last)
	}
	if pid, err := ask(old, oldAnswers); pid != first || err != nil {
		t.Errorf("the connection from before the restarts: process %d, %v, want %d", pid,
			err, first)
	}
	old.Close()
	clients.end()
	d.signal(t, syscall.SIGTERM)
	d.gone(t)
	awaitRefusal(t, address)
}

// awaitRefusal waits until no process listens any more. Another process that
// gets the port next may do so for a while.
func awaitRefusal(t *testing.T, address string) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		c, _, err := dial(address)
		if err != nil {
			return
		}
		c.Close()
		if time.Now().After(end) {
			t.Fatal("a process still listens")
		}
	}
}

// clients connect again and again, and count which process answers.
type clients struct {
	stop   atomic.Bool
	served sync.Map // process → *atomic.Int64
	all    sync.WaitGroup
}

func startClients(t *testing.T, address string) *clients {
	c := new(clients)
	for range 4 {
		c.all.Go(func() {
			for !c.stop.Load() && c.once(t, address) {
			}
		})
	}
	return c
}

// once asks three times over one connection. It returns false on an error.
func (c *clients) once(t *testing.T, address string) bool {
	conn, answers, err := dial(address)
	if err != nil {
		t.Errorf("refused: %v", err)
		return false
	}
	defer conn.Close()
	for range 3 {
		pid, err := ask(conn, answers)
		if err != nil {
			t.Errorf("cut: %v", err)
			return false
		}
		c.count(pid).Add(1)
	}
	return true
}

func (c *clients) count(pid int) *atomic.Int64 {
	n, _ := c.served.LoadOrStore(pid, new(atomic.Int64))
	return n.(*atomic.Int64)
}

// serves waits until a process has answered a hundred times.
func (c *clients) serves(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(limit); c.count(pid).Load() < 100; time.Sleep(time.Millisecond) {
		if time.Now().After(end) || t.Failed() {
			t.Fatalf("process %d does not serve", pid)
		}
	}
}

func (c *clients) end() {
	c.stop.Store(true)
	c.all.Wait()
}

// TestRestartFails: a new version that does not get ready changes nothing.
func TestRestartFails(t *testing.T) {
	d := startDaemon(t, "RESTART_FAILS=1")
	for range 2 {
		d.signal(t, syscall.SIGHUP)
		if line := d.line(t); !strings.Contains(line, "still here") {
			t.Errorf("it says %q", line)
		}
		if line := d.line(t); !strings.Contains(line, "exit status 3") {
			t.Errorf("it says %q", line)
		}
		c, answers, err := dial(d.address)
		if err != nil {
			t.Fatal(err)
		}
		if pid, err := ask(c, answers); pid != d.last || err != nil {
			t.Error(pid, err)
		}
		c.Close()
	}
	d.signal(t, syscall.SIGINT)
	d.gone(t)
}

// TestLongLine: a line without an end is refused, not collected.
func TestLongLine(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	go answer(near)
	far.SetDeadline(time.Now().Add(limit))
	go func() {
		for p := bytes.Repeat([]byte("x"), 1<<10); ; {
			if _, err := far.Write(p); err != nil {
				return
			}
		}
	}()
	got, err := io.ReadAll(far)
	if want := fmt.Sprintf("%d a line has more than %d bytes\n", os.Getpid(),
		maxLine); string(got) != want || err != nil {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
