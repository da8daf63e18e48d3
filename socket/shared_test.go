package socket_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// block makes an open file description blocking by another fd of it, as a
// co-owner may, a child process perhaps.
func block(t *testing.T, other *os.File) {
	t.Helper()
	raw := testenv.Must(other.SyscallConn())
	raw.Control(func(fd uintptr) {
		if err := unix.SetNonblock(int(fd), false); err != nil {
			t.Error(err)
		}
	})
}

// sharing returns another fd of c's socket.
func sharing(t *testing.T, c interface{ File() (*os.File, error) }) *os.File {
	t.Helper()
	f := testenv.Closing(t, testenv.Must(c.File()))
	return f
}

// TestSharedMadeBlocking: splice and sendfile go by O_NONBLOCK of the
// description. Who shared it and took the flag away stopped the whole process:
// the thread stood in a system call that Go knew nothing of. So did other calls
// that have no flag of their own, for a Processor at least.
func TestSharedMadeBlocking(t *testing.T) {
	t.Run("splice in", func(t *testing.T) {
		start(t, 1)
		src, peer := withPeer(t)
		dst, down := withPeer(t)
		other := sharing(t, src)
		var s moveOps
		defer s.install(t)()
		k := testrun.First.Go(func() { io.Copy(dst, src) })
		go io.Copy(io.Discard, down)
		peer.Write(make([]byte, 1<<20))
		testenv.Until(t, "the copy to splice all", func() bool { return s.splices() > 0 && queued(t, src.FD()) == 0 })
		k.UntilParked(t, coroutine.ReasonRead)
		block(t, other)
		peer.Write(make([]byte, 64<<10))
		testenv.Until(t, "the data to be taken", func() bool { return queued(t, src.FD()) == 0 })
		polled(t)
		k.UntilParked(t, coroutine.ReasonRead)
		peer.Close()
		k.Wait(t)
	})
	t.Run("splice out", func(t *testing.T) {
		start(t, 1)
		src, peer := withPeer(t)
		dst, down := withPeer(t)
		other := sharing(t, dst)
		var s moveOps
		defer s.install(t)()
		k := testrun.First.Go(func() { io.Copy(dst, src) })
		k.UntilParked(t, coroutine.ReasonRead)
		block(t, other)
		go func() {
			peer.Write(make([]byte, 16<<20))
			peer.Close()
		}()
		k.UntilParked(t, coroutine.ReasonWrite)
		if s.splices() == 0 {
			t.Error("nothing was spliced")
		}
		go io.Copy(io.Discard, down)
		k.Wait(t)
	})
	t.Run("sendfile", func(t *testing.T) {
		start(t, 1)
		c, peer := withPeer(t)
		other := sharing(t, c)
		f := testenv.Closing(t, testenv.Must(os.Create(filepath.Join(t.TempDir(), "big"))))
		testenv.OK(t, f.Truncate(16<<20))
		block(t, other)
		k := testrun.First.Go(func() { c.ReadFrom(f) })
		k.UntilParked(t, coroutine.ReasonWrite)
		go io.Copy(io.Discard, peer)
		k.Wait(t)
	})
	t.Run("File", func(t *testing.T) {
		start(t, 1)
		r, w, err := os.Pipe() // as a standard input that a child has, too
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		in := testenv.Closing(t, testenv.Must(socket.NewFile(r)))
		out := testenv.Closing(t, testenv.Must(socket.NewFile(w)))
		block(t, r)
		k := testrun.First.Go(func() { in.Read(make([]byte, 1)) })
		k.UntilParked(t, coroutine.ReasonRead)
		raw, _ := in.SyscallConn()
		out.Write([]byte("x"))
		k.Wait(t)

		block(t, r)
		k = testrun.First.Go(func() {
			raw.Read(func(fd uintptr) bool {
				_, err := unix.Read(int(fd), make([]byte, 1))
				return err != unix.EAGAIN
			})
		})
		k.UntilParked(t, coroutine.ReasonRead)
		out.Write([]byte("x"))
		k.Wait(t)

		block(t, w)
		k = testrun.First.Go(func() { out.Write(make([]byte, 1<<20)) })
		k.UntilParked(t, coroutine.ReasonWrite)
		go func() {
			for b := make([]byte, 64<<10); ; {
				if _, err := in.Read(b); err != nil {
					return
				}
			}
		}()
		k.Wait(t)
	})
	t.Run("SyscallConn", func(t *testing.T) {
		start(t, 1)
		c, peer := withPeer(t)
		other := sharing(t, c)
		raw := testenv.Must(c.SyscallConn())
		block(t, other)
		k := testrun.First.Go(func() {
			raw.Read(func(fd uintptr) bool {
				_, err := unix.Read(int(fd), make([]byte, 1))
				return err != unix.EAGAIN
			})
		})
		k.UntilParked(t, coroutine.ReasonRead)
		peer.Write([]byte("x"))
		k.Wait(t)
		block(t, other)
		k = testrun.First.Go(func() {
			raw.Write(func(fd uintptr) bool {
				_, err := unix.Write(int(fd), make([]byte, 64<<10))
				return err != nil && err != unix.EAGAIN
			})
		})
		k.UntilParked(t, coroutine.ReasonWrite)
		peer.SetLinger(0)
		peer.Close()
		k.Wait(t)
	})
	t.Run("connect", func(t *testing.T) {
		start(t, 1)
		fd := testenv.Must(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		x := testenv.Must(socket.AdoptSocket(fd))
		dup := testenv.Must(unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0))
		other := os.NewFile(uintptr(dup), "other")
		defer other.Close()
		address, _ := testenv.Deaf(t)
		at := testenv.Must(net.ResolveTCPAddr("tcp", address))
		block(t, other)
		k := testrun.First.Go(func() { x.Connect(&unix.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())}) })
		k.UntilParked(t, coroutine.ReasonConnect)
		x.Close()
		k.Wait(t)
	})
}
