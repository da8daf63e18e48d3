package socket_test

import (
	"io"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestPipesBounded: no more than MaxPipes exist, who gets none copies without,
// and those that nobody needs are closed.
func TestPipesBounded(t *testing.T) {
	start(t, 1)
	noPipes(t) // one that is closed meanwhile makes room for another
	giveBack := socket.TakePipes(2 * socket.MaxPipes)
	if n := socket.OpenPipes(); n > socket.MaxPipes {
		t.Errorf("%d pipes", n)
	}
	src, up := withPeer(t)
	dst, down := withPeer(t)
	var s script
	remove := s.install(t)
	const total = 2 << 20
	fed := supply(t, up, rand.New(rand.NewPCG(12, 12)), total)
	drained := swallow(t, down, total)
	testrun.First.Do(t, func() {
		if n, err := io.Copy(dst, src); n != total || err != nil {
			t.Error(n, err)
		}
		dst.Close()
	})
	testenv.Await(t, fed, "writes")
	testenv.Await(t, drained, "reads")
	remove()
	if n := s.called[sysx.SpliceIn].Load() + s.called[sysx.Pipe].Load(); n != 0 {
		t.Errorf("%d calls that splice", n)
	}
	giveBack()
	noPipes(t)
}

// noPipes waits until all pipes are closed.
func noPipes(t *testing.T) {
	t.Helper()
	testenv.Until(t, "the pipes to be closed", func() bool {
		runtime.GC()
		return socket.OpenPipes() == 0
	})
}

// TestPipesComeBackEmpty: a pipe that was in use when its copy failed has
// nothing of it for the next.
func TestPipesComeBackEmpty(t *testing.T) {
	start(t, 1)
	const total = 1 << 20
	for i := range 30 {
		src, up := withPeer(t)
		dst, down := withPeer(t)
		fed := supply(t, up, rand.New(rand.NewPCG(13, uint64(i))), total)
		go io.Copy(io.Discard, down)
		remove := failAfter(t, dst.FD(), 40_000+20_000*i, unix.ECONNRESET, sysx.SpliceOut)
		testrun.First.Do(t, func() {
			io.Copy(dst, src)
			remove()
			io.Copy(dst, src)
			dst.Close()
		})
		testenv.Await(t, fed, "writes")

		src, up = withPeer(t)
		dst, down = withPeer(t)
		fed = supply(t, up, rand.New(rand.NewPCG(14, uint64(i))), total)
		drained := swallow(t, down, total)
		testrun.First.Do(t, func() {
			io.Copy(dst, src)
			dst.Close()
		})
		testenv.Await(t, fed, "writes")
		testenv.Await(t, drained, "reads")
	}
}

// TestPipeFaults: whatever keeps a pipe from being made, a copy does without,
// and leaves no fd.
func TestPipeFaults(t *testing.T) {
	start(t, 1)
	noPipes(t)
	for _, errno := range []syscall.Errno{unix.EMFILE, unix.ENFILE, unix.ENOMEM} {
		src, up := withPeer(t)
		dst, down := withPeer(t)
		remove := (&script{first: map[sysx.Op][]syscall.Errno{sysx.Pipe: repeat(1000, errno)}}).install(t)
		const total = 3 << 20
		fed := supply(t, up, rand.New(rand.NewPCG(15, 15)), total)
		drained := swallow(t, down, total)
		testrun.First.Do(t, func() {
			if n, err := io.Copy(dst, src); n != total || err != nil {
				t.Error(n, err)
			}
			dst.Close()
		})
		testenv.Await(t, fed, "writes")
		testenv.Await(t, drained, "reads")
		remove()
		if n := socket.OpenPipes(); n != 0 {
			t.Errorf("%v: %d pipes", errno, n)
		}
	}
}
