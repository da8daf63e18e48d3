package net_test

import (
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestParity: what the standard's package exports is exported here too, and
// nothing else, and the types that are not the standard's have all its methods
// and fields.
func TestParity(t *testing.T) {
	testenv.Parity(
		t,
		"net",
		"github.com/netco-go/netco/net",
		200,
		"Buffers",
		"Dialer",
		"ListenConfig",
		"Resolver",
		"TCPConn",
		"TCPListener",
		"UDPConn",
		"UnixConn",
		"UnixListener",
	)
}
