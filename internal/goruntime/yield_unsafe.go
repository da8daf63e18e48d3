package goruntime

import _ "unsafe" // for go:linkname

// Yield is runtime.Gosched, except that the caller stays in the queue of its P,
// so that no thread is woken to take it. The runtime keeps it for libraries
// that use it: "Do not remove or change the type signature", runtime/proc.go.
//
//go:linkname Yield runtime.goyield
func Yield()
