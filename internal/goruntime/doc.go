// Package goruntime has everything that depends on the Go release: where the
// runtime's coroutine functions are, which releases they have been verified on,
// how the runtime marks a blocked goroutine, and how the race detector
// identifies a goroutine.
//
// It never guesses. A release that is not in the list, a symbol that is not
// found or a name that does not match is an error. Package context then uses
// the portable backend; and without the marks of a blocked goroutine no
// coroutine is left behind.
package goruntime
