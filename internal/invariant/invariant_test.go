package invariant_test

import (
	"testing"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/invariant"
)

// TestOnUnderRace: race builds check what production builds do not.
func TestOnUnderRace(t *testing.T) {
	if goruntime.RaceEnabled && !invariant.Enabled {
		t.Error("a race build does not check invariants")
	}
}
