package sysx_test

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
)

// TestTryPoll: it returns what poll(2) returns, for few fds and for many, and
// does not wait.
func TestTryPoll(t *testing.T) {
	a, b := socketpair(t)
	unix.Write(b, []byte("x"))
	for _, n := range []int{0, 1, 300} {
		fds := make([]unix.PollFd, n, n+1)
		for i := range fds {
			fds[i] = unix.PollFd{Fd: int32(a), Events: unix.POLLIN, Revents: -1}
		}
		fds = append(fds, unix.PollFd{Fd: int32(b), Events: unix.POLLIN, Revents: -1})
		testenv.Gives(t, n, done)(sysx.TryPoll(fds))
		for i, f := range fds {
			if want := int16(unix.POLLIN); i < n && f.Revents != want || i == n && f.Revents != 0 {
				t.Errorf("of %d, number %d: %#x", n, i, f.Revents)
			}
		}
	}
	testenv.Gives(t, 0, done, "of none")(sysx.TryPoll(nil))
}

// TestFileCalls: reads and writes of a file, with an Injector and without.
func TestFileCalls(t *testing.T) {
	var fail []syscall.Errno
	limit := 10
	for _, injected := range []bool{false, true} {
		a, b := socketpair(t)
		if injected {
			defer sysx.Inject(func(_ sysx.Op, _, asked int) (int, syscall.Errno) {
				if len(fail) > 0 {
					errno := fail[0]
					fail = fail[1:]
					return asked, errno
				}
				return limit, 0
			})()
		}
		buf := make([]byte, 10)
		testenv.Fails(t, testenv.Err(sysx.Read(a, buf)), unix.EAGAIN, "nothing there")
		if injected {
			fail = []syscall.Errno{unix.EINTR, unix.EINTR}
		}
		testenv.Gives(t, 5, done, "Write")(sysx.Write(b, []byte("hello")))
		testenv.Gives(t, 0, done, "Write of nothing")(sysx.Write(b, nil))
		testenv.Gives(t, 0, done, "Read of nothing")(sysx.Read(a, nil))
		if injected {
			fail, limit = []syscall.Errno{unix.EINTR}, 3
		}
		n, errno := sysx.Read(a, buf)
		if want := map[bool]string{false: "hello", true: "hel"}[injected]; string(
			buf[:n]) != want || errno != 0 {
			t.Errorf("Read: %q, %v, want %q", buf[:n], errno, want)
		}
	}
	fail = []syscall.Errno{unix.EIO, unix.ENOSPC, unix.EMFILE, unix.ENOMEM, unix.EFAULT}
	testenv.Fails(t, testenv.Err(sysx.Read(-1, make([]byte, 1))), unix.EIO, "Read")
	testenv.Fails(t, testenv.Err(sysx.Write(-1, make([]byte, 1))), unix.ENOSPC, "Write")
	testenv.Fails(t, testenv.Err(sysx.NewEpoll()), unix.EMFILE, "NewEpoll")
	testenv.Equal(t, sysx.ControlEpoll(-1, unix.EPOLL_CTL_ADD, -1, 0), unix.ENOMEM, "Watch")
	testenv.Fails(t, testenv.Err(sysx.TryPoll(nil)), unix.EFAULT, "Look")
}
