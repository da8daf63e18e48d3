package socket_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// fileOf makes a file of the pattern.
func fileOf(t testing.TB, size int) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	testenv.OK(t, os.WriteFile(name, pattern(size), 0o600))
	f := testenv.Closing(t, testenv.Must(os.OpenFile(name, os.O_RDWR, 0)))
	return f
}

func position(t testing.TB, f *os.File) int64 {
	t.Helper()
	at := testenv.Must(f.Seek(0, io.SeekCurrent))
	return at
}

const sendfileSize = 3<<20 + 17

// sendfiles are ways to send the bytes from first to last of a file of
// sendfileSize; without is for one in which sendfile cannot do it.
var sendfiles = []struct {
	name        string
	first, last int
	send        func(dst net.Conn, f *os.File) (int64, error)
	faults      func() *script
	without     bool
}{
	{"io.Copy", 0, sendfileSize, copyWhole, nil, false},
	{"ReadFrom", 0, sendfileSize, func(dst net.Conn, f *os.File) (int64, error) {
		return dst.(io.ReaderFrom).ReadFrom(f)
	}, nil, false},
	{"from within", 100_001, sendfileSize, copyWhole, nil, false},
	{"at the end", sendfileSize, sendfileSize, copyWhole, nil, false},
	{"CopyN", 5, 500_005, func(dst net.Conn, f *os.File) (int64, error) {
		return io.CopyN(dst, f, 500_000)
	}, nil, false},
	{"a LimitedReader that wants more", 5, sendfileSize, copyLimited, nil, false},
	{"short", 0, sendfileSize, copyWhole, func() *script {
		return &script{limit: map[sysx.Op]int{sysx.Sendfile: 7001}}
	}, false},
	{"interrupted", 0, sendfileSize, copyWhole, func() *script {
		return &script{every: map[sysx.Op]syscall.Errno{sysx.Sendfile: unix.EINTR}}
	}, false},
	{"no room at first", 0, sendfileSize, copyWhole, func() *script {
		return &script{first: errnos{sysx.Sendfile: {unix.EAGAIN}}}
	}, false},
	{"a file system without it", 0, sendfileSize, copyWhole, func() *script {
		return &script{first: errnos{sysx.Sendfile: {unix.EINVAL}}}
	}, true},
}

// copyLimited wants 5 bytes more than there are from 5 on.
func copyLimited(dst net.Conn, f *os.File) (int64, error) {
	l := &io.LimitedReader{R: f, N: sendfileSize}
	n, err := io.Copy(dst, l)
	if l.N != 5 {
		err = errors.Join(err, fmt.Errorf("N is %d", l.N))
	}
	return n, err
}

func copyWhole(dst net.Conn, f *os.File) (int64, error) { return io.Copy(dst, f) }

// TestSendfile: files and parts of files, by each way to ask for them, under
// faults; the position moves with what was sent. That sendfile did it is
// counted, and where it cannot, it is not.
func TestSendfile(t *testing.T) {
	for _, c := range sendfiles {
		for _, p := range testrun.Places {
			t.Run(c.name+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				dst, down := withPeer(t)
				f := fileOf(t, sendfileSize)
				f.Seek(int64(c.first), io.SeekStart)
				s := new(script)
				if c.faults != nil {
					s = c.faults()
				}
				defer s.install(t)()
				drained := swallowFrom(t, down, c.first, c.last)
				p.Do(t, func() {
					n, err := c.send(dst, f)
					if int(n) != c.last-c.first || err != nil {
						t.Errorf("%d, %v, want %d", n, err, c.last-c.first)
					}
					dst.Close()
				})
				testenv.Await(t, drained, "reads")
				if at := position(t, f); int(at) != c.last {
					t.Errorf("the position is %d, want %d", at, c.last)
				}
				if by := s.called[sysx.Send].Load() == 0; by == c.without {
					t.Errorf("sent by sendfile: %v", by)
				}
			})
		}
	}
}

// TestSendfileGrows: what is added while the file is sent is sent, and a file
// that is cut off ends there.
func TestSendfileGrows(t *testing.T) {
	for _, p := range testrun.Places {
		for _, grow := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", p.Name, grow), func(t *testing.T) {
				start(t, 2)
				const size = 1 << 20
				dst, down := withPeer(t)
				f := fileOf(t, size)
				want := size + 100_000
				calls := 0
				defer sysx.Inject(func(op sysx.Op, _, asked int) (int, syscall.Errno) {
					if op == sysx.Sendfile {
						if calls++; calls == 2 && grow {
							f.WriteAt(pattern(want)[size:], size)
						} else if calls == 2 {
							want = int(position(t, f)) + 1000
							f.Truncate(int64(want))
						}
					}
					return asked, 0
				})()
				got := make(chan []byte, 1)
				go func() {
					b, _ := io.ReadAll(down)
					got <- b
				}()
				p.Do(t, func() {
					n, err := io.Copy(dst, f)
					if int(n) != want || err != nil {
						t.Errorf("%d, %v, want %d", n, err, want)
					}
					dst.Close()
				})
				if b := testenv.Await(t, got, "reads"); len(b) != want || differs(b, 0) != "" {
					t.Errorf("%d bytes arrived of %d %s", len(b), want, differs(b, 0))
				}
			})
		}
	}
}

