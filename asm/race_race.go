//go:build race && (amd64 || arm64)

package asm

// RaceAcquireAll has the race detector take what all goroutines did so far for
// what happened before the caller goes on. It calls the function that the
// runtime calls for the goroutine that runs finalizers. racecall is where the
// runtime's function of that name begins, ctx the caller's racectx.
func RaceAcquireAll(racecall, ctx uintptr)
