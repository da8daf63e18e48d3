package tls_test

import (
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestParity: what the standard's package exports is exported here too, and
// nothing else but limits and what newer releases have, and the types that are
// not the standard's have all its methods and fields.
func TestParity(t *testing.T) {
	testenv.Parity(
		t,
		"crypto/tls",
		"github.com/netco-go/netco/tls",
		110,
		"Conn",
		"Dialer",
		"+Limits",
		"+SecP256r1MLKEM768",
		"+SecP384r1MLKEM1024",
		"+MLKEM1024",
		"+MLDSA44",
		"+MLDSA65",
		"+MLDSA87",
		"+QUICErrorEvent",
	)
}
