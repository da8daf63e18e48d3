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
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// anyFile is what socket.File and os.File have in common.
type anyFile interface {
	io.ReadWriteCloser
	Name() string
	SetDeadline(time.Time) error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
	SyscallConn() (syscall.RawConn, error)
}

// startFiles is start, and ends the threads that were made for regular files.
func startFiles(t *testing.T) {
	t.Helper()
	t.Cleanup(blocking.Default().CloseIdle)
	start(t, 2)
}

// ours makes a File of an fd.
func ours(t testing.TB, fd int, name string) *socket.File {
	t.Helper()
	return testenv.Closing(t, testenv.Must(socket.FileFromFD(uintptr(fd), name)))
}

// rawPipe returns the ends of a pipe, for which the caller sees.
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

// fileOutcome is what an operation came to, as text, so that two can be held
// against each other.
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

// fileWorld is the file of a test and, for a pipe, its other end, which read or
// write text, and say what came of it.
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

// does is what an operation without a result came to.
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

// TestFileAgainstOS: the same operations on our File and on os's come to the
// same, errors included.
func TestFileAgainstOS(t *testing.T) {
	startFiles(t)
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

// TestFileParks: reads and writes of a pollable file wait for the other end,
// and what goes through is neither lost nor changed.
func TestFileParks(t *testing.T) {
	start(t, 2)
	for _, from := range testrun.Places {
		for _, to := range testrun.Places {
			t.Run(from.Name+" to "+to.Name, func(t *testing.T) {
				r, w := filePipe(t)
				const size = 1 << 20 // many times what a pipe holds
				reader := to.Go(func() {
					got, err := io.ReadAll(r)
					if d := differs(got, 0); d != "" || len(got) != size || err != nil {
						t.Errorf("read %d, %v %s", len(got), err, d)
					}
				})
				reader.UntilParked(t, coroutine.ReasonRead)
				writer := from.Go(func() {
					testenv.Gives(t, size, nil)(w.Write(pattern(size)))
					w.Close()
				})
				writer.Wait(t)
				reader.Wait(t)
			})
		}
	}
}

// TestFileKinds: what is waited for arrives, for one file of each pollable
// kind.
func TestFileKinds(t *testing.T) {
	start(t, 2)
	for _, c := range []struct {
		name string
		make func(t *testing.T) (fd int, happen func())
		size int
	}{
		{"eventfd", func(t *testing.T) (int, func()) {
			fd, _ := unix.Eventfd(0, unix.EFD_CLOEXEC)
			return fd, func() { ring(fd) }
		}, 8},
		{"timerfd", func(t *testing.T) (int, func()) {
			fd, _ := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
			return fd, func() {
				unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.Timespec{Nsec: 1}}, nil)
			}
		}, 8},
		{"inotify", func(t *testing.T) (int, func()) {
			fd, _ := unix.InotifyInit1(unix.IN_CLOEXEC)
			dir := t.TempDir()
			unix.InotifyAddWatch(fd, dir, unix.IN_CREATE)
			return fd, func() { os.WriteFile(filepath.Join(dir, "f"), nil, 0o600) }
		}, unix.SizeofInotifyEvent + 16},
		{"terminal", func(t *testing.T) (int, func()) {
			master, slave := pty(t)
			fd, _ := unix.Dup(slave)
			return fd, func() { unix.Write(master, []byte("line\n")) }
		}, 5},
		{"FIFO", func(t *testing.T) (int, func()) {
			name := filepath.Join(t.TempDir(), "fifo")
			testenv.OK(t, unix.Mkfifo(name, 0o600))
			fd := testenv.Must(unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC, 0))
			return fd, func() { unix.Write(fd, []byte("x")) }
		}, 1},
	} {
		for _, p := range testrun.Places {
			t.Run(c.name+"/"+p.Name, func(t *testing.T) {
				fd, happen := c.make(t)
				f := ours(t, fd, c.name)
				k := p.Go(func() {
					b := make([]byte, 100)
					testenv.Gives(t, c.size, nil)(f.Read(b))
				})
				k.UntilParked(t, coroutine.ReasonRead)
				happen()
				k.Wait(t)
				f.Close()
			})
		}
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

// TestFileAgain: a file that has duplicates can be waited for under the same
// number again, after a File of it was closed.
func TestFileAgain(t *testing.T) {
	start(t, 2)
	testrun.Each(t, func(t *testing.T, p testrun.Place) {
		r, w, err := os.Pipe()
		testenv.OK(t, err)
		defer r.Close()
		defer w.Close()
		seen := map[uintptr]bool{}
		again := false
		for range 10 {
			f := testenv.Must(socket.NewFile(r))
			again = again || seen[f.Fd()]
			seen[f.Fd()] = true
			k := p.Go(func() {
				b := make([]byte, 10)
				if n, err := f.Read(b); string(b[:n]) != "x" || err != nil {
					t.Errorf("%q, %v", b[:n], err)
				}
				f.Close()
			})
			k.UntilParked(t, coroutine.ReasonRead)
			w.Write([]byte("x"))
			k.Wait(t)
		}
		testenv.True(t, again, "no number came twice")
	})
}

// TestFileRegular: a regular file's bytes go through a thread of their own, so
// the Processor goes on meanwhile.
func TestFileRegular(t *testing.T) {
	startFiles(t)
	for _, p := range testrun.Places {
		f := testenv.Closing(t, testenv.Must(os.CreateTemp(t.TempDir(), "")))
		p.Do(t, func() {
			mine := testenv.Must(socket.NewFile(f))
			defer mine.Close()
			msg := pattern(300 << 10)
			testenv.Gives(t, len(msg), nil)(mine.Write(msg))
			f.Seek(0, io.SeekStart) // the offset is shared
			if got, err := io.ReadAll(mine); !bytes.Equal(got, msg) || err != nil {
				t.Errorf("read %d, %v", len(got), err)
			}
		})
	}
}

// TestFileOffloadedShutdown: a read that blocks a thread is left to itself when
// the scheduler is ended by force. The fd stays open until it has ended. (The
// file passes for one that is not pollable because epoll is made to say so.)
func TestFileOffloadedShutdown(t *testing.T) {
	t.Cleanup(blocking.Default().CloseIdle)
	startAlone(t, 1)
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
	force(t)
	k.Wait(t)
	testenv.NoError(t, f.Close())
	testenv.Equal(t, socket.OpenCount(), 1)
	unix.Write(master, []byte("line\n"))
	testenv.Until(t, "the read to end and close the fd", func() bool {
		return socket.OpenCount() == 0
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

// TestFileSyscallConn: raw access waits as Read does, and is at an end when the
// file is closed.
func TestFileSyscallConn(t *testing.T) {
	start(t, 2)
	testrun.Each(t, func(t *testing.T, p testrun.Place) {
		r, w := filePipe(t)
		raw := testenv.Must(r.SyscallConn())
		calls := 0
		k := p.Go(func() {
			err := raw.Read(func(fd uintptr) bool {
				calls++
				n, err := unix.Read(int(fd), make([]byte, 1))
				return n == 1 || err != unix.EAGAIN
			})
			testenv.True(t, err == nil && calls >= 2, "%v, %d calls", err, calls)
		})
		k.UntilParked(t, coroutine.ReasonRead)
		w.Write([]byte("x"))
		k.Wait(t)
		raw.Control(func(fd uintptr) {
			testenv.Equal(t, fd, r.Fd(), "fd")
		})
		r.Close()
		for _, err := range []error{
			raw.Control(func(uintptr) { t.Error("called") }),
			raw.Read(func(uintptr) bool { t.Error("called"); return true }),
			raw.Write(func(uintptr) bool { t.Error("called"); return true }),
		} {
			testenv.Fails(t, err, os.ErrClosed, "after Close")
		}
	})
}

// TestFileSyscallConnPanics: a function that panics leaves no lock behind, so
// the file can be used and closed.
func TestFileSyscallConnPanics(t *testing.T) {
	start(t, 2)
	testrun.Each(t, func(t *testing.T, p testrun.Place) {
		r, w := filePipe(t)
		for _, f := range []*socket.File{r, w} {
			raw := testenv.Must(f.SyscallConn())
			boom := func(uintptr) bool { panic("boom") }
			for name, do := range map[string]func() error{
				"Control": func() error { return raw.Control(func(uintptr) { panic("boom") }) },
				"Read":    func() error { return raw.Read(boom) },
				"Write":   func() error { return raw.Write(boom) },
			} {
				func() {
					defer func() { testenv.Equal(t, recover(), any("boom"), name) }()
					do()
				}()
			}
		}
		k := p.Go(func() {
			w.Write([]byte("x"))
			r.Read(make([]byte, 1))
		})
		k.Wait(t)
	})
}

// TestFileNoAllocation: bytes through a pipe allocate nothing, also when the
// reader waits for them.
func TestFileNoAllocation(t *testing.T) {
	testenv.NoRace(t)
	start(t, 1)
	r, w := filePipe(t)
	reader := testrun.First.Go(func() {
		b := make([]byte, 10)
		for {
			if _, err := r.Read(b); err != nil {
				return
			}
		}
	})
	testrun.First.Do(t, func() {
		msg := []byte("hello")
		if n := testing.AllocsPerRun(1000, func() { w.Write(msg); netco.Yield() }); n != 0 {
			t.Errorf("%v allocations", n)
		}
		w.Close()
	})
	reader.Wait(t)
}
