package socket_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/socket"
)

// children are programs that this test binary can be: some tests are about a
// whole process.
var children = testenv.Children{}

func init() {
	children["start without fds"] = startWithoutFDs
	children["late netpoll"] = lateNetpoll
	children["few fds"] = serveWithFewFDs
	children["idle"] = serveIdle
}

// fillFDs opens fds until there are no more, then closes spare of them. It uses
// nothing that would use Go's poller.
func fillFDs(limit, spare int) (close func()) {
	setLimit(limit)
	var all []int
	for {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == unix.EMFILE {
			break
		}
		if err != nil {
			testenv.Fatal(err)
		}
		all = append(all, fd)
	}
	for range spare {
		unix.Close(all[len(all)-1])
		all = all[:len(all)-1]
	}
	return func() {
		for _, fd := range all {
			unix.Close(fd)
		}
	}
}

// setLimit sets how many fds the process may have.
func setLimit(n int) {
	var lim unix.Rlimit
	testenv.MustOK(unix.Getrlimit(unix.RLIMIT_NOFILE, &lim))
	lim.Cur = uint64(n)
	testenv.MustOK(unix.Setrlimit(unix.RLIMIT_NOFILE, &lim))
}

// TestStartWithoutFDs: a process has no fds left, or only so many, when it
// starts. Start succeeds or returns EMFILE; the Go runtime, whose own poller
// may come too late, does not take the process down with "netpollinit failed".
func TestStartWithoutFDs(t *testing.T) {
	t.Parallel()
	results := map[string]int{}
	for spare := range 12 {
		out, err := testenv.Output(children.Command(t, "start without fds", strconv.Itoa(spare)))
		if err != nil {
			t.Errorf("with %d fds to spare: %v\n%s", spare, err, out)
			continue
		}
		results[out]++
	}
	testenv.True(t, len(results) == 2 || t.Failed(),
		"with 0 to 11 fds to spare the outcomes are %v, want successes and refusals", results)
}

func startWithoutFDs() {
	spare, _ := strconv.Atoi(os.Args[1])
	free := fillFDs(64, spare)
	err := netco.Start(netco.Options{Processors: 2})
	switch {
	case err == nil:
		testenv.MustOK(netco.Run(func() { netco.Sleep(time.Millisecond) }))
		fmt.Print("started")
	case strings.Contains(err.Error(), unix.EMFILE.Error()):
		free()
		if err := netco.Start(netco.Options{Processors: 2}); err != nil {
			testenv.Fatal("a second start, with fds:", err)
		}
		testenv.MustOK(netco.Run(func() { netco.Sleep(time.Millisecond) }))
		fmt.Print("refused")
	default:
		testenv.Fatal(err)
	}
}

// TestNetpollBeforeEMFILE: a server uses up the fds before anything else in the
// process has needed Go's poller. When the poller is needed the process must
// not die.
func TestNetpollBeforeEMFILE(t *testing.T) {
	t.Parallel()
	out, err := testenv.Output(children.Command(t, "late netpoll"))
	testenv.True(t, err == nil && out == "alive", "%v\n%.500s", err, out)
}

func lateNetpoll() {
	testenv.MustOK(netco.Start(netco.Options{Processors: 1}))
	fillFDs(64, 0)
	time.Sleep(time.Millisecond)
	timer := make(chan struct{})
	time.AfterFunc(time.Millisecond, func() { close(timer) })
	<-timer
	if _, err := listenTCP("tcp", "127.0.0.1:0"); err == nil {
		testenv.Fatal("listening without an fd succeeded")
	}
	if _, err := dialTCP("tcp", "127.0.0.1:1"); err == nil {
		testenv.Fatal("dialling without an fd succeeded")
	}
	testenv.MustOK(netco.Run(func() { netco.Sleep(time.Millisecond) }))
	fmt.Print("alive")
}

