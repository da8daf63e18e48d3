package conformance

import (
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/net/nettest"

	"github.com/netco-go/netco/interop/internal/certs"
	"github.com/netco-go/netco/interop/internal/place"
	netcotls "github.com/netco-go/netco/tls"
)

// TestNetcoTLS runs all parts of nettest.TestConn over netco's package tls.
func TestNetcoTLS(t *testing.T) {
	server, client := certs.Configs(t)
	for _, caller := range callers {
		t.Run(caller.name, func(t *testing.T) {
			place.Start(t, caller.processors)
			plain := pipe("tcp4", "127.0.0.1:0", func(c net.Conn) net.Conn { return c })
			nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
				a, b, _, err := plain()
				if err != nil {
					return nil, nil, nil, err
				}
				s, c := netcotls.Server(a, server), netcotls.Client(b, client)
				shaken := make(chan error, 1)
				go func() { shaken <- s.Handshake() }() // a deadline that ends it is for good
				if err := c.Handshake(); err != nil {
					return nil, nil, nil, err
				}
				return caller.wrap(s), caller.wrap(c), func() { s.Close(); c.Close() }, <-shaken
			})
		})
	}
}

// tlsParts are the parts of nettest.TestConn that crypto/tls passes over net's own connections. In the others, PastTimeout,
// FutureTimeout and ConcurrentMethods, it hangs there too: no write of a tls.Conn succeeds after one that has timed out.
const tlsParts = "BasicIO|PingPong|RacyRead|RacyWrite|ReadTimeout|WriteTimeout|PresentTimeout|CloseTimeout"

const tlsChild = "INTEROP_TLS_CHILD"

// TestTLS runs these parts over netco, in a process of their own: nettest cannot be told to leave parts out, but -test.run can.
func TestTLS(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run", "^TestTLSParts$/^.*$/^("+tlsParts+")$", "-test.v",
		"-test.timeout", "4m")
	cmd.Env = append(os.Environ(), tlsChild+"=1")
	out, err := cmd.CombinedOutput()
	want := len(callers) * (1 + strings.Count(tlsParts, "|"))
	if passed := strings.Count(string(out), "        --- PASS"); err != nil || passed != want {
		t.Errorf("%d parts of %d passed, %v\n%s", passed, want, err, out)
	}
}

// TestTLSParts is what the child runs.
func TestTLSParts(t *testing.T) {
	if os.Getenv(tlsChild) == "" {
		return
	}
	server, client := certs.Configs(t)
	for _, caller := range callers {
		t.Run(strings.ReplaceAll(caller.name, " ", "_"), func(t *testing.T) {
			place.Start(t, caller.processors)
			plain := pipe("tcp4", "127.0.0.1:0", caller.wrap)
			nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
				a, b, _, err := plain()
				if err != nil {
					return nil, nil, nil, err
				}
				s, c := tls.Server(a, server), tls.Client(b, client)
				shaken := make(chan error, 1)
				go func() { shaken <- s.Handshake() }()
				if err := c.Handshake(); err != nil {
					return nil, nil, nil, err
				}
				return s, c, func() { s.Close(); c.Close() }, <-shaken
			})
		})
	}
}
