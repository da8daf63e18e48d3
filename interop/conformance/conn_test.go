// Package conformance holds netco's connections against golang.org/x/net/nettest, which says what a net.Conn must do, and its
// packet connections against what net's do. Of crypto/tls over netco it asks what crypto/tls over net can do, see tlsParts.
package conformance

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/interop/internal/place"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// networks are those on which TestConn is run, each with an address to listen on.
var networks = []struct {
	name    string
	address func(t *testing.T) string
}{
	{"tcp4", func(*testing.T) string { return "127.0.0.1:0" }},
	{"tcp6", func(*testing.T) string { return "[::1]:0" }},
	{"unix", socketPath},
	{"unixpacket", socketPath},
}

func socketPath(t *testing.T) string { return testenv.SocketPath(t, "s") }

// pipe connects two ends through a netco listener. wrap is put around each of them.
func pipe(network, address string, wrap func(net.Conn) net.Conn) nettest.MakePipe {
	return func() (c1, c2 net.Conn, stop func(), err error) {
		ln, err := netco.Listen(network, address)
		if err != nil {
			return nil, nil, nil, err
		}
		defer ln.Close()
		accepted := make(chan net.Conn, 1)
		go func() {
			c, err := ln.Accept()
			if err != nil {
				c = nil
			}
			accepted <- c
		}()
		if c1, err = netco.Dial(network, ln.Addr().String()); err != nil {
			return nil, nil, nil, err
		}
		if c2 = <-accepted; c2 == nil {
			c1.Close()
			return nil, nil, nil, net.ErrClosed
		}
		c1, c2 = wrap(c1), wrap(c2)
		return c1, c2, func() { c1.Close(); c2.Close() }, nil
	}
}

// callers are who calls the methods of the connections: nettest's own goroutines, or coroutines on their behalf.
var callers = []struct {
	name       string
	processors int
	wrap       func(net.Conn) net.Conn
}{
	{"goroutine", 2, func(c net.Conn) net.Conn { return c }},
	{"coroutine, one Processor", 1, onCoroutines},
	{"coroutine, two Processors", 2, onCoroutines},
}

func TestConn(t *testing.T) {
	for _, network := range networks {
		for _, caller := range callers {
			t.Run(network.name+"/"+caller.name, func(t *testing.T) {
				if network.name == "tcp6" && !nettest.SupportsIPv6() {
					t.Skip("no IPv6")
				}
				place.Start(t, caller.processors)
				nettest.TestConn(t, pipe(network.name, network.address(t), caller.wrap))
			})
		}
	}
}
