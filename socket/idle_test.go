package socket_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/socket"
)

const (
	idleConns = 1000
	idleTime  = time.Second
)

// TestIdle: a server with a thousand open connections on which nothing happens
// is asleep, all its threads, the Go runtime's monitor included: in two seconds
// no thread of the process is given a core. libco wakes a thousand times a
// second.
func TestIdle(t *testing.T) {
	t.Parallel()
	cmd := children.Command(t, "idle")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := testenv.Must(cmd.StdoutPipe())
	testenv.OK(t, cmd.Start())
	defer func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server: %v %.500s", err, stderr.String())
		}
	}()
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Error(err)
		return
	}
	var conns []net.Conn
	for range idleConns {
		c, err := net.Dial("tcp", strings.TrimSpace(address))
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(limit))
		conns = append(conns, c)
	}
	for _, c := range conns {
		var b [1]byte
		if _, err := c.Write(b[:]); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(c, b[:]); err != nil {
			t.Error(err)
		}
	}
	// The runtime has collections to finish and memory to give back first. How
	// long that takes it, and with which pauses, is the machine's affair: it is
	// over when nothing ran for all of idleTime. What wakes now and then never
	// lets that be.
	before := activity(t, cmd.Process.Pid)
	since := time.Now()
	for end := since.Add(4 * limit); time.Since(since) < idleTime; {
		time.Sleep(idleTime / 8)
		now := activity(t, cmd.Process.Pid)
		if maps.Equal(now, before) {
			continue
		}
		if time.Now().After(end) {
			t.Errorf("the server is never idle for %v, by thread:\nbefore %v\nafter  %v", idleTime, before, now)
			return
		}
		before, since = now, time.Now()
	}
	for _, c := range conns { // and it was not dead
		c.SetDeadline(time.Now().Add(limit))
		if _, err := c.Write([]byte{1}); err != nil {
			t.Error(err)
			break
		}
	}
	for _, c := range conns {
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Error(err)
			break
		}
	}
}

// activity tells, for each thread, how often it has left its core and for how
// long it has had one.
func activity(t *testing.T, pid int) map[string]string {
	t.Helper()
	found := map[string]string{}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("no threads of %d: %v", pid, err)
	}
	for _, dir := range tasks {
		status, err := os.ReadFile(dir + "/status")
		if err != nil {
			continue // it has ended
		}
		sched, _ := os.ReadFile(dir + "/schedstat")
		var switches []string
		for line := range strings.Lines(string(status)) {
			if name, n, ok := strings.Cut(line, ":"); ok && strings.HasSuffix(name, "ctxt_switches") {
				switches = append(switches, strings.TrimSpace(n))
			}
		}
		if len(switches) != 2 {
			t.Skip("this kernel does not count context switches")
		}
		found[filepath.Base(dir)] = strings.Join(switches, "+") + " switches, " + strings.TrimSpace(string(sched)) + " ns"
	}
	return found
}

// serveIdle echoes single bytes until its standard input ends. Half of the
// connections wait in WaitReadable, half in Read.
func serveIdle() {
	testenv.MustOK(netco.Start(netco.Options{Processors: max(2, runtime.GOMAXPROCS(0))}))
	l := testenv.Must(listenTCP("tcp", "127.0.0.1:0"))
	netco.Go(func() {
		for i := 0; ; i++ {
			c, err := l.AcceptTCP()
			if err != nil {
				testenv.Fatal("accept:", err)
			}
			netco.Go(func() {
				defer c.Close()
				var own [1]byte
				for {
					var err error
					if i%2 == 0 {
						err = answerBorrowed(c)
					} else if _, err = c.Read(own[:]); err == nil {
						_, err = c.Write(own[:])
					}
					if err != nil {
						return
					}
				}
			})
		}
	})
	fmt.Println(l.Addr())
	debug.SetGCPercent(-1) // no collection in the background
	b := make([]byte, 1)
	unix.Read(0, b) // not through os: nothing but netco is to be seen
}

// answerBorrowed answers one request with a buffer that it holds no longer than
// that.
func answerBorrowed(c *socket.TCPConn) error {
	if err := c.WaitReadable(); err != nil {
		return err
	}
	buf := socket.AcquireBuffer()
	defer buf.Release()
	n, err := c.Read(buf.Bytes())
	if err == nil {
		_, err = c.Write(buf.Bytes()[:n])
	}
	return err
}
