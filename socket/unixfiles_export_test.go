package socket

import "github.com/netco-go/netco/blocking"

// CloseIdleWorkers ends goroutines of pools that are idle, which would end by
// themselves some seconds later: a run of tests waits for that.
func CloseIdleWorkers() {
	files.CloseIdle()
	blocking.Default().CloseIdle()
}
