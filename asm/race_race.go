//go:build race && (amd64 || arm64)

package asm

// RaceAcquireAll makes everything that all goroutines did so far happen before
// what the caller does next, for the race detector. It calls the function that
// the runtime calls for the goroutine that runs finalizers. racecall is the
// entry of the runtime's function of that name, ctx the caller's racectx.
func RaceAcquireAll(racecall, ctx uintptr)
