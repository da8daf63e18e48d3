package processor

import (
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestCounts: calls are counted where the caller runs, by what came of them.
func TestCounts(t *testing.T) {
	within(t, 30*time.Second)
	g := started(t, 1)
	p := g.members[0]
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
	if got := p.IO().Snapshot(); got != want {
		t.Errorf("in a coroutine: %+v\nwant %+v", got, want)
	}
	if got := GoroutineIO(); got != before {
		t.Errorf("outside: %+v, before %+v", got, before)
	}
	if before == (IOSnapshot{}) {
		count()
		if got := GoroutineIO(); got != want {
			t.Errorf("on a goroutine: %+v\nwant %+v", got, want)
		}
	}
	if n := testing.AllocsPerRun(1000, count); n != 0 {
		t.Errorf("%v allocations", n)
	}
	for k := range AcceptError(AcceptErrorKinds) {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
}
