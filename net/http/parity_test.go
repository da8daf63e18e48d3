package http_test

import (
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestParity: what the standard's package exports is exported here too, and
// nothing else but what newer releases have, and the types that are not the
// standard's have all its methods and fields.
func TestParity(t *testing.T) {
	testenv.Parity(
		t,
		"net/http",
		"github.com/netco-go/netco/net/http",
		230,
		"Client",
		"Server",
		"Transport",
		"+DefaultMaxHeaderValueCount",
		"+ClientConn",
	)
}
