//go:build !linux

package work

import (
	"errors"
	"time"
)

// threadCPU is not there: netco-bench needs Linux, and says so in package asm.
func threadCPU() (time.Duration, error) { return 0, errors.ErrUnsupported }
