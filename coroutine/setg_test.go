package coroutine

import "unsafe"

// setG makes w the worker of an invented goroutine.
func setG(w *worker, g uintptr) { *(*uintptr)(unsafe.Add(unsafe.Pointer(w), frameG)) = g }