// TestSendfileEnd: after a deadline, a Close or a failure the position is where
// the peer's data ends, and another copy can go on there.
func TestSendfileEnd(t *testing.T) {
	const size = 12 << 20
	for _, p := range testrun.Places {
		for _, end := range []string{"deadline", "close"} {
			t.Run(p.Name+"/"+end, func(t *testing.T) {
				start(t, 2)
				dst, down := withPeer(t)
				dst.SetWriteBuffer(64 << 10)
				f := fileOf(t, size)
				var n int64
				var err error
				k := p.Go(func() { n, err = io.Copy(dst, f) })
				k.UntilParked(t, coroutine.ReasonWrite)
				want := os.ErrDeadlineExceeded
				if end == "deadline" {
					dst.SetWriteDeadline(time.Unix(1, 0))
				} else {
					want = net.ErrClosed
					dst.Close()
				}
				k.Wait(t)
				var op *net.OpError
				if !errors.Is(err, want) || !errors.As(err, &op) || op.Op != "readfrom" {
					t.Errorf("%v, want %v", err, want)
				}
				if at := position(t, f); at != n {
					t.Errorf("the position is %d, n is %d", at, n)
				}
				if end == "close" {
					testenv.Await(t, swallow(t, down, int(n)), "reads")
					return
				}
				drained := swallow(t, down, size)
				p.Do(t, func() {
					dst.SetWriteDeadline(time.Time{})
					if m, err := io.Copy(dst, f); n+m != size || err != nil {
						t.Errorf("%d and %d, %v", n, m, err)
					}
					dst.Close()
				})
				testenv.Await(t, drained, "reads")
			})
		}
	}
}

// TestSendfileOthers: files that are not regular, that the kernel cannot send,
// that are closed or not open for reading.
func TestSendfileOthers(t *testing.T) {
	start(t, 2)
	closed := fileOf(t, 10)
	closed.Close()
	writeOnly, err := os.OpenFile(fileOf(t, 10).Name(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writeOnly.Close()
	dir := testenv.Closing(t, testenv.Must(os.Open(t.TempDir())))
	proc := testenv.Closing(t, testenv.Must(os.Open("/proc/self/status")))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.Write([]byte("hello"))
	w.Close()
	for _, c := range []struct {
		name string
		from *os.File
		fail bool
	}{{"closed", closed, true}, {"write only", writeOnly, true}, {"directory", dir, true},
		{"proc", proc, false}, {"pipe", r, false}} {
		dst, down := withPeer(t)
		got := make(chan int64, 1)
		go func() {
			n, _ := io.Copy(io.Discard, down)
			got <- n
		}()
		testrun.Goroutine.Do(t, func() {
			n, err := dst.ReadFrom(c.from)
			dst.Close()
			if arrived := <-got; arrived != n || (err != nil) != c.fail || (n > 0) == c.fail {
				t.Errorf("%s: %d, %v; %d arrived", c.name, n, err, arrived)
			}
		})
	}
}

// TestSendfileEmbedded: a type that embeds a file and reads in its own way is
// not gone round.
func TestSendfileEmbedded(t *testing.T) {
	start(t, 1)
	dst, down := withPeer(t)
	f := fileOf(t, 1000)
	testrun.First.Do(t, func() {
		if n, err := dst.ReadFrom(struct{ io.Reader }{upside{f}}); n != 1000 || err != nil {
			t.Error(n, err)
		}
		if n, err := dst.ReadFrom(&io.LimitedReader{R: upside{f}, N: 10}); n != 0 || err != nil {
			t.Error(n, err)
		}
		f.Seek(0, io.SeekStart)
		if n, err := dst.ReadFrom(&io.LimitedReader{R: upside{f}, N: 10}); n != 10 || err != nil {
			t.Error(n, err)
		}
		dst.Close()
	})
	got, _ := io.ReadAll(down)
	for i := range got {
		got[i] ^= 0xff
	}
	if len(got) != 1010 || differs(got[:1000], 0) != "" || differs(got[1000:], 0) != "" {
		t.Errorf("%d bytes %s", len(got), differs(got[:1000], 0))
	}
}

type upside struct{ *os.File }

func (u upside) Read(p []byte) (int, error) {
	n, err := u.File.Read(p)
	for i := range p[:n] {
		p[i] ^= 0xff
	}
	return n, err
}
