package socket_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
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

// TestStartWithoutFDs: the first thing that a process meets is that it has no
// fds left, or only so many. Start succeeds or returns EMFILE; the Go runtime,
// whose own poller may come too late, does not take the process down with
// "netpollinit failed".
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
	if len(results) != 2 && !t.Failed() {
		t.Errorf("with 0 to 11 fds to spare the outcomes are %v, want some successes and some refusals", results)
	}
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
// process has needed Go's poller. When something then does, the process must
// not die.
func TestNetpollBeforeEMFILE(t *testing.T) {
	t.Parallel()
	out, err := testenv.Output(children.Command(t, "late netpoll"))
	if err != nil || out != "alive" {
		t.Errorf("%v\n%.500s", err, out)
	}
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

const fewFDs = 20

// TestAcceptWithoutFDs: a server runs out of fds. Connections it has are served
// as before, it does not spin, and when some are closed it goes on accepting
// without being told. evio, gnet and gain end here; C++ netco recurses.
func TestAcceptWithoutFDs(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"coroutine", "goroutine"} {
		t.Run(where, func(t *testing.T) {
			cmd := children.Command(t, "few fds", where)
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
			exhaust(t, strings.TrimSpace(address))
		})
	}
}

func exhaust(t *testing.T, address string) {
	const clients = 2 * fewFDs
	var conns []net.Conn
	for range clients {
		c := testenv.Closing(t, testenv.Must(net.Dial("tcp", address)))
		c.SetDeadline(time.Now().Add(limit))
		conns = append(conns, c)
	}
	ask := func(c net.Conn) uint64 { // its answer is how often the server has tried to accept
		var b [8]byte
		c.SetDeadline(time.Now().Add(limit))
		testenv.Must(c.Write(b[:1]))
		if _, err := io.ReadFull(c, b[:]); err != nil {
			t.Fatalf("no answer: %v", err)
		}
		n := uint64(0)
		for _, x := range b {
			n = n<<8 | uint64(x)
		}
		return n
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
		t.Errorf("%d tries to accept during 2000 requests, in %v, of a server that has no fd", spent, took)
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
					n := tries.Load()
					answer := [8]byte{byte(n >> 56), byte(n >> 48), byte(n >> 40), byte(n >> 32), byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
					if _, err := c.Write(answer[:]); err != nil {
						return
					}
				}
			})
		}
	})
	fmt.Println(l.Addr())
	io.Copy(io.Discard, os.Stdin)
}
