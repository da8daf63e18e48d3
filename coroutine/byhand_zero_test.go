package coroutine

import "testing"

// TestZeroYielder: a Yielder that New has not made has no coroutine.
func TestZeroYielder(t *testing.T) {
	var y Yielder[int, string]
	if _, err := y.Yield("x"); err != ErrOutside {
		t.Errorf("Yield: %v", err)
	}
	if _, err := y.Transfer(Fiber[int, string]{}, 1); err != ErrOutside {
		t.Errorf("Transfer: %v", err)
	}
	if y.ID() != 0 {
		t.Errorf("ID: %d", y.ID())
	}
}
