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
