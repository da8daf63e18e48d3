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
	if n, errno := sysx.TrySendv(a, vec(strings.Split(strings.Repeat("x ", sysx.MaxVec-1)+"x",
		" ")...)); n != sysx.MaxVec || errno != 0 {
		t.Errorf("MaxVec pieces: %d, %v", n, errno)
	}
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
	if _, errno := sysx.TrySendv(a, vec("x")); errno != unix.EPIPE {
		t.Errorf("to a peer that does not read any more: %v, want EPIPE", errno)
	}
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
	if _, errno := sysx.TrySpliceIn(w, in, 10); errno != unix.EAGAIN {
		t.Errorf("nothing there: %v", errno)
	}
	if _, errno := sysx.TrySpliceOut(out, r, 10); errno != unix.EAGAIN {
		t.Errorf("an empty pipe: %v", errno)
	}
	unix.Write(a, []byte("hello, world"))
	if n, errno := sysx.TrySpliceIn(w, in, 5); n != 5 || errno != 0 {
		t.Errorf("5 of 12: %d, %v", n, errno)
	}
	if n, errno := sysx.TrySpliceIn(w, in, 100); n != 7 || errno != 0 {
		t.Errorf("the rest: %d, %v", n, errno)
	}
	if n, errno := sysx.TrySpliceOut(out, r, 6); n != 6 || errno != 0 {
		t.Errorf("6 of 12: %d, %v", n, errno)
	}
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
	if n, errno := sysx.TrySpliceIn(w, in, 10); n != 0 || errno != 0 {
		t.Errorf("the end: %d, %v", n, errno)
	}
	unix.Shutdown(b, unix.SHUT_RD)
	if _, errno := sysx.TrySpliceOut(out, r, 10); errno != unix.EPIPE {
		t.Errorf("to a peer that does not read any more: %v, want EPIPE", errno)
	}
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

// TestMoveInjected: each of the calls that move asks the Injector, repeats what
// was interrupted and returns the injected result.
func TestMoveInjected(t *testing.T) {
	a, b := socketpair(t)
	r, w, errno := sysx.NewPipe(64 << 10)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer unix.Close(r)
	defer unix.Close(w)
	f := testenv.Must(os.Open(os.Args[0]))
	defer f.Close()
	for name, c := range map[string]struct {
		op   sysx.Op
		fill func()
		try  func() (int, syscall.Errno)
	}{
		"sendv": {sysx.Sendv, func() {}, func() (int, syscall.Errno) {
			return sysx.TrySendv(a, vec("12345", "67890"))
		}},
		"splice in": {sysx.SpliceIn, func() {
			unix.Write(b, bytes.Repeat([]byte("x"), 10))
		}, func() (int, syscall.Errno) { return sysx.TrySpliceIn(w, a, 10) }},
		"splice out": {sysx.SpliceOut, func() {
			unix.Write(w, bytes.Repeat([]byte("x"), 10))
		}, func() (int, syscall.Errno) { return sysx.TrySpliceOut(a, r, 10) }},
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
