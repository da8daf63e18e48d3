package scheduler

import (
	"os"
	"runtime"
	"sync/atomic"
)

// spared is the GOMAXPROCS that spareP has set; 0 if it has set none.
var spared atomic.Int32

// spareP lets Go run one goroutine more than n Processors at once. A Processor
// that sleeps in epoll keeps its P as long as some other P is idle. Without an
// idle P the runtime gives it to some goroutine, often on the core of a second
// Processor, and the sleeper has to wait for a P when it wakes.
//
// It raises GOMAXPROCS by one, once in a process, and not if the environment
// sets it.
func spareP(n int) {
	procs := runtime.GOMAXPROCS(0)
	if n < procs || os.Getenv("GOMAXPROCS") != "" {
		return
	}
	if spared.CompareAndSwap(0, int32(procs+1)) {
		runtime.GOMAXPROCS(procs + 1)
	}
}

// defaultProcessors is GOMAXPROCS without the spare one.
func defaultProcessors() int {
	procs := runtime.GOMAXPROCS(0)
	if procs == int(spared.Load()) {
		procs--
	}
	return min(procs, maxProcessors)
}
