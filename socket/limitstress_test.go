package socket_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

func init() { children["all limits"] = serveWithinLimits }

const (
	stressConns   = 12 // of the Server; as many as there are fds for these and the other listener's
	stressClients = 40 // at a time, for each listener
	stressRounds  = 3
	busy          = "busy\n"
)

// serveWithinLimits is a child that has all limits at once: connections,
// coroutines, buffers and fds. It serves a Server at one address; at the other,
// coroutines that it starts by Go, and whoever finds no room for one is told
// so.
func serveWithinLimits() {
	testenv.MustOK(netco.Start(netco.Options{Processors: 2, MaxCoroutines: 9, BufferMemory: 16 << 10, BufferSize: 16 << 10, OnPanic: netco.KeepServing}))
	served := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	started := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	fillFDs(64, 12)
	server := &socket.Server{MaxConns: stressConns, Handle: slowEcho}
	netco.Go(func() { server.Serve(served) })
	var turnedAway atomic.Int64
	netco.Go(func() {
		for {
			c, err := started.Accept()
			if err != nil {
				return
			}
			if _, err := netco.Go(func() { echoLines(c.(*socket.TCPConn)) }); err != nil {
				if !errors.Is(err, netco.ErrTooManyCoroutines) {
					fmt.Fprintln(os.Stderr, err)
				}
				turnedAway.Add(1)
				io.WriteString(c, busy)
				c.(*socket.TCPConn).CloseWrite()
				c.Close()
			}
		}
	})
	os.Stdout.WriteString(served.Addr().String() + " " + started.Addr().String() + "\n")
	s, _ := netco.Default()
	noFiles := func() (n uint64) {
		for _, p := range s.Processors() {
			n += p.IO().AcceptErrors[processor.AcceptFiles].Load()
		}
		return n
	}
	for noFiles() == 0 {
		time.Sleep(time.Millisecond)
	}
	os.Stdout.WriteString("no fd is left\n")
	io.Copy(io.Discard, os.Stdin)
	waits, files := bufferWaits(), noFiles()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := netco.Shutdown(ctx); err != nil {
		testenv.Fatal("Shutdown:", err)
	}
	fmt.Printf("pauses %d refused %d away %d waits %d files %d open %d\n", socket.AcceptPauses(), s.Refused(), turnedAway.Load(), waits, files, socket.Open())
}

// bufferWaits is how often somebody has waited for a buffer.
func bufferWaits() (n uint64) {
	s, _ := netco.Default()
	for _, p := range s.Processors() {
		n += p.BufferWaits()
	}
	return n
}

// slowEcho keeps a buffer for a while; if it is asked to keep it, until another
// wants one.
func slowEcho(c *socket.ServerConn) error {
	b := socket.AcquireBuffer()
	defer b.Release()
	n, err := c.Read(b.Bytes())
	if err != nil {
		return err
	}
	netco.Sleep(100 * time.Microsecond)
	for bytes.HasPrefix(b.Bytes()[:n], []byte("keep")) && bufferWaits() == 0 {
		netco.Sleep(100 * time.Microsecond)
	}
	if bytes.HasPrefix(b.Bytes()[:n], []byte("bomb")) {
		panic("a request that its handler cannot bear")
	}
	_, err = c.Write(b.Bytes()[:n])
	return err
}

// echoLines answers lines, by a Buffered that may find no buffer.
func echoLines(c *socket.TCPConn) {
	b := socket.NewBuffered(c)
	defer b.Close()
	for {
		line, err := b.ReadSlice('\n')
		if err != nil {
			return
		}
		b.Write(line)
	}
}

