//go:build !linux || (!amd64 && !arm64)

package asm

import (
	"errors"
	"runtime"
)

// ThreadOf returns an error.
func ThreadOf(g uintptr) (tid int, err error) {
	return 0, errors.New("netco/asm: threads are not known on " + runtime.GOOS + "/" + runtime.GOARCH)
}
