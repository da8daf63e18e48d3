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
// until the log has it. Otherwise a result under one backend would be reused
// under the other.

// testLog is the file in which go test expects the names of the variables read;
// "" for none.
var testLog = testLogOf(os.Args)

// unrecorded means that EnvVar is still to be read for testLog; emptied, that
// testLog was seen empty, as package testing creates it: before, it may hold
// another process's content.
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

// Recorded is called where the result depends on the backend in use, to record
// that for go test. Any thread. Outside of test processes it does nothing; in
// them it reads a variable until the log has some hundred lines.
func Recorded() {
	if unrecorded.Load() {
		record()
	}
}

// record reads EnvVar. If the log's file was empty once and has content before
// this read, the log was on by then, and no more reads are needed. Package
// testing buffers 4 KiB, so this may take some 200 reads; only each 64th checks
// the file, since that allocates.
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
