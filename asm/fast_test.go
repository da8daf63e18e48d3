//go:build amd64 || arm64

package asm

import (
	"reflect"
	"testing"
)

// TestCallerPCIsFast: CallerPC reads the frame pointer. The unwinder that it
// falls back to is right too, but ten times as slow, and no other test would
// show it.
func TestCallerPCIsFast(t *testing.T) {
	if reflect.ValueOf(CallerPC).Pointer() == reflect.ValueOf(callerPCSlow).Pointer() {
		t.Error("CallerPC is the unwinder")
	}
}
