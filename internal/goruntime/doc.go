// Package goruntime is the one place that knows what differs between Go releases: where the runtime's coroutine
// functions are, which releases they have been verified on, and how the race detector is told about a switch.
//
// Nothing here is guessed. A release that is not in the list, a symbol that is not found or a name that no longer
// fits is an error, and package context then uses the portable backend.
package goruntime
