package sysx_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
)

func vec(pieces ...string) (v []unix.Iovec) {
	for _, p := range pieces {
		v = sysx.AppendVec(v, []byte(p))
	}
	return v
}

// TestSendv: pieces go as one, a limit cuts them at any place, and a peer that
// has gone is an error and no signal.
func TestSendv(t *testing.T) {
	a, b := socketpair(t)
	got := make([]byte, 100)
	for limit := 1; limit <= 8; limit++ {
		remove := sysx.Inject(func(op sysx.Op, fd, asked int) (int, syscall.Errno) {
			if op != sysx.Sendv || fd != a || asked != 6 {
				t.Errorf("asked about %d, %d, %d", op, fd, asked)
			}
			return limit, 0
		})
		want := "abcdef"[:min(limit, 6)]
		if n, errno := sysx.TrySendv(a, vec("a", "bcd", "ef")); n != len(want) || errno != 0 {
			t.Errorf("limit %d: %d, %v", limit, n, errno)
		}
		remove()
		if n, _ := unix.Read(b, got); string(got[:n]) != want {
			t.Errorf("limit %d: sent %q, want %q", limit, got[:n], want)
		}
	}
	most := strings.Split(strings.Repeat("x ", sysx.MaxVec-1)+"x", " ")
	testenv.Gives(t, sysx.MaxVec, done, "MaxVec pieces")(sysx.TrySendv(a, vec(most...)))
	for {
		n, errno := sysx.TrySendv(a, vec(strings.Repeat("x", 60_000), strings.Repeat("y", 60_000)))
		if errno == unix.EAGAIN {
			break
		}
		if n == 0 || errno != 0 {
			t.Fatal(n, errno)
		}
	}
	unix.Shutdown(b, unix.SHUT_RD)
	testenv.Fails(t, testenv.Err(sysx.TrySendv(a, vec("x"))), unix.EPIPE,
		"to a peer that does not read any more")
}

// TestSplice: bytes go from a socket through a pipe into another socket;
// nothing there, no room, the end and a peer that has gone look as with TryRecv
// and TrySend.
func TestSplice(t *testing.T) {
	a, in := socketpair(t)
	out, b := socketpair(t)
	r, w, errno := sysx.NewPipe(64 << 10)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer unix.Close(r)
	defer unix.Close(w)
	testenv.Fails(t, testenv.Err(sysx.TrySpliceIn(w, in, 10)), unix.EAGAIN, "nothing there")
	testenv.Fails(t, testenv.Err(sysx.TrySpliceOut(out, r, 10)), unix.EAGAIN, "an empty pipe")
	unix.Write(a, []byte("hello, world"))
	testenv.Gives(t, 5, done, "5 of 12")(sysx.TrySpliceIn(w, in, 5))
	testenv.Gives(t, 7, done, "the rest")(sysx.TrySpliceIn(w, in, 100))
	testenv.Gives(t, 6, done, "6 of 12")(sysx.TrySpliceOut(out, r, 6))
	rest := make([]byte, 20)
	if n, _ := unix.Read(r, rest); string(rest[:n]) != " world" {
		t.Errorf("left in the pipe: %q", rest[:n])
	}
	if n, _ := unix.Read(b, rest); string(rest[:n]) != "hello," {
		t.Errorf("arrived: %q", rest[:n])
	}
	for {
		unix.Write(w, make([]byte, 4096))
		if n, errno := sysx.TrySpliceOut(out, r, 4096); errno == unix.EAGAIN {
			break
		} else if n == 0 || errno != 0 {
			t.Fatal(n, errno)
		}
	}
	unix.Shutdown(a, unix.SHUT_WR)
	testenv.Gives(t, 0, done, "the end")(sysx.TrySpliceIn(w, in, 10))
	unix.Shutdown(b, unix.SHUT_RD)
	testenv.Fails(t, testenv.Err(sysx.TrySpliceOut(out, r, 10)), unix.EPIPE,
		"to a peer that does not read any more")
}

// TestSendfile: the position moves with what was sent, and no further than the
// end.
func TestSendfile(t *testing.T) {
	a, b := socketpair(t)
	name := filepath.Join(t.TempDir(), "file")
	testenv.OK(t, os.WriteFile(name, []byte("hello, world"), 0o600))
	f := testenv.Must(os.Open(name))
	defer f.Close()
	f.Seek(7, 0)
	for _, want := range []string{"wo", "rld", ""} {
		n, errno := sysx.TrySendfile(a, int(f.Fd()), max(2, len(want)))
		if n != len(want) || errno != 0 {
			t.Errorf("%d, %v, want %q", n, errno, want)
		}
		got := make([]byte, 10)
		if n > 0 {
			n, _ = unix.Read(b, got)
		}
		testenv.Equal(t, string(got[:n]), want, "sent")
	}
}

// TestInject: each of the calls that move bytes asks the Injector, repeats what
// was interrupted and returns the injected result.
func TestInject(t *testing.T) {
	a, b := socketpair(t)
	r, w, errno := sysx.NewPipe(64 << 10)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer unix.Close(r)
	defer unix.Close(w)
	f := testenv.Must(os.Open(os.Args[0]))
	defer f.Close()
	ten := bytes.Repeat([]byte("x"), 10)
	for name, c := range map[string]struct {
		op   sysx.Op
		fill func()
		try  func() (int, syscall.Errno)
	}{
		"send": {sysx.Send, func() {}, func() (int, syscall.Errno) {
			return sysx.TrySend(a, ten)
		}},
		"recv": {sysx.Recv, func() { unix.Write(b, ten) }, func() (int, syscall.Errno) {
			n, short, errno := sysx.TryRecv(a, make([]byte, 10))
			testenv.Equal(t, short, false, "short")
			return n, errno
		}},
		"sendv": {sysx.Sendv, func() {}, func() (int, syscall.Errno) {
			return sysx.TrySendv(a, vec("12345", "67890"))
		}},
		"splice in": {sysx.SpliceIn, func() { unix.Write(b, ten) }, func() (int, syscall.Errno) {
			return sysx.TrySpliceIn(w, a, 10)
		}},
		"splice out": {sysx.SpliceOut, func() { unix.Write(w, ten) }, func() (int, syscall.Errno) {
			return sysx.TrySpliceOut(a, r, 10)
		}},
		"sendfile": {sysx.Sendfile, func() {}, func() (int, syscall.Errno) {
			return sysx.TrySendfile(a, int(f.Fd()), 10)
		}},
	} {
		for _, k := range injections {
			c.fill()
			t.Run(name+", "+k.name, func(t *testing.T) { k.of(t, c.op, a, c.try) })
			empty := make([]byte, 100)
			unix.Read(a, empty)
			unix.Read(b, empty)
			unix.Read(r, empty)
		}
	}
	defer sysx.Inject(func(op sysx.Op, fd, asked int) (int, syscall.Errno) {
		return asked, unix.EMFILE
	})()
	if _, _, errno := sysx.NewPipe(4096); errno != unix.EMFILE {
		t.Errorf("NewPipe: %v", errno)
	}
}

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
