package context

import (
	"os"
	"strings"
	"sync/atomic"
	"syscall"
)

// go test caches the result of a test by the environment variables that the
// test process has read by package os while its log was on, which is from the
// beginning of testing.M.Run. The backend is chosen before that. So a process
// that keeps such a log reads the variable again whenever the backend matters,
// until that is in the log: else a result under one backend would be taken for
// one under the other.

// testLog is the file in which go test wants to find what was read; "" for
// none.
var testLog = testLogOf(os.Args)

// unrecorded says that EnvVar is yet to be read for testLog, and emptied that
// testLog has been seen without content, as package testing makes it: it may
// have some of another process before.
var unrecorded, emptied atomic.Bool

// records counts calls of record.
var records atomic.Uint32

func init() { unrecorded.Store(testLog != "") }

func testLogOf(args []string) string {
	for _, arg := range args {
		if name, ok := strings.CutPrefix(arg, "-test.testlogfile="); ok {
			return name
		}
	}
	return ""
}

// Recorded is to be called where what follows depends on the backend in use: it
// lets go test know that. Any thread. It does nothing but in a test process,
// and there no more than read a variable until the log has some hundred lines.
func Recorded() {
	if unrecorded.Load() {
		record()
	}
}

// record reads EnvVar. If something has been written to the log's file before,
// the log was on by then, and that was the last time. Package testing buffers
// 4 KiB, so it may take some 200 reads to get there; only each 64th looks, as
// that allocates.
func record() {
	var st syscall.Stat_t
	look, size := records.Add(1)%64 == 1, int64(0)
	if look && syscall.Stat(testLog, &st) == nil { // os.Stat would be logged as well
		size = st.Size
	}
	os.Getenv(EnvVar)
	switch {
	case !look:
	case size == 0:
		emptied.Store(true)
	case emptied.Load():
		unrecorded.Store(false)
	}
}
