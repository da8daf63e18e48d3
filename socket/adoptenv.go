package socket

import (
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Activated is an fd that the process was started with. One of its fields other
// than Name is set.
type Activated struct {
	Name string // from LISTEN_FDNAMES; "unknown" if there is none

	Listener   net.Listener   // a socket that listens, a *TCPListener or *UnixListener
	PacketConn net.PacketConn // a socket for packets without a peer, a *UDPConn or *UnixConn
	Conn       net.Conn       // a socket with a peer, a *TCPConn, *UDPConn or *UnixConn
	// What is none of these: a pipe, a FIFO, a netlink socket, which
	// AdoptSocket takes.
	File *os.File
}

// Close closes what is set. Errors are those of its Close.
func (a *Activated) Close() error {
	for _, c := range []io.Closer{a.Listener, a.PacketConn, a.Conn} {
		if c != nil {
			return c.Close()
		}
	}
	if a.File != nil {
		return a.File.Close()
	}
	return nil
}

// The fds that a process is started with begin at firstFD. As fds are ints in
// C, there are at most maxFDs.
const (
	firstFD = 3
	maxFDs  = math.MaxInt32 - firstFD
)

// Activation returns the fds that the process was started with by systemd, or
// by any parent that does as systemd does (sd_listen_fds(3)): LISTEN_FDS is how
// many there are, from fd 3 on; LISTEN_PID is the process that they are for,
// which a parent that cannot know it leaves out; LISTEN_FDNAMES has a name for
// each, with colons in between, and may be missing. Without LISTEN_FDS, or for
// another process, there are none, and no error. The names are for the program
// to know: in a systemd unit FileDescriptorName= gives them.
//
// It is for one call, at the beginning: the variables are taken out of the
// environment, so that neither a later call nor a child finds them. The fds are
// closed on exec from then on, and their sockets are non-blocking. With an
// error all of them are closed.
//
// The error names the variable that is wrong: LISTEN_FDS and LISTEN_PID must be
// decimal numbers without a sign, LISTEN_FDS one for which there are fds and
// LISTEN_PID above 0; a name has at most 255 characters, all of them printable
// ASCII.
func Activation() ([]Activated, error) {
	count, pid, names := os.Getenv("LISTEN_FDS"), os.Getenv("LISTEN_PID"),
		os.Getenv("LISTEN_FDNAMES")
	for _, name := range []string{"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"} {
		os.Unsetenv(name)
	}
	if count == "" {
		return nil, nil
	}
	if pid != "" {
		id, err := strconv.ParseUint(pid, 10, 31)
		if err != nil || id == 0 {
			return nil, fmt.Errorf("netco/socket: LISTEN_PID is %q, want the number of a process",
				pid)
		}
		if int(id) != os.Getpid() {
			return nil, nil
		}
	}
	n64, err := strconv.ParseUint(count, 10, 31)
	if err != nil || n64 > maxFDs {
		return nil, fmt.Errorf("netco/socket: LISTEN_FDS is %q, want a number of fds, at most %d",
			count, maxFDs)
	}
	n := int(n64)
	fds, err := takeFDs(n)
	if err != nil {
		return nil, err
	}
	labels, err := splitNames(names, n)
	if err != nil {
		closeAll(fds)
		return nil, err
	}
	all := make([]Activated, n)
	for i, fd := range fds {
		if all[i], err = activate(fd, labels[i]); err != nil {
			for j := range i {
				all[j].Close()
			}
			closeAll(fds[i:])
			return nil, fmt.Errorf("netco/socket: fd %d of LISTEN_FDS=%d: %w", fd, n, err)
		}
	}
	return all, nil
}

// takeFDs sees that n fds were handed over, and that no child gets them. An fd
// that is closed on exec cannot have come through one: it is this process's
// own, and the variable is wrong.
func takeFDs(n int) (fds []int, err error) {
	for fd := firstFD; fd < firstFD+n; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC != 0 {
			err = unix.EBADF
		}
		if err != nil {
			closeAll(fds)
			return nil, fmt.Errorf("netco/socket: LISTEN_FDS is %d, but fd %d was not handed "+
				"over: %w", n, fd, os.NewSyscallError("fcntl", err))
		}
		unix.CloseOnExec(fd)
		fds = append(fds, fd)
	}
	return fds, nil
}

// splitNames takes LISTEN_FDNAMES apart.
func splitNames(names string, n int) ([]string, error) {
	if names == "" {
		all := make([]string, n)
		for i := range all {
			all[i] = "unknown"
		}
		return all, nil
	}
	all := strings.Split(names, ":")
	if len(all) != n {
		return nil, fmt.Errorf("netco/socket: LISTEN_FDNAMES is %q, %d names for LISTEN_FDS=%d",
			names, len(all), n)
	}
	for _, name := range all {
		if !validName(name) {
			return nil, fmt.Errorf("netco/socket: LISTEN_FDNAMES has the name %q, want printable "+
				"ASCII, at most %d characters", name, maxName)
		}
	}
	return all, nil
}

// maxName is the length of the longest name that systemd gives.
const maxName = 255

// validName reports whether systemd would give this name. It may be empty.
func validName(name string) bool {
	if len(name) > maxName {
		return false
	}
	for i := range len(name) {
		if name[i] < ' ' || name[i] > '~' {
			return false
		}
	}
	return true
}

// activate finds out what fd is. It does not close it.
func activate(fd int, name string) (a Activated, err error) {
	a.Name = name
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil && err != unix.ENOTSOCK {
		return a, os.NewSyscallError("getsockopt", err)
	}
	domain, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err == unix.ENOTSOCK || networkOf(domain, kind) == noNetwork {
		a.File = os.NewFile(uintptr(fd), name)
		return a, nil
	}
	s, err := adopt(fd)
	switch {
	case err != nil:
		return a, err
	case listens(fd):
		a.Listener = s.listener()
	case kind == unix.SOCK_DGRAM && !connected(fd):
		a.PacketConn = s.packetConn()
	default:
		a.Conn = s.conn()
	}
	return a, nil
}
