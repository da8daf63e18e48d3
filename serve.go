package netco

import (
	"context"
	"errors"
	"net"
	"syscall"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/serving"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// Listen announces on a local address, as net.Listen does and with its errors;
// accepts and the connections' reads and writes park coroutines and block
// ordinary goroutines. The network is tcp, tcp4, tcp6, unix or unixpacket; the
// result is a *socket.TCPListener or a *socket.UnixListener.
func Listen(network, address string) (net.Listener, error) {
	return new(socket.ListenConfig).Listen(context.Background(), network, address)
}

// Dial connects to an address, as net.Dial does and with its errors. The
// network is tcp, tcp4, tcp6, udp, udp4, udp6, unix, unixgram or unixpacket;
// the result is a *socket.TCPConn, *socket.UDPConn or *socket.UnixConn. Looking
// up a name and connecting park. [socket.Dialer] has settings, and dials with a
// context.
func Dial(network, address string) (net.Conn, error) {
	return new(socket.Dialer).Dial(network, address)
}

// Serve accepts connections from ln and calls handler for each, in a coroutine
// of its own, as [Go] starts it:
//
//	err := netco.Serve(ln, func(c net.Conn) {
//		defer c.Close()
//		...
//	})
//
// The handler owns the connection, to close or to pass on. A panic in the
// handler is like that of any coroutine, see [KeepServing]. If Go refuses the
// coroutine, Serve closes the connection; after ErrTooManyCoroutines it
// continues to accept.
//
// While the Scheduler drains, after [Shutdown] or a signal to [Main], a handler
// that waits for a request gets ErrShutdown from its Read: where the handler's
// own coroutine reads the connection, would have to wait, and has written since
// it last read, or nothing was read or written yet. The handler may answer
// requests that it has read, within the grace. A Read is not ended in [Shield],
// nor if a coroutine other than the handler was the last to write to the
// connection, nor on a connection that the program accepts by itself. This
// holds for netco's connections, also below TLS.
//
// Serve returns when accepting fails, and always with an error: net.ErrClosed
// after ln was closed, ErrShutdown when the Scheduler is ending, which closes
// ln, os.ErrDeadlineExceeded after its deadline. It closes ln, and leaves the
// handlers running. Temporary errors, such as a lack of fds, make it pause for
// 1 ms, doubled each time up to 100 ms, and are logged.
//
// ln may be a listener of netco, which parks a coroutine, or any other: a
// listener of package net blocks, as do its connections. [socket.LimitListener]
// limits how many connections are open at a time. Parks.
//
//go:noinline
func Serve(ln net.Listener, handler func(net.Conn)) error {
	site := asm.CallerPC()
	if handler == nil {
		panic("netco: Serve without a handler")
	}
	defer ln.Close()
	s, err := callers(false)
	if err != nil {
		return err
	}
	group := engine.Of(s).Group()
	defer group.OnDraining(func() { ln.Close() })() // netco's own Accept returns by itself
	var pause processor.AcceptPause
	for {
		c, err := ln.Accept()
		switch {
		case err == nil:
			pause.End(ln)
		case group.Phase() >= processor.Draining:
			return ErrShutdown
		case passes(err):
			Sleep(pause.Next(ln, err))
			continue
		default:
			return err
		}
		_, err = start(coroutine.SpawnAt(func() {
			serving.Begin(c)
			handler(c)
		}, site))
		if err != nil {
			c.Close()
		}
		if err != nil && !errors.Is(err, ErrTooManyCoroutines) {
			return err
		}
	}
}

// passes reports whether accepting may succeed after it has failed with err: an
// error that netco's own listeners retry by themselves, or an error that the
// listener calls temporary, as net/http understands it.
func passes(err error) bool {
	var errno syscall.Errno
	if errors.As(err, &errno) && processor.AcceptErrorOf(errno) <= processor.AcceptMemory {
		return true
	}
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary() && !timeout(err)
}

func timeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
