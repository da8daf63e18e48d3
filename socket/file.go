package socket

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/internal/sysx"
)

// File is an fd that is no socket, for coroutines: pipes, FIFOs, terminals,
// eventfds, timerfds, signalfds, inotify and the like park the caller while a
// read or write would block. Regular files, directories and block devices,
// which epoll refuses, are read and written by a thread of package blocking
// while the caller is parked. Ordinary goroutines may use it too; they block.
//
// Errors are as os.File's: *fs.PathError with the bare errno, os.ErrClosed,
// os.ErrDeadlineExceeded or netco.ErrShutdown in it, and io.EOF. Unlike with
// os.File, a write to a pipe without readers returns EPIPE on standard output
// as well, and does not end the process.
//
// A pollable fd is made non-blocking, and so is every fd of the same open file
// description: duplicates of it, also in other processes, which a terminal
// usually has. Close does not undo that. If another process makes the fd
// blocking again, the next operation makes it non-blocking; but between that
// check and the system call such a change may hold up the whole Processor.
//
// Reads are serialised among themselves, as are writes. The fd is closed when
// the last operation under way has returned.
type File struct {
	s        fd.FD
	name     string // constant
	pollable bool   // constant
}

var _ io.ReadWriteCloser = (*File)(nil)

// fileDescriptor is the descriptor of a File.
type fileDescriptor struct {
	fd.Descriptor
	name string // constant
}

// NewFile makes a File of a duplicate of f's fd, under f's name. Close both, in
// any order. A pollable fd is non-blocking from now on, for f too: reads of an
// f that os opened as blocking fail with EAGAIN.
func NewFile(f *os.File) (*File, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	fd, err := duplicate(f)
	if err != nil {
		reason := os.ErrClosed
		if call, ok := err.(*os.SyscallError); ok {
			reason = call.Err
		}
		return nil, &fs.PathError{Op: "dup", Path: f.Name(), Err: reason}
	}
	made, err := FileFromFD(uintptr(fd), f.Name())
	if err != nil {
		sysx.CloseFD(fd)
	}
	return made, err
}

// FileFromFD makes a File of an fd, which it owns from then on, unless it
// returns an error. The name is for errors.
func FileFromFD(fd uintptr, name string) (*File, error) {
	can, err := pollable(int(fd))
	if err == nil && can {
		err = makeNonblocking(int(fd))
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f := &File{name: name, pollable: can}
	d := &fileDescriptor{name: name}
	d.Label.Role = uint8(roleFile)
	d.SetOwner(d)
	f.s.Init(&d.Descriptor, int(fd), noNetwork.kind())
	f.s.CloseWhenLost()
	f.s.Share() // as files usually are, with a shell or a child
	return f, nil
}

// pollable reports whether waiting for fd makes sense and is possible. If the
// type of the file does not decide, it asks epoll.
func pollable(fd int) (bool, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, os.NewSyscallError("fstat", err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFDIR, unix.S_IFBLK:
		return false, nil
	case unix.S_IFIFO, unix.S_IFSOCK:
		return true, nil
	}
	epfd, err := sysx.NewEpoll()
	if err != nil {
		return false, os.NewSyscallError("epoll_create1", err)
	}
	defer sysx.CloseFD(epfd)
	switch errno := sysx.ControlEpoll(epfd, unix.EPOLL_CTL_ADD, fd, 0); errno {
	case 0:
		return true, nil
	case unix.EPERM:
		return false, nil
	default:
		return false, os.NewSyscallError("epoll_ctl", errno)
	}
}

// wrap returns err as os.File's methods do.
func (f *File) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if err == net.ErrClosed {
		err = os.ErrClosed
	}
	if call := (*os.SyscallError)(nil); errors.As(err, &call) && call.Syscall == op {
		err = call.Err
	}
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

// Close closes the file. Operations under way on a pollable one end with
// os.ErrClosed; those on a regular one end by themselves. A second Close
// returns os.ErrClosed. An error of close(2) is not returned.
func (f *File) Close() error { return f.wrap("close", f.s.Close()) }

// SetDeadline sets when reads and writes, present and future, end with
// os.ErrDeadlineExceeded. The zero time is never. For a file that is not
// pollable it returns os.ErrNoDeadline.
func (f *File) SetDeadline(t time.Time) error {
	return f.setDeadline(t, fd.Read, fd.Write)
}

// SetReadDeadline is SetDeadline for reads only.
func (f *File) SetReadDeadline(t time.Time) error { return f.setDeadline(t, fd.Read) }

// SetWriteDeadline is SetDeadline for writes only.
func (f *File) SetWriteDeadline(t time.Time) error { return f.setDeadline(t, fd.Write) }

func (f *File) setDeadline(t time.Time, modes ...fd.Mode) error {
	if !f.pollable {
		return f.wrap("set deadline", f.s.Control(func(int) error { return os.ErrNoDeadline }))
	}
	return f.wrap("set deadline", f.s.SetDeadline(t, modes...))
}

// Name returns the name it was made with.
func (f *File) Name() string { return f.name }

// Fd returns the fd, which is valid until Close. SyscallConn keeps it open by
// itself.
func (f *File) Fd() uintptr { return uintptr(f.s.Sysfd()) }

// SyscallConn gives access to the fd while it is sure to be open. Its Read and
// Write call a function again after each event for as long as it returns false,
// and park in between. The function must return false only if the fd has
// returned EAGAIN.
func (f *File) SyscallConn() (syscall.RawConn, error) {
	raw := rawConn{&f.s, f.wrap, f.wrap}
	if f.pollable {
		return raw, nil
	}
	return rawBlocking{raw}, nil
}

// rawBlocking is the rawConn of a file that epoll refuses.
type rawBlocking struct{ rawConn }

var errNotPollable = errors.New("cannot wait for a file of this kind")

func (r rawBlocking) Read(done func(fd uintptr) bool) error  { return r.once("raw-read", done) }
func (r rawBlocking) Write(done func(fd uintptr) bool) error { return r.once("raw-write", done) }

func (r rawBlocking) once(op string, done func(fd uintptr) bool) error {
	return r.opError(op, r.s.Control(func(fd int) error {
		if done(uintptr(fd)) {
			return nil
		}
		return errNotPollable
	}))
}

// Read reads into p, at least one byte, waiting if need be. At the end it
// returns io.EOF. Parks. On a pollable fd it does not allocate. If the
// scheduler's forced end makes it return from a regular file, p may still be
// written to.
func (f *File) Read(p []byte) (n int, err error) {
	switch {
	case len(p) == 0:
		err = f.s.Control(func(int) error { return nil })
	case f.pollable:
		n, err = f.s.ReadFile(p)
	default:
		n, err = f.s.ReadElsewhere(p)
	}
	if n == 0 && err == nil && len(p) > 0 {
		return 0, io.EOF
	}
	return n, f.wrap("read", err)
}

// Write writes all of p, waiting for room if need be. With an error, n is how
// many bytes were written. Parks. On a pollable fd it does not allocate. If the
// scheduler's forced end makes it return from a regular file, the write may
// still go on.
func (f *File) Write(p []byte) (n int, err error) {
	if f.pollable {
		n, err = f.s.WriteFile(p)
	} else {
		n, err = f.s.WriteElsewhere(p)
	}
	return n, f.wrap("write", err)
}
