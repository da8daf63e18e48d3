package conformance

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"

	"github.com/netco-go/netco/interop/internal/place"
	"github.com/netco-go/netco/socket"
)

// TestPipe holds the pipe in memory against nettest, by every kind of caller.
func TestPipe(t *testing.T) {
	for _, caller := range callers {
		t.Run(caller.name, func(t *testing.T) {
			place.Start(t, caller.processors)
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				c1, c2 = socket.Pipe()
				c1, c2 = caller.wrap(c1), caller.wrap(c2)
				return c1, c2, func() { c1.Close(); c2.Close() }, nil
			})
		})
	}
}
