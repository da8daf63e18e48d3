package socket_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// anyFile has the methods that socket.File and os.File share.
type anyFile interface {
	io.ReadWriteCloser
	Name() string
	SetDeadline(time.Time) error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
	SyscallConn() (syscall.RawConn, error)
}

// ours makes a File of an fd.
func ours(t testing.TB, fd int, name string) *socket.File {
	t.Helper()
	return testenv.Closing(t, testenv.Must(socket.FileFromFD(uintptr(fd), name)))
}

// rawPipe returns the ends of a pipe, which the caller closes.
func rawPipe(t testing.TB) (r, w int) {
	t.Helper()
	var p [2]int
	testenv.OK(t, unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK))
	return p[0], p[1]
}

func filePipe(t testing.TB) (r, w *socket.File) {
	t.Helper()
	rfd, wfd := rawPipe(t)
	return ours(t, rfd, "r"), ours(t, wfd, "w")
}

// fileOutcome is the result of an operation as text, to compare two.
func fileOutcome(n int, data []byte, err error) string {
	is := ""
	for _, e := range []error{os.ErrClosed, os.ErrDeadlineExceeded, os.ErrNoDeadline, io.EOF,
		unix.EPIPE, unix.EISDIR, unix.EBADF, unix.EINVAL} {
		if errors.Is(err, e) {
			is += fmt.Sprintf(" is %v;", e)
		}
	}
	var p *fs.PathError
	return fmt.Sprintf("%d %q %v (%v)%s", n, data[:max(0, min(n, len(data)))], err,
		errors.As(err, &p), is)
}

// fileWorld is the file of a test and, for a pipe, its other end. Its methods
// read or write text, and return the outcome.
type fileWorld struct{ a, b anyFile }

// opensFile makes a file of an fd.
type opensFile = func(fd int, name string) anyFile

func readsFile(f anyFile, size int) string {
	b := make([]byte, size)
	n, err := f.Read(b)
	return fileOutcome(n, b, err)
}

func writesFile(f anyFile, s string) string {
	n, err := f.Write([]byte(s))
	return fileOutcome(n, nil, err)
}

// does is the outcome of an operation that returns an error only.
func does(err error) string { return fileOutcome(0, nil, err) }

func pipeWorld(t *testing.T, open opensFile) fileWorld {
	r, w := rawPipe(t)
	return fileWorld{open(r, "a"), open(w, "b")}
}

// pathWorld makes the world of a file, in a folder of its own if its path is
// relative.
func pathWorld(path string, flags int) func(t *testing.T, open opensFile) fileWorld {
	return func(t *testing.T, open opensFile) fileWorld {
		path := path
		if !filepath.IsAbs(path) {
			path = filepath.Join(t.TempDir(), path)
		}
		return fileWorld{a: open(testenv.Must(unix.Open(path, flags|unix.O_CLOEXEC, 0o600)), "a")}
	}
}

