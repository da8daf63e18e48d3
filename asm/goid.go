package asm

import (
	"bytes"
	"runtime"
	"strconv"
)

// ownGoid returns the calling goroutine's number as its stack trace shows it. About a microsecond.
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
