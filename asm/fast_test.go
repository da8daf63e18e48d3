//go:build amd64 || arm64

package asm_test

import (
	"testing"

	"github.com/netco-go/netco/asm"
)

// TestCallerPCIsFast: the fallback is right too, but ten times as slow, and nobody would notice.
func TestCallerPCIsFast(t *testing.T) {
	if !asm.CallerPCIsFast() {
		t.Error("CallerPC is the unwinder")
	}
}
