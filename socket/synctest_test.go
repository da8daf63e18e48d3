package socket_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/socket"
)

// socketsInBubble uses sockets of the kernel's in a bubble.
func socketsInBubble(t *testing.T) {
	ln := testenv.Closing(t, testenv.Must(socket.Listen("tcp", "127.0.0.1:0")))
	served := make(chan struct{})
	go func() {
		defer close(served)
		c := testenv.Must(ln.Accept())
		defer c.Close()
		io.Copy(c, c)
	}()
	c := testenv.Must(socket.DialTimeout("tcp",
		fmt.Sprintf("localhost:%d", ln.Addr().(*net.TCPAddr).Port), time.Minute))
	testenv.NoError(t, answered(c, "hello"))
	real := time.Now()
	c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	for range 2 {
		testenv.Fails(t, testenv.Err(c.Read(make([]byte, 1))), os.ErrDeadlineExceeded,
			"a read under a deadline")
	}
	testenv.Equal(t, time.Since(real), 0,
		"the bubble's clock went on by while a goroutine waited for the kernel")
	c.SetReadDeadline(time.Time{})
	big := make([]byte, 8<<20)
	go c.Write(big)
	if n, err := io.ReadFull(c, make([]byte, len(big))); err != nil {
		t.Errorf("%d of %d bytes came back: %v", n, len(big), err)
	}
	endInBubble(t, c, ln, served)

}

// endInBubble ends reads and an accept that wait.
func endInBubble(t *testing.T, c net.Conn, ln net.Listener, served <-chan struct{}) {
	ended := make(chan error)
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}()
	c.SetReadDeadline(time.Unix(1, 0))
	testenv.Fails(t, <-ended, os.ErrDeadlineExceeded, "a read whose deadline was set meanwhile")
	c.SetReadDeadline(time.Time{})
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}()
	c.Close()
	testenv.Fails(t, <-ended, net.ErrClosed, "a read that was closed meanwhile")
	<-served
	go func() {
		_, err := ln.Accept()
		ended <- err
	}()
	ln.Close()
	testenv.Fails(t, <-ended, net.ErrClosed, "an accept that was closed meanwhile")
}

// TestSocketsInBubble: sockets of the kernel's work in a bubble, in real time,
// as those of package net. Nothing that the wait takes is the bubble's: a
// poller that it started kept the bubble from ending, and one outside may not
// wake its goroutines.
func TestSocketsInBubble(t *testing.T) {
	new(socket.Resolver).LookupHost(context.Background(),
		"localhost") // Go's resolver may not be used in a bubble first of all
	before := testenv.Snapshot()
	synctest.Test(t, socketsInBubble)
	start(t, 1) // also beside Processors
	synctest.Test(t, socketsInBubble)
	testenv.NoError(t, netco.Shutdown(context.Background()))
	testenv.NoError(t, before.Leaks())
}

// TestServerInBubble: a Server, whose connections are coroutines' matter, says
// in a bubble that it does not work there.
func TestServerInBubble(t *testing.T) {
	start(t, 1)
	var busy atomic.Bool
	serving := &socket.Server{Handle: func(c *socket.ServerConn) error {
		c.Read(make([]byte, 1))
		busy.Store(true)
		_, err := c.Read(make([]byte, 1)) // Shutdown has to wait for it
		return err
	}}
	ln := testenv.Must(socket.Listen("tcp", "127.0.0.1:0"))
	go serving.Serve(ln)
	peer := testenv.Closing(t, testenv.Must(net.Dial("tcp", ln.Addr().String())))
	testenv.Must(peer.Write([]byte{1}))
	testenv.Until(t, "the connection", busy.Load) // and not only its fd
	synctest.Test(t, func(t *testing.T) {
		inside := testenv.Closing(t, testenv.Must(socket.Listen("tcp", "127.0.0.1:0")))
		c := testenv.Must(socket.Dial("tcp", inside.Addr().String()))
		testenv.Fails(t, new(socket.Server).ServeConn(c.(*socket.TCPConn)), netco.ErrBubble,
			"ServeConn")
		testenv.Fails(t, serving.Shutdown(context.Background()), netco.ErrBubble, "Shutdown")
	})
	serving.Close()
}
