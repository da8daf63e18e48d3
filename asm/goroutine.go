//go:build amd64 || arm64

package asm

import (
	"bytes"
	"runtime"
	"strconv"
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

// ownGoid returns the calling goroutine's number as its stack trace shows it.
// It costs about a microsecond.
func ownGoid() uint64 {
	var buf [40]byte
	text := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	digits, _, _ := bytes.Cut(text, []byte(" "))
	id, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		panic("netco/asm: no goroutine number in " + string(text))
	}
	return id
}

// Hash spreads a goroutine's identity over 64 bits, the high ones best:
// Fibonacci hashing (Knuth, The Art of Computer Programming, vol. 3, 6.4).
func Hash(g uintptr) uint64 { return uint64(g) * 0x9e3779b97f4a7c15 }
