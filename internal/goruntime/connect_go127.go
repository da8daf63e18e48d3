//go:build go1.27

package goruntime

// ConnectEnds says what net/http's server makes of CONNECT: since Go 1.27 it
// closes the connection behind the answer, and an answer of 2xx has no framing.
// Before that, CONNECT is a method like any other.
const ConnectEnds = true
