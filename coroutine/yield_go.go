//go:build !(amd64 || arm64) || race

package coroutine

// yield is Yield's implementation. Under the race detector it is in Go, which tells the detector of each switch.
var yield = yieldGo
