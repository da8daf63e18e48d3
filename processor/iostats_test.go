package processor

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
)

// TestCounts: calls are counted where the caller runs, by what came of them.
func TestCounts(t *testing.T) {
	p := started(t, 1).members[0]
	count := func() {
		for _, errno := range []syscall.Errno{0, unix.EAGAIN, unix.ECONNRESET} {
			CountRead(10, errno)
			CountWrite(100, errno)
		}
		for _, errno := range []syscall.Errno{0, unix.EAGAIN, unix.EMFILE, unix.ENFILE,
			unix.ENOMEM, unix.ECONNABORTED, unix.EBADF} {
			CountAccept(errno)
		}
		CurrentIO().CountSavedRead()
	}
	want := IOSnapshot{Reads: 3, Writes: 3, Accepts: 7, ReadAgain: 1, WriteAgain: 1,
		AcceptAgain: 1, SavedReads: 1, BytesIn: 10, BytesOut: 100, Accepted: 1,
		AcceptErrors: [AcceptErrorKinds]uint64{
			AcceptConnection: 1, AcceptFiles: 2, AcceptMemory: 1, acceptOther: 1,
		}}
	before := GoroutineIO()
	on(t, p, count)
	testenv.Equal(t, p.IO().Snapshot(), want, "in a coroutine")
	testenv.Equal(t, GoroutineIO(), before, "outside")
	if before == (IOSnapshot{}) {
		count()
		testenv.Equal(t, GoroutineIO(), want, "on a goroutine")
	}
	testenv.Equal(t, testing.AllocsPerRun(1000, count), 0, "allocations")
	for k := range AcceptError(AcceptErrorKinds) {
		testenv.True(t, k.String() != "", "kind %d has no name", k)
	}
}
