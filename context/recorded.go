package context

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"
)

// go test caches the result of a test by the environment variables that the
// test process has read by package os while its log was on, which is from the
// beginning of testing.M.Run. The backend is chosen before that. So a process
// that keeps such a log reads the variable again where the backend matters.
// Otherwise a result under one backend would be reused under the other.

// unread is how often the variable is still to be read. Any thread.
var unread atomic.Int32

// mostReads is more than what a test program does with coroutines before its
// tests begin. Each read is a line of the log.
const mostReads = 1000

func init() {
	if hasTestLog(os.Args) {
		unread.Store(mostReads)
	}
}

// hasTestLog reports whether these are the arguments of a test process that
// logs what it reads.
func hasTestLog(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return strings.HasPrefix(arg, "-test.testlogfile=")
	})
}

// Recorded is called where the result depends on the backend in use, to record
// that for go test. Any thread. Outside of test processes it does nothing.
func Recorded() {
	if unread.Load() > 0 {
		unread.Add(-1)
		os.Getenv(EnvVar)
	}
}
