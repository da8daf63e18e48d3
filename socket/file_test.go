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
	f := testenv.Closing(t, testenv.Must(socket.FileFromFD(uintptr(fd), name)))
	return f
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

// TestFileAgainstOS: the same operations on our File and on os's come to the
// same, errors included.
func TestFileAgainstOS(t *testing.T) {
	startFiles(t)
	type world struct {
		a, b anyFile // the file of the test; what belongs to it, its other end for one
	}
	pipes := func(open func(fd int, name string) anyFile) world {
		r, w := rawPipe(t)
		return world{open(r, "a"), open(w, "b")}
	}
	single := func(flags int, name string) func(open func(int, string) anyFile) world {
		return func(open func(fd int, name string) anyFile) world {
			path := name
			if path == "" {
				path = filepath.Join(t.TempDir(), "f")
			}
			fd := testenv.Must(unix.Open(path, flags|unix.O_CLOEXEC, 0o600))
			return world{a: open(fd, "a")}
		}
	}
	read := func(f anyFile, size int) string {
		b := make([]byte, size)
		n, err := f.Read(b)
		return fileOutcome(n, b, err)
	}
	write := func(f anyFile, s string) string {
		n, err := f.Write([]byte(s))
		return fileOutcome(n, nil, err)
	}
	past := time.Unix(1, 0)
	for _, c := range []struct {
		name string
		make func(open func(fd int, name string) anyFile) world
		do   func(w world) []string
	}{
		{"pipe", pipes, func(w world) []string {
			return []string{
				write(w.b, "hello"), read(w.a, 3), read(w.a, 10), read(w.a, 0), write(w.b, ""),
				write(w.a, "x"), read(w.b, 1), // the wrong ends
				fileOutcome(0, nil, w.b.Close()), read(w.a, 1), read(w.a, 1), read(w.a, 0),
				fileOutcome(0, nil, w.b.Close()), write(w.b, "x"), write(w.b, ""), read(w.b, 0),
			}
		}},
		{"rest, then the end", pipes, func(w world) []string {
			return []string{write(w.b, "rest"), fileOutcome(0, nil, w.b.Close()), read(w.a, 10),
				read(w.a, 10)}
		}},
		{"nobody reads", pipes, func(w world) []string {
			return []string{fileOutcome(0, nil, w.a.Close()), write(w.b, "x"), write(w.b, "")}
		}},
		{"deadlines", pipes, func(w world) []string {
			return []string{
				fileOutcome(0, nil, w.a.SetReadDeadline(past)), read(w.a, 1), read(w.a, 0),
				fileOutcome(0, nil, w.a.SetReadDeadline(time.Now().Add(time.Millisecond))),
				read(w.a, 1),
				fileOutcome(0, nil, w.b.SetWriteDeadline(past)), write(w.b, "x"),
				fileOutcome(0, nil, w.b.SetDeadline(time.Time{})), write(w.b, "y"),
				fileOutcome(0, nil, w.a.SetDeadline(time.Time{})), read(w.a, 1),
			}
		}},
		{"regular file", single(unix.O_RDWR|unix.O_CREAT, ""), func(w world) []string {
			return []string{
				read(w.a, 1), write(w.a, "hello"), read(w.a, 1), write(w.a, ""), read(w.a, 0),
				fmt.Sprint(errors.Is(w.a.SetDeadline(past), os.ErrNoDeadline)),
				fileOutcome(0, nil, w.a.Close()), read(w.a, 1), write(w.a, "x"),
				fileOutcome(0, nil, w.a.Close()),
			}
		}},
		{"directory", single(unix.O_RDONLY, "/"), func(w world) []string {
			return []string{read(w.a, 1), write(w.a, "x"), fileOutcome(0, nil, w.a.Close())}
		}},
		{"/dev/null", single(unix.O_RDWR, "/dev/null"), func(w world) []string {
			return []string{read(w.a, 1), write(w.a, "x"), fileOutcome(0, nil, w.a.Close())}
		}},
		{"/dev/zero", single(unix.O_RDWR, "/dev/zero"), func(w world) []string {
			return []string{read(w.a, 5), write(w.a, "x"), fileOutcome(0, nil, w.a.Close())}
		}},
		{"eventfd", func(open func(int, string) anyFile) world {
			fd, _ := unix.Eventfd(3, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
			return world{a: open(fd, "a")}
		}, func(w world) []string {
			return []string{read(w.a, 8), write(w.a, "x"),
				write(w.a, "\x01\x00\x00\x00\x00\x00\x00\x00"), read(w.a, 4), read(w.a, 8)}
		}},
	} {
		theirs := c.do(c.make(func(fd int, name string) anyFile {
			f := os.NewFile(uintptr(fd), name)
			t.Cleanup(func() { f.Close() })
			return f
		}))
		for _, p := range testrun.Places {
			var mine []string
			w := c.make(func(fd int, name string) anyFile { return ours(t, fd, name) })
			p.Go(func() { mine = c.do(w) }).Wait(t)
			for i := range theirs {
				testenv.Equal(t, mine[i], theirs[i], c.name, p.Name, "step", i)
			}
		}
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

// TestFileEnds: what ends a wait: Close, a deadline, the forced end of the
// scheduler.
func TestFileEnds(t *testing.T) {
	for _, p := range testrun.Places {
		for _, c := range []struct {
			name string
			do   func(t *testing.T, f *socket.File)
			want error
		}{
			{"close", func(t *testing.T, f *socket.File) { f.Close() }, os.ErrClosed},
			{"deadline", func(t *testing.T, f *socket.File) {
				f.SetDeadline(time.Unix(1, 0))
			}, os.ErrDeadlineExceeded},
			{"shutdown", func(t *testing.T, f *socket.File) { force(t) }, netco.ErrShutdown},
		} {
			for _, op := range []string{"read", "write"} {
				t.Run(c.name+"/"+op+"/"+p.Name, func(t *testing.T) {
					startAlone(t, 2)
					r, w := filePipe(t)
					f, reason := r, coroutine.ReasonRead
					if op == "write" {
						f, reason = w, coroutine.ReasonWrite
					}
					k := p.Go(func() {
						var err error
						if op == "read" {
							_, err = f.Read(make([]byte, 1))
						} else {
							_, err = f.Write(make([]byte, 1<<20))
						}
						var pe *fs.PathError
						if !errors.Is(err, c.want) || !errors.As(err, &pe) || pe.Op != op ||
							pe.Path != f.Name() {
							t.Errorf("%v, want %v", err, c.want)
						}
					})
					k.UntilParked(t, reason)
					c.do(t, f)
					k.Wait(t)
					r.Close()
					w.Close()
					noneOpen(t)
				})
			}
		}
	}
}

// TestNewFile: the fd is a duplicate, so each of the two can be closed first.
func TestNewFile(t *testing.T) {
	start(t, 2)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f := testenv.Closing(t, testenv.Must(socket.NewFile(w)))
	testenv.Equal(t, f.Name(), w.Name(), "the name is")
	w.Close()
	testrun.First.Do(t, func() {
		testenv.Gives(t, 5, nil)(f.Write([]byte("hello")))
		f.Close()
	})
	testenv.Gives(t, "hello", nil)(testenv.AsText(io.ReadAll(r)))
	testenv.Fails(t, testenv.Err(socket.NewFile(w)), os.ErrClosed, "of a closed file")
	testenv.Fails(t, testenv.Err(socket.NewFile(nil)), os.ErrInvalid, "of none")
	testenv.Fails(t, testenv.Err(socket.FileFromFD(1<<30, "none")), unix.EBADF, "of no fd")
}

// TestFileAgain: a file that has duplicates can be waited for under the same
// number again, after a File of it was closed.
func TestFileAgain(t *testing.T) {
	start(t, 2)
	testrun.Each(t, func(t *testing.T, p testrun.Place) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
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
		if !again {
			t.Error("no number came twice")
		}
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
			if n, err := w.Write([]byte("hello")); n != 0 || err == nil ||
				err.Error() != "write w: no space left on device" {
				t.Errorf("Write: %d, %v", n, err)
			}
			testenv.Gives(t, 5, nil)(w.Write([]byte("hello")))
			b := make([]byte, 10)
			if n, err := r.Read(b); n != 0 || err == nil ||
				err.Error() != "read r: input/output error" {
				t.Errorf("Read: %d, %v", n, err)
			}
			if n, err := io.ReadFull(r, b[:5]); string(b[:n]) != "hello" || err != nil {
				t.Errorf("Read: %q, %v", b[:n], err)
			}
		})
		remove()
		r.Close()
		w.Close()
	}
	before := countFDs(t)
	for _, s := range []*script{
		{first: first{sysx.EpollCreate: {unix.EMFILE}}},
		{first: first{sysx.EpollCtl: {unix.ENOMEM}}},
	} {
		remove := s.install(t)
		fd, _ := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if f, err := socket.FileFromFD(uintptr(fd), "x"); f != nil ||
			!errors.Is(err, unix.EMFILE) && !errors.Is(err, unix.ENOMEM) {
			t.Errorf("%v, %v", f, err)
		}
		remove()
		testenv.Fails(t, unix.Close(fd), nil, "the fd is not the caller's any more")
	}
	// the goroutine poller's linger
	testenv.Until(t, "the fds to be closed", func() bool { return countFDs(t) <= before })
}

// TestFileSyscallConn: raw access waits as Read does, and is at an end when the
// file is closed.
func TestFileSyscallConn(t *testing.T) {
	start(t, 2)
	testrun.Each(t, func(t *testing.T, p testrun.Place) {
		r, w := filePipe(t)
		raw := testenv.Must(r.SyscallConn())
		r.SetReadDeadline(time.Now().Add(time.Millisecond))
		testenv.Fails(t, testenv.Err(r.Read(make([]byte, 1))), os.ErrDeadlineExceeded)
		r.SetReadDeadline(time.Time{})
		calls := 0
		k := p.Go(func() {
			err := raw.Read(func(fd uintptr) bool {
				calls++
				n, err := unix.Read(int(fd), make([]byte, 1))
				return n == 1 || err != unix.EAGAIN
			})
			if err != nil || calls < 2 {
				t.Errorf("%v, %d calls", err, calls)
			}
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