// TestAllLimits: more clients than connections, coroutines, buffers and fds
// allow, all at once. Every client of the Server is served in the end; those of
// the other listener are served or told that it is busy; and nothing is left
// over.
func TestAllLimits(t *testing.T) {
	cmd := children.Command(t, "all limits")
	var out, problems bytes.Buffer
	in := testenv.Must(cmd.StdinPipe())
	stdout := testenv.Must(cmd.StdoutPipe())
	cmd.Stderr = &problems
	testenv.OK(t, cmd.Start())
	giveUp := time.AfterFunc(6*limit, func() { cmd.Process.Kill() })
	defer giveUp.Stop()
	t.Cleanup(func() { // if the test has ended early
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewReader(stdout)
	var addresses [2]string
	if _, err := fmt.Fscanln(lines, &addresses[0], &addresses[1]); err != nil {
		cmd.Process.Kill()
		cmd.Wait() // which ends the writes to problems
		t.Fatalf("%v\n%s", err, &problems)
	}
	var wg sync.WaitGroup
	var echoed, away atomic.Int64
	away.Add(runOutOfFiles(t, addresses, lines))
	away.Add(runOutOfCoroutines(t, addresses[1]))
	for i := range stressClients {
		for kind, address := range addresses {
			wg.Go(func() {
				for round := range stressRounds {
					switch got, err := stressClient(address, i, round, i == 0 && kind == 0); {
					case err != nil:
						t.Errorf("client %d of listener %d, round %d: %v", i, kind, round, err)
					case got == busy && kind == 1:
						away.Add(1)
					case got == busy:
						t.Error("the Server turned a client away")
					default:
						echoed.Add(1)
					}
				}
			})
		}
	}
	wg.Wait()
	in.Close()
	io.Copy(&out, lines)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, problems.String())
	}
	var pauses, refused, told, waits, files, open int
	fmt.Sscanf(out.String(), "pauses %d refused %d away %d waits %d files %d open %d", &pauses, &refused, &told, &waits, &files, &open)
	t.Logf("%d answers, %d turned away; %s", echoed.Load(), away.Load(), strings.TrimSpace(out.String()))
	if pauses == 0 || refused == 0 || waits == 0 || files == 0 || refused != told || told != int(away.Load()) {
		t.Errorf("not every limit was met, or counted: %s", &out)
	}
	if open != 1 { // the second listener
		t.Errorf("%d sockets are still open: %s", open, &out)
	}
	if n := strings.Count(problems.String(), "netco: panic in coroutine"); n == 0 {
		t.Error("no panic was told of")
	}
}

// runOutOfFiles holds all connections that the Server may have, which are all
// fds that there are, until another is wanted. It returns how many were turned
// away.
func runOutOfFiles(t *testing.T, addresses [2]string, child *bufio.Reader) int64 {
	t.Helper()
	var held []net.Conn
	for range stressConns {
		c := dialNet(t, addresses[0])
		exchange(t, c, "held\n")
		held = append(held, c)
	}
	waiting := dialNet(t, addresses[1])
	if line, err := child.ReadString('\n'); line != "no fd is left\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	for _, c := range held { // one of them waits for the other's buffer
		io.WriteString(c, "keep\n")
	}
	for _, c := range held {
		if got, err := bufio.NewReader(c).ReadString('\n'); got != "keep\n" {
			t.Errorf("%q, %v", got, err)
		}
		c.Close()
	}
	defer waiting.Close()
	io.WriteString(waiting, "no longer waiting\n")
	got, err := bufio.NewReader(waiting).ReadString('\n')
	switch {
	case got == "no longer waiting\n":
		return 0
	case got != busy && !errors.Is(err, syscall.ECONNRESET): // as long as the coroutines of those that are held have not ended
		t.Errorf("%q, %v", got, err)
	}
	return 1
}

// runOutOfCoroutines holds connections that have a coroutine each until one is
// turned away, and returns how many were.
func runOutOfCoroutines(t *testing.T, address string) int64 {
	t.Helper()
	for {
		c := dialNet(t, address)
		defer c.Close()
		io.WriteString(c, "held\n")
		got, err := bufio.NewReader(c).ReadString('\n')
		if got != "held\n" {
			t.Logf("turned away: %q, %v", got, err)
			return 1
		}
	}
}

// stressClient exchanges a line of some kB and returns what came back. A bomb
// is what makes the Server's handler panic: who sends one is content with the
// end of its connection.
func stressClient(address string, i, round int, bomb bool) (string, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(4 * limit))
	line := fmt.Sprintf("%d %d %s\n", i, round, strings.Repeat("x", 3000))
	if bomb {
		line = "bomb " + line
	}
	if _, err := io.WriteString(c, line); err != nil {
		return busy, nil
	}
	got, err := bufio.NewReader(c).ReadString('\n')
	switch {
	case got == busy || got == line:
		return got, nil
	case bomb && err != nil:
		return "gone", nil
	case err != nil && strings.Contains(err.Error(), "connection reset"):
		return busy, nil // closed with our line unread, which drops what it was told
	}
	return got, fmt.Errorf("%d bytes came back, and %v", len(got), err)
}
