package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/socket"
)

// echoGoroutine is an echo server of this package's on ordinary goroutines.
func echoGoroutine(t *testing.T) net.Listener {
	t.Helper()
	ln := testenv.Must(socket.Listen("tcp", "127.0.0.1:0"))
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return ln
}

// TestGoroutinesLeaveNothing: ordinary goroutines that use sockets start what
// watches these and nothing else, and once the sockets are closed no goroutine
// and no fd of it is left. All Processors and a watchdog were started, for
// good.
func TestGoroutinesLeaveNothing(t *testing.T) {
	// what package net and the runtime make once
	if c, err := net.Dial("tcp", echoNet(t)); err == nil {
		c.Close()
	}
	before := testenv.Snapshot()
	for range 3 { // it starts anew each time
		ln := echoGoroutine(t)
		c := testenv.Must(socket.Dial("tcp", ln.Addr().String()))
		if err := answered(c, "hello"); err != nil {
			t.Error(err)
		}
		all := string(testenv.Stacks())
		if n := strings.Count(all, "processor.(*lookout).loop"); n != 1 {
			t.Errorf("%d goroutines look for events, want 1", n)
		}
		for _, more := range []string{"processor.(*Processor)", "scheduler."} {
			if strings.Contains(all, more) {
				t.Errorf("started as well: %s\n%s", more, all)
			}
		}
		c.Close()
		ln.Close()
		testenv.Until(t, "the goroutines' end", func() bool { return !strings.Contains(string(testenv.Stacks()), "netco/processor.") })
		if now := testenv.Snapshot(); now.Goroutines > before.Goroutines || now.FDs > before.FDs {
			if err := before.Leaks(); err != nil { // the end of the server's, say
				t.Fatal(err)
			}
		}
	}
}

// TestGoroutinesOneByOne: connections that follow one another at once have one
// lookout, which is neither woken nor made for each.
func TestGoroutinesOneByOne(t *testing.T) {
	address := echoNet(t)
	for range 200 {
		c := testenv.Must(socket.Dial("tcp", address))
		testenv.OK(t, answered(c, "hello"))
		c.Close()
	}
	testenv.Until(t, "its end", func() bool { return !strings.Contains(string(testenv.Stacks()), "netco/processor.") })
}

// TestAcceptBeforeStart: an Accept that a goroutine began before the default
// Scheduler was started ends with it all the same, and one that begins after
// that does not.
func TestAcceptBeforeStart(t *testing.T) {
	for range 2 {
		ln := testenv.Closing(t, testenv.Must(socket.Listen("tcp", "127.0.0.1:0")))
		ended := make(chan error)
		go func() {
			_, err := ln.Accept()
			ended <- err
		}()
		testenv.Until(t, "the Accept", func() bool { return strings.Contains(string(testenv.Stacks()), "processor.(*lookout).loop") })
		c := testenv.Closing(t, testenv.Must(socket.Dial("tcp", echoNet(t))))
		if err := answered(c, "hello"); err != nil {
			t.Error(err)
		}
		testenv.OK(t, netco.Start(netco.Options{Processors: 1}))
		testenv.OK(t, netco.Shutdown(context.Background()))
		if err := <-ended; !errors.Is(err, netco.ErrShutdown) {
			t.Errorf("Accept: %v, want ErrShutdown", err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, netco.ErrShutdown) {
			t.Errorf("Read: %v, want ErrShutdown", err)
		}
	}
}