// serveIn starts a child that is a server and ends with its standard input,
// which is closed at the end of the test. The child prints its address.
func serveIn(t *testing.T, child string, args ...string) (address string, pid int) {
	t.Helper()
	cmd := children.Command(t, child, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, stdout := testenv.Must(cmd.StdinPipe()), testenv.Must(cmd.StdoutPipe())
	testenv.OK(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server: %v %.500s", err, stderr.String())
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	testenv.OK(t, err)
	return strings.TrimSpace(line), cmd.Process.Pid
}

// dialMany returns n connections to a server.
func dialMany(t *testing.T, n int, address string) (conns []net.Conn) {
	t.Helper()
	for range n {
		c := testenv.Closing(t, testenv.Must(net.Dial("tcp", address)))
		c.SetDeadline(time.Now().Add(limit))
		conns = append(conns, c)
	}
	return conns
}

const fewFDs = 20

// TestAcceptWithoutFDs: a server runs out of fds. Connections it has are served
// as before, it does not spin, and when some are closed it goes on accepting
// without notice. evio, gnet and gain end here; C++ netco recurses.
func TestAcceptWithoutFDs(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"coroutine", "goroutine"} {
		t.Run(where, func(t *testing.T) {
			address, _ := serveIn(t, "few fds", where)
			exhaust(t, address)
		})
	}
}

func exhaust(t *testing.T, address string) {
	const clients = 2 * fewFDs
	conns := dialMany(t, clients, address)
	ask := func(c net.Conn) uint64 { // its answer is how often the server has tried to accept
		var b [8]byte
		c.SetDeadline(time.Now().Add(limit))
		testenv.Must(c.Write(b[:1]))
		if _, err := io.ReadFull(c, b[:]); err != nil {
			t.Fatalf("no answer: %v", err)
		}
		return binary.BigEndian.Uint64(b[:])
	}
	for range 100 {
		for i := range 3 {
			ask(conns[i])
		}
	}
	late := conns[clients-1]
	testenv.Must(late.Write([]byte{0}))
	began, tries := time.Now(), ask(conns[0])
	for range 2000 {
		ask(conns[0])
	}
	spent, took := ask(conns[0])-tries, time.Since(began)
	// a pause is 100 ms in the end
	if most := 200 + uint64(took/(50*time.Millisecond)); spent > most {
		t.Errorf("%d tries to accept during 2000 requests, in %v, of a server that has no fd",
			spent, took)
	}
	late.SetReadDeadline(time.Unix(1, 0)) // so that a read does not wait
	raw, _ := late.(*net.TCPConn).SyscallConn()
	raw.Control(func(fd uintptr) {
		if n := queued(t, int(fd)); n != 0 {
			t.Errorf("the last client was served: the server never ran out of fds")
		}
	})
	late.SetReadDeadline(time.Now().Add(limit))
	for _, c := range conns[3 : 3+fewFDs/2] {
		c.Close()
	}
	for _, c := range conns[fewFDs : fewFDs+fewFDs/4] {
		ask(c)
	}
	for _, c := range conns[:clients-1] {
		c.Close()
	}
	var b [8]byte
	if _, err := io.ReadFull(late, b[:]); err != nil {
		t.Errorf("the last client: %v", err)
	}
}

// serveWithFewFDs answers each byte with the count of accepts tried, until its
// standard input ends.
func serveWithFewFDs() {
	var tries atomic.Uint64
	sysx.Inject(func(op sysx.Op, _, asked int) (int, syscall.Errno) {
		if op == sysx.Accept {
			tries.Add(1)
		}
		return asked, 0
	})
	testenv.MustOK(netco.Start(netco.Options{Processors: 1}))
	l := testenv.Must(listenTCP("tcp", "127.0.0.1:0"))
	run := func(f func()) { netco.Go(f) }
	if os.Args[1] == "goroutine" {
		run = func(f func()) { go f() }
	}
	fillFDs(64, fewFDs)
	run(func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				testenv.Fatal("accept:", err)
			}
			run(func() {
				defer c.Close()
				b := make([]byte, 1)
				for {
					if _, err := c.Read(b); err != nil {
						return
					}
					answer := binary.BigEndian.AppendUint64(nil, tries.Load())
					if _, err := c.Write(answer); err != nil {
						return
					}
				}
			})
		}
	})
	fmt.Println(l.Addr())
	io.Copy(io.Discard, os.Stdin)
}

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
	address, pid := serveIn(t, "idle")
	conns := dialMany(t, idleConns, address)
	for _, c := range conns {
		b := []byte{0}
		testenv.Must(c.Write(b))
		testenv.Must(io.ReadFull(c, b))
	}
	untilAsleep(t, pid)
	for _, c := range conns { // and it was not dead
		c.SetDeadline(time.Now().Add(limit))
		testenv.Must(c.Write([]byte{1}))
	}
	for _, c := range conns {
		testenv.Must(io.ReadFull(c, make([]byte, 1)))
	}
}

// untilAsleep waits until no thread of a process has run for all of idleTime.
// The runtime has collections to finish and memory to give back first, which
// takes as long as the machine likes. A process that wakes now and then never
// gets there.
func untilAsleep(t *testing.T, pid int) {
	t.Helper()
	before, since := activity(t, pid), time.Now()
	for end := since.Add(4 * limit); time.Since(since) < idleTime; {
		time.Sleep(idleTime / 8)
		now := activity(t, pid)
		if maps.Equal(now, before) {
			continue
		}
		if time.Now().After(end) {
			t.Fatalf("the server is never idle for %v, by thread:\nbefore %v\nafter  %v", idleTime,
				before, now)
		}
		before, since = now, time.Now()
	}
}

// activity returns, for each thread, how often it has left its core and for how
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
			if name, n, ok := strings.Cut(line, ":"); ok &&
				strings.HasSuffix(name, "ctxt_switches") {
				switches = append(switches, strings.TrimSpace(n))
			}
		}
		if len(switches) != 2 {
			t.Skip("this kernel does not count context switches")
		}
		found[filepath.Base(dir)] = strings.Join(switches, "+") + " switches, " +
			strings.TrimSpace(string(sched)) + " ns"
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
