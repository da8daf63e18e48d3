package socket_test

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// loudConn has a Read of its own, as a TLS connection that embeds its socket
// would.
type loudConn struct{ *socket.TCPConn }

func (c loudConn) Read(p []byte) (int, error) { return c.TCPConn.Read(p) }

// wrappedListener is a listener of the user's around one of ours.
type wrappedListener struct {
	net.Listener
	wrap func(*socket.TCPConn) net.Conn
}

func (l wrappedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.wrap(c.(*socket.TCPConn)), nil
}

// TestServeRefuses: a Server that was given a listener whose connections it
// cannot serve, for TLS or of package net, waited for a connection and ended
// with the first one; and it served a type around a connection past that type's
// own Read.
func TestServeRefuses(t *testing.T) {
	for name, l := range map[string]func(t *testing.T) net.Listener{
		"tls": func(t *testing.T) net.Listener { return tls.NewListener(listen(t), new(tls.Config)) },
		"limited tls": func(t *testing.T) net.Listener {
			return socket.LimitListener(tls.NewListener(listen(t), new(tls.Config)), 1)
		},
		"net":          func(t *testing.T) net.Listener { return netListen(t) },
		"tls over net": func(t *testing.T) net.Listener { return tls.NewListener(netListen(t), new(tls.Config)) },
	} {
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			bad := l(t)
			ended := make(chan error, 1)
			go func() { ended <- (&socket.Server{Handle: echoOnce}).Serve(bad) }()
			err := testenv.Await(t, ended, "the refusal") // nobody connects
			if err == nil || !strings.Contains(err.Error(), "listener") && !strings.Contains(err.Error(), "Listener") {
				t.Errorf("%v; want an error that names the listener", err)
			}
			if c, err := bad.Accept(); err == nil {
				c.Close()
				t.Error("the listener is open")
			}
		})
	}
	t.Run("a listener of such", func(t *testing.T) {
		start(t, 1)
		address, ends := serveWrapped(t, func(c *socket.TCPConn) net.Conn { return loudConn{c} })
		c := dialNet(t, address)
		if err := testenv.Await(t, ends, "the refusal"); err == nil || !strings.Contains(err.Error(), "loudConn") {
			t.Errorf("%v; want an error that names the type", err)
		}
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("%d, %v: the connection is open", n, err)
		}
	})
	t.Run("ServeConn", func(t *testing.T) {
		start(t, 1)
		c, peer := withPeer(t)
		if err := (&socket.Server{Handle: echoOnce}).ServeConn(loudConn{c}); err == nil || !strings.Contains(err.Error(), "loudConn") {
			t.Errorf("%v; want an error that names the type", err)
		}
		if n, err := peer.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("%d, %v: the connection is open", n, err)
		}
	})
	t.Run("NewBuffered", func(t *testing.T) {
		start(t, 1)
		c, _ := withPeer(t)
		for _, bad := range []socket.Stream{loudConn{c}, &loudConn{c}, nil} {
			func() {
				defer func() {
					if p, ok := recover().(string); !ok || !strings.Contains(p, "NewBuffered") {
						t.Errorf("NewBuffered(%T): %v", bad, p)
					}
				}()
				socket.NewBuffered(bad)
			}()
		}
	})
	t.Run("not what it can serve", func(t *testing.T) {
		start(t, 1)
		address, _ := serveWrapped(t, func(c *socket.TCPConn) net.Conn { return c })
		c := dialNet(t, address)
		exchange(t, c, "served")
	})
}

func netListen(t *testing.T) net.Listener {
	t.Helper()
	l := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	return l
}

// serveWrapped serves connections of a wrappedListener.
func serveWrapped(t *testing.T, wrap func(*socket.TCPConn) net.Conn) (address string, ends chan error) {
	t.Helper()
	l := listen(t)
	s := &socket.Server{Handle: echoOnce}
	ends = make(chan error, 1)
	testrun.First.Go(func() { ends <- s.Serve(&wrappedListener{l, wrap}) })
	t.Cleanup(func() { s.Close() })
	return l.Addr().String(), ends
}