// fileCases are operations, in order, on files of all sorts.
var fileCases = []struct {
	name string
	make func(t *testing.T, open opensFile) fileWorld
	do   func(w fileWorld) []string
}{
	{"pipe", pipeWorld, func(w fileWorld) []string {
		return []string{
			writesFile(w.b, "hello"), readsFile(w.a, 3), readsFile(w.a, 10), readsFile(w.a, 0),
			writesFile(w.b, ""), writesFile(w.a, "x"), readsFile(w.b, 1), // the wrong ends
			does(w.b.Close()), readsFile(w.a, 1), readsFile(w.a, 1), readsFile(w.a, 0),
			does(w.b.Close()), writesFile(w.b, "x"), writesFile(w.b, ""), readsFile(w.b, 0),
		}
	}},
	{"rest, then the end", pipeWorld, func(w fileWorld) []string {
		return []string{writesFile(w.b, "rest"), does(w.b.Close()), readsFile(w.a, 10),
			readsFile(w.a, 10)}
	}},
	{"no reader", pipeWorld, func(w fileWorld) []string {
		return []string{does(w.a.Close()), writesFile(w.b, "x"), writesFile(w.b, "")}
	}},
	{"deadlines", pipeWorld, func(w fileWorld) []string {
		return []string{
			does(w.a.SetReadDeadline(past)), readsFile(w.a, 1), readsFile(w.a, 0),
			does(w.a.SetReadDeadline(time.Now().Add(time.Millisecond))), readsFile(w.a, 1),
			does(w.b.SetWriteDeadline(past)), writesFile(w.b, "x"),
			does(w.b.SetDeadline(time.Time{})), writesFile(w.b, "y"),
			does(w.a.SetDeadline(time.Time{})), readsFile(w.a, 1),
		}
	}},
	{"regular file", pathWorld("f", unix.O_RDWR|unix.O_CREAT), func(w fileWorld) []string {
		return []string{
			readsFile(w.a, 1), writesFile(w.a, "hello"), readsFile(w.a, 1), writesFile(w.a, ""),
			readsFile(w.a, 0), fmt.Sprint(errors.Is(w.a.SetDeadline(past), os.ErrNoDeadline)),
			does(w.a.Close()), readsFile(w.a, 1), writesFile(w.a, "x"), does(w.a.Close()),
		}
	}},
	{"directory", pathWorld("/", unix.O_RDONLY), func(w fileWorld) []string {
		return []string{readsFile(w.a, 1), writesFile(w.a, "x"), does(w.a.Close())}
	}},
	{"/dev/null", pathWorld("/dev/null", unix.O_RDWR), func(w fileWorld) []string {
		return []string{readsFile(w.a, 1), writesFile(w.a, "x"), does(w.a.Close())}
	}},
	{"/dev/zero", pathWorld("/dev/zero", unix.O_RDWR), func(w fileWorld) []string {
		return []string{readsFile(w.a, 5), writesFile(w.a, "x"), does(w.a.Close())}
	}},
	{"eventfd", func(_ *testing.T, open opensFile) fileWorld {
		fd, _ := unix.Eventfd(3, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		return fileWorld{a: open(fd, "a")}
	}, func(w fileWorld) []string {
		return []string{readsFile(w.a, 8), writesFile(w.a, "x"),
			writesFile(w.a, "\x01\x00\x00\x00\x00\x00\x00\x00"), readsFile(w.a, 4),
			readsFile(w.a, 8)}
	}},
}

// TestFileAgainstOS: the same operations on netco's File and on os's have the
// same outcome, errors included.
func TestFileAgainstOS(t *testing.T) {
	start(t, 2)
	for _, c := range fileCases {
		theirs := c.do(c.make(t, func(fd int, name string) anyFile {
			return testenv.Closing(t, os.NewFile(uintptr(fd), name))
		}))
		everywhere(t, func(p testrun.Place) {
			mine := c.do(c.make(t, func(fd int, name string) anyFile { return ours(t, fd, name) }))
			for i := range theirs {
				testenv.Equal(t, mine[i], theirs[i], c.name, p.Name, "step", i)
			}
		})
	}
}

// TestFileKinds: a File of each pollable kind waits for its data and gets it.
func TestFileKinds(t *testing.T) {
	for _, c := range pollWakesCases {
		if c.size == 0 {
			continue
		}
		inPlacesOf(t, c.name, func(t *testing.T, p testrun.Place) {
			fd, _, happen := c.make(t)
			f := ours(t, dupFD(t, fd), c.name)
			k := p.Go(func() { testenv.Gives(t, c.size, nil)(f.Read(make([]byte, 100))) })
			k.UntilParked(t, coroutine.ReasonRead)
			happen()
			k.Wait(t)
		})
	}
}

// TestNewFile: the fd is a duplicate, so each of the two can be closed first.
func TestNewFile(t *testing.T) {
	start(t, 2)
	r, w, err := os.Pipe()
	testenv.OK(t, err)
	defer r.Close()
	f := testenv.Closing(t, testenv.Must(socket.NewFile(w)))
	testenv.Equal(t, f.Name(), w.Name(), "the name is")
	w.Close()
	testrun.First.Do(t, func() {
		testenv.Gives(t, 5, nil)(f.Write([]byte("hello")))
		f.Close()
	})
	testenv.Gives(t, "hello", nil)(testenv.AsText(io.ReadAll(r)))
}

// TestFileOffloadedShutdown: a read that blocks a thread is left to itself when
// the scheduler is ended by force. The fd stays open until it has ended. (The
// file passes for one that is not pollable because epoll is made to say so.)
func TestFileOffloadedShutdown(t *testing.T) {
	testrun.Start(t, 1)
	master, slave := pty(t)
	fd := testenv.Must(unix.Dup(slave))
	remove := (&script{first: errnos{sysx.EpollCtl: {unix.EPERM}}}).install(t)
	f := ours(t, fd, "tty")
	remove()
	k := testrun.First.Go(func() {
		testenv.Gives(t, 0, netco.ErrShutdown)(f.Read(make([]byte, 10)))
	})
	<-k.Started
	testenv.Until(t, "the coroutine to wait", func() bool {
		return k.Co.State() == coroutine.Waiting
	})
	testenv.Until(t, "the read to begin", func() bool {
		return bytes.Contains(testenv.Stacks(), []byte("sysx.Read("))
	})
	testrun.Force(t)
	k.Wait(t)
	testenv.NoError(t, f.Close())
	testenv.Equal(t, sockinfo.OpenCount(), 1)
	unix.Write(master, []byte("line\n"))
	testenv.Until(t, "the read to end and close the fd", func() bool {
		return sockinfo.OpenCount() == 0
	})
}

// TestFileFaults: interruptions and short writes do not show; errors come as
// os.File's.
func TestFileFaults(t *testing.T) {
	start(t, 2)
	type first = map[sysx.Op][]syscall.Errno
	for _, p := range testrun.Places {
		r, w := filePipe(t)
		s := &script{
			first: first{sysx.FileRead: {unix.EINTR, unix.EIO, unix.EINTR},
				sysx.FileWrite: {unix.EINTR, unix.ENOSPC, unix.EINTR}},
			limit: map[sysx.Op]int{sysx.FileRead: 3, sysx.FileWrite: 2},
		}
		remove := s.install(t)
		p.Do(t, func() {
			n, err := w.Write([]byte("hello"))
			testenv.Equal(t, fmt.Sprint(n, " ", err), "0 write w: no space left on device")
			testenv.Gives(t, 5, nil)(w.Write([]byte("hello")))
			b := make([]byte, 10)
			n, err = r.Read(b)
			testenv.Equal(t, fmt.Sprint(n, " ", err), "0 read r: input/output error")
			testenv.Gives(t, 5, nil)(io.ReadFull(r, b[:5]))
			testenv.Equal(t, string(b[:5]), "hello")
		})
		remove()
		r.Close()
		w.Close()
	}
	before := countFDs()
	for _, s := range []*script{
		{first: first{sysx.EpollCreate: {unix.EMFILE}}},
		{first: first{sysx.EpollCtl: {unix.ENOMEM}}},
	} {
		remove := s.install(t)
		fd, _ := unix.Eventfd(0, unix.EFD_CLOEXEC)
		f, err := socket.FileFromFD(uintptr(fd), "x")
		testenv.True(t, f == nil && (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENOMEM)),
			"%v, %v", f, err)
		remove()
		testenv.Fails(t, unix.Close(fd), nil, "the fd is not the caller's any more")
	}
	// the goroutine poller's linger
	testenv.Until(t, "the fds to be closed", func() bool { return countFDs() <= before })
}

// TestFileSyscallConn: raw access is to the fd, and ends when the file is
// closed. A raw Read is also in the tables of waits.
func TestFileSyscallConn(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		r, _ := filePipe(t)
		raw := rawOf(t, r)
		p.Do(t, func() {
			testenv.NoError(t, raw.Control(func(fd uintptr) { testenv.Equal(t, fd, r.Fd(), "fd") }))
			r.Close()
			for _, err := range []error{
				raw.Control(func(uintptr) { t.Error("called") }),
				raw.Read(func(uintptr) bool { t.Error("called"); return true }),
				raw.Write(func(uintptr) bool { t.Error("called"); return true }),
			} {
				testenv.Fails(t, err, os.ErrClosed, "after Close")
			}
		})
	})
}
