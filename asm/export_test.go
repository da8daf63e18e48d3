//go:build amd64 || arm64

package asm

import "reflect"

// CallerPCIsFast reports whether CallerPC reads the frame pointer, or has fallen back to the unwinder.
func CallerPCIsFast() bool {
	return reflect.ValueOf(CallerPC).Pointer() != reflect.ValueOf(callerPCSlow).Pointer()
}
