//go:build amd64 || arm64

package asm

import (
	"bytes"
	"runtime"
)

// whereSlow is Where, read from the goroutine's stack trace.
func whereSlow() (g, locks uintptr) {
	var buf [80]byte
	header, _, _ := bytes.Cut(buf[:runtime.Stack(buf[:], false)], []byte(":"))
	if bytes.Contains(header, []byte("locked to thread")) {
		locks = 1
	}
	return Getg(), locks
}

// Hash spreads a goroutine's identity over 64 bits, the high ones best:
// Fibonacci hashing (Knuth, The Art of Computer Programming, vol. 3, 6.4).
func Hash(g uintptr) uint64 { return uint64(g) * 0x9e3779b97f4a7c15 }
