package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/examples/internal/child"
	"github.com/netco-go/netco/internal/testenv"
)

// TestMain runs the daemon itself when a test starts it as a child.
func TestMain(m *testing.M) {
	if child.Is() {
		main()
		return
	}
	testenv.Main(m)
}

// limit is when a test gives up waiting. No test passes by waiting that long.
const limit = time.Minute

// start starts a server in this process and returns its address. It ends with
// the test.
func start(t testing.TB, processors int) (addr string) {
	t.Helper()
	if err := netco.Start(netco.Options{Processors: processors}); err != nil {
		t.Fatal(err)
	}
	ln, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving, end := context.WithCancel(context.Background())
	netco.Go(func() { newStore().serve(serving, ln) })
	t.Cleanup(func() {
		end()
		ln.Close()
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := netco.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return ln.Addr().String()
}

// peer is a plain client.
type peer struct {
	t testing.TB
	net.Conn
	in *bufio.Reader
}

func connect(t testing.TB, addr string) *peer {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(limit))
	return &peer{t, c, bufio.NewReader(c)}
}

// request is a command as clients send it.
func request(args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.String()
}

func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

func (p *peer) send(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p, s); err != nil {
		p.t.Fatal(err)
	}
}

// answer reads one answer and returns it as it came.
func (p *peer) answer() string {
	p.t.Helper()
	line, err := p.in.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%q, %v", line, err)
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '$':
		if n >= 0 {
			body := make([]byte, n+2)
			if _, err := io.ReadFull(p.in, body); err != nil {
				p.t.Fatal(err)
			}
			line += string(body)
		}
	case '*':
		for range n {
			line += p.answer()
		}
	}
	return line
}

func (p *peer) ask(args ...string) string {
	p.t.Helper()
	p.send(request(args...))
	return p.answer()
}

func (p *peer) expect(want string, args ...string) {
	p.t.Helper()
	if got := p.ask(args...); got != want {
		p.t.Errorf("%.100q: %.200q, want %.200q", args, got, want)
	}
}

// TestStop ends the daemon by each signal with a connection open, and wants
// exit code 0.
func TestStop(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd, addr := child.Start(t, "-addr", "127.0.0.1:0", "-processors", "2", "-grace", "1m")
		p := connect(t, addr)
		p.expect("+PONG\r\n", "PING")
		cmd.Process.Signal(sig)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: ended with %v", sig, err)
		}
		if _, err := p.in.ReadByte(); err != io.EOF {
			t.Errorf("%v: the connection: %v, want EOF", sig, err)
		}
	}
}

// TestClients has the programs that come with redis talk to the daemon, if they
// are installed.
func TestClients(t *testing.T) {
	_, addr := child.Start(t, "-addr", "127.0.0.1:0", "-processors", "1")
	_, port, _ := net.SplitHostPort(addr)
	run := func(t *testing.T, stdin, name string, args ...string) string {
		t.Helper()
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip(name, "is not installed")
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, path, append([]string{"-h", "127.0.0.1", "-p", port},
			args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	t.Run("redis-cli", func(t *testing.T) {
		got := run(t, "set greeting \"hello there\"\nget greeting\nincr greeting\nttl "+
			"greeting\nmget greeting none\n", "redis-cli")
		want := "OK\nhello there\nERR value is not an integer or out of range\n\n-1\nhello " +
			"there\n\n"
		if got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if got := run(t, "", "redis-cli", "dbsize"); got != "1\n" {
			t.Errorf("dbsize: %q", got)
		}
		if got := run(t, request("SET", "piped", "1")+request("INCR", "piped"), "redis-cli",
			"--pipe"); !strings.Contains(got, "errors: 0, replies: 2") {
			t.Errorf("--pipe: %q", got)
		}
	})
	t.Run("redis-benchmark", func(t *testing.T) {
		got := run(t, "", "redis-benchmark", "-t", "ping,set,get,incr,mset", "-n", "2000", "-P",
			"16", "-c", "10", "-r", "100", "-q")
		if strings.Contains(got, "WARN") || strings.Count(got, "requests per second") != 6 {
			t.Errorf("%s", got)
		}
	})
}
