// Package goruntime is the one place that knows what differs between Go
// releases: where the runtime's coroutine functions are, which releases they
// have been verified on, how a goroutine is marked that is blocked, and how the
// race detector is told about a switch.
//
// Nothing here is guessed. A release that is not in the list, a symbol that is
// not found or a name that does not fit is an error. Package context then uses
// the portable backend; and without the marks of a blocked goroutine no
// coroutine is left behind.
package goruntime
