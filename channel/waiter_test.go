package channel

import (
	"reflect"
	"testing"

	"github.com/netco-go/netco/internal/ilist"
)

// TestLinksOffset: package ilist depends on it.
func TestLinksOffset(t *testing.T) {
	f, ok := reflect.TypeFor[waiter[int]]().FieldByName("Links")
	if !ok || f.Offset != ilist.Offset {
		t.Errorf("Links: %t, at %d, want %d", ok, f.Offset, ilist.Offset)
	}
}
