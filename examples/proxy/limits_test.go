package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/examples/internal/child"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/socket"
)

// TestClientsThatLeave: while the target does not answer, clients that have
// gone cost nothing. Each kept two fds until the kernel gave up dialling, two
// minutes later.
func TestClientsThatLeave(t *testing.T) {
	target, _ := testenv.Deaf(t)
	proxy, process := startProcess(t, target, "-dial-timeout", "1h")
	fds := func() int {
		names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	const clients = 40
	all := make([]*net.TCPConn, clients)
	for i := range all {
		c, err := net.Dial("tcp", proxy)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all[i] = c.(*net.TCPConn)
	}
	testenv.Until(t, "all to be dialled for", func() bool { return fds() >= 2*clients })
	for i, c := range all[1:] {
		if i%2 == 0 {
			io.WriteString(c, "question")
			c.SetLinger(0)
		}
		c.Close()
	}
	testenv.Until(t, "the fds to be closed", func() bool { return fds() < clients })
	all[0].SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := all[0].Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Errorf("one that has stayed: %v", err)
	}
}

// TestLeft: which clients have left, and which may wait for an answer.
func TestLeft(t *testing.T) {
	ln, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, c := range []struct {
		name string
		do   func(*net.TCPConn)
		want bool
	}{
		{"silent", func(c *net.TCPConn) {}, false},
		{"has sent", func(c *net.TCPConn) { c.Write([]byte("x")) }, false},
		{"has sent and ended its stream", func(c *net.TCPConn) {
			c.Write([]byte("x"))
			c.CloseWrite()
		}, false},
		{"has ended its stream", func(c *net.TCPConn) { c.CloseWrite() }, true},
		{"has closed", func(c *net.TCPConn) { c.Close() }, true},
		{"has reset", func(c *net.TCPConn) { c.SetLinger(0); c.Close() }, true},
		{"has sent and reset", func(c *net.TCPConn) {
			c.Write([]byte("x"))
			c.SetLinger(0)
			c.Close()
		}, true},
	} {
		far, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer far.Close()
		near, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer near.Close()
		client := near.(*socket.TCPConn)
		if left(client) {
			t.Errorf("%s: before that it has left", c.name)
		}
		c.do(far.(*net.TCPConn))
		if c.want {
			testenv.Until(t, c.name, func() bool { return left(client) })
			continue
		}
		if c.name != "silent" {
			client.WaitReadable()
		}
		if left(client) {
			t.Errorf("%s: it has left", c.name)
		}
	}
}

// TestDialTimeout: a target that does not answer is not waited for.
func TestDialTimeout(t *testing.T) {
	target, _ := testenv.Deaf(t)
	c, err := net.Dial("tcp", startProxy(t, target, "-dial-timeout", "50ms"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(limit))
	if _, err := c.Read(make([]byte, 1)); err == nil ||
		!strings.Contains(err.Error(), "connection reset") {
		t.Errorf("%v", err)
	}
}

// TestMaxConns: beyond the limit clients wait, and are served as others end.
func TestMaxConns(t *testing.T) {
	proxy, target := setup(t, "-max-conns", "2")
	a, aServer := through(t, proxy, target)
	through(t, proxy, target)
	third, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	target.SetDeadline(time.Now().Add(50 * time.Millisecond))
	if c, err := target.Accept(); !os.IsTimeout(err) {
		t.Errorf("a third connection: %v, %v", c, err)
	}
	a.Close()
	aServer.Close()
	target.SetDeadline(time.Now().Add(limit))
	c, err := target.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// TestIdleByDefault: connections on which nothing moves are not kept for ever,
// unless that is asked for.
func TestIdleByDefault(t *testing.T) {
	out, err := child.Command("-h").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	_, about, _ := strings.Cut(string(out), "-idle duration")
	if about, _, _ = strings.Cut(about, "\n  -"); !strings.Contains(about, "(default 10m0s)") {
		t.Errorf("-idle:%s", about)
	}
}
