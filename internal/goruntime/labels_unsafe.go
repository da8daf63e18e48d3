package goruntime

import "unsafe"

// Labels returns the calling goroutine's profiler labels, as package
// runtime/pprof keeps them; nil for none.
//
//go:linkname Labels runtime/pprof.runtime_getProfLabel
func Labels() unsafe.Pointer

// SetLabels sets the calling goroutine's profiler labels, to what Labels has
// returned, on any goroutine, or nil.
//
// The runtime keeps both for libraries that use them: "Do not remove or change
// the type signature", runtime/proflabel.go.
//
//go:linkname SetLabels runtime/pprof.runtime_setProfLabel
func SetLabels(labels unsafe.Pointer)
