package http_test

import (
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestParity: the package exports the names of the standard's, those of newer
// releases included, and no others. Types of its own have all methods and
// fields of the standard's.
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
