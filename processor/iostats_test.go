package processor

import (
	"fmt"
	"net"
	"syscall"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
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

// TestAcceptPause: pauses grow until accepting succeeds, and of those that are
// longer than the last the log has one line a second, with the number of those
// left out. A lack of fds used to be logged hundreds of times.
func TestAcceptPause(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	g := newGroup(t, 1)
	g.members[0].cfg.Logger = zap.New(core)
	start(t, g)
	defer end(g)
	on(t, g.members[0], func() {
		l := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
		var p AcceptPause
		for _, step := range "PppPpppppPPeepepePe" { // p: a pause; P: after a second; e: the end
			switch p.lines.last.Store(1 << 62); step {
			case 'e':
				p.End(l)
				continue
			case 'P':
				p.lines.last.Store(0)
			}
			p.Next(l, net.ErrClosed)
		}
	})
	got := ""
	for _, e := range logs.All() {
		m := e.ContextMap()
		got += fmt.Sprintln(e.Message[len("accepting "):], m["pause"], m["unreported"])
	}
	testenv.Equal(t, got, "pauses 1ms 0\npauses 8ms 2\npauses 100ms 3\n"+
		"goes on <nil> <nil>\npauses 1ms 2\ngoes on <nil> <nil>\n")
}
