// Package errgroup holds netco's package errgroup against golang.org/x/sync's.
package errgroup

import (
	"testing"

	_ "golang.org/x/sync/errgroup"

	_ "github.com/netco-go/netco/errgroup"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestParity: they have the same names, and Group the same methods.
func TestParity(t *testing.T) {
	testenv.Parity(t, "golang.org/x/sync/errgroup", "github.com/netco-go/netco/errgroup", 5,
		"Group")
}
