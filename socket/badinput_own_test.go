package socket_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestBadInputOwn: what has no counterpart in package net. Each error says what
// is wrong; nothing panics and no fd is left.
func TestBadInputOwn(t *testing.T) {
	startFiles(t)
	r, w := rawPipe(t)
	defer unix.Close(r)
	defer unix.Close(w)
	unused := 1 << 20 // no fd has that number
	cases := []struct {
		name, want string
		do         func() error
	}{
		{"NewSocket family", "address family not supported", func() error { _, err := socket.NewSocket(-1, unix.SOCK_STREAM, 0); return err }},
		{"NewSocket type", "invalid argument", func() error { _, err := socket.NewSocket(unix.AF_INET, 15, 0); return err }},
		{"NewSocket protocol", "protocol not supported", func() error { _, err := socket.NewSocket(unix.AF_INET, unix.SOCK_STREAM, 255); return err }},
		{"AdoptSocket of no fd", "bad file descriptor", func() error { _, err := socket.AdoptSocket(-1); return err }},
		{"AdoptSocket of an unused fd", "bad file descriptor", func() error { _, err := socket.AdoptSocket(unused); return err }},
		{"AdoptSocket of a pipe", "socket operation on non-socket", func() error { _, err := socket.AdoptSocket(r); return err }},
		{"FileFromFD of an unused fd", "bad file descriptor", func() error { _, err := socket.FileFromFD(uintptr(unused), "x"); return err }},
		{"FileFromFD of no fd", "bad file descriptor", func() error { _, err := socket.FileFromFD(^uintptr(0), "x"); return err }},
		{"NewFile of nil", "invalid argument", func() error { _, err := socket.NewFile(nil); return err }},
		{"NewFile of a closed one", "file already closed", func() error {
			f := os.NewFile(uintptr(dupFD(t, r)), "closed")
			f.Close()
			_, err := socket.NewFile(f)
			return err
		}},
		{"ListenReusePort 0", "invalid argument", func() error { _, err := socket.ListenReusePort("tcp", "127.0.0.1:0", 0); return err }},
		{"ListenReusePort udp", "unknown network udp", func() error { _, err := socket.ListenReusePort("udp", "127.0.0.1:0", 1); return err }},
		{"ListenReusePort taken", "address already in use", func() error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			defer l.Close()
			_, err = socket.ListenReusePort("tcp", l.Addr().String(), 3)
			return err
		}},
		{"ListenUDPReusePort -1", "invalid argument", func() error { _, err := socket.ListenUDPReusePort("udp", "127.0.0.1:0", -1); return err }},
		{"ListenUDPReusePort tcp", "unknown network tcp", func() error { _, err := socket.ListenUDPReusePort("tcp", "127.0.0.1:0", 1); return err }},
		{"Poll of too many", "invalid argument", func() error {
			var most unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &most); err != nil || most.Cur >= 1<<22 {
				return unix.EINVAL // nobody has memory for more than may be open here
			}
			_, err := socket.Poll(make([]socket.PollFd, most.Cur+1), 0)
			return err
		}},
		{"PollContext that is over", "context canceled", func() error {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_, err := socket.PollContext(ctx, nil)
			return err
		}},
		{"Poll of bad fds", "3 of 3 [{-1 1 0} {1048576 1 32} {-5 1 0}] <nil>", func() error {
			fds := []socket.PollFd{{Fd: -1, Events: 1}, {Fd: int32(unused), Events: 1}, {Fd: -5, Events: 1}}
			n, err := socket.Poll(fds, time.Hour)
			return fmt.Errorf("%d of 3 %v %v", n+2, fds, err)
		}},
		{"Accept without Listen", "invalid argument", onSocket(func(x *socket.Socket) error { _, _, err := x.Accept(); return err })},
		{"Read without peer", "transport endpoint is not connected", onSocket(func(x *socket.Socket) error { _, err := x.Read(make([]byte, 1)); return err })},
		{"Write without peer", "broken pipe", onSocket(func(x *socket.Socket) error { _, err := x.Write(make([]byte, 1)); return err })},
		{"Connect to nobody", "connection refused", onSocket(func(x *socket.Socket) error {
			return x.Connect(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: 1})
		})},
		{"Connect to another family", "invalid argument", onSocket(func(x *socket.Socket) error { return x.Connect(&unix.SockaddrUnix{Name: "x"}) })},
		{"Bind to a bad port", "invalid argument", onSocket(func(x *socket.Socket) error { return x.Bind(&unix.SockaddrInet4{Port: -1}) })},
		{"Setsockopt", "protocol not available", onSocket(func(x *socket.Socket) error { return x.SetsockoptInt(unix.SOL_SOCKET, 9999, 1) })},
		{"Shutdown how", "invalid argument", onSocket(func(x *socket.Socket) error { return x.Shutdown(17) })},
		{"Getpeername", "transport endpoint is not connected", onSocket(func(x *socket.Socket) error { _, err := x.Getpeername(); return err })},
		{"second Close", "use of closed network connection", onSocket(func(x *socket.Socket) error { x.Close(); return x.Close() })},
		{"read-only write", "bad file descriptor", func() error {
			f, err := socket.FileFromFD(uintptr(dupFD(t, r)), "the pipe")
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.Write([]byte("x"))
			return err
		}},
	}
	everywhere(t, func(p testrun.Place) {
		for _, c := range cases {
			fdsAround(t, p.Name+", "+c.name, func() {
				if err := c.do(); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s, %s: %v, want %s", p.Name, c.name, err, c.want)
				}
			})
		}
	})
}

// onSocket gives f a fresh TCP socket.
func onSocket(f func(x *socket.Socket) error) func() error {
	return func() error {
		x, err := socket.NewSocket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer x.Close()
		return f(x)
	}
}

func dupFD(t testing.TB, fd int) int {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Error(err)
	}
	return n
}
