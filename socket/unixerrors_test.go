package socket_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// closer is what a call under test may have opened.
type closer interface{ Close() error }

// withNet calls ours and net's and compares their errors. What they opened is
// closed, and path removed after each.
func withNet(t *testing.T, what, path string, ours, theirs func() (closer, error)) {
	t.Helper()
	try := func(f func() (closer, error)) error {
		c, err := f()
		if err == nil {
			c.Close()
		}
		if path != "" {
			os.Remove(path)
		}
		return err
	}
	same(t, what, try(ours), try(theirs))
}

// opened avoids a closer that is not nil and holds nil.
func opened[T closer](c T, err error) (closer, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// TestUnixErrors holds the errors of all that listens and dials against net's.
func TestUnixErrors(t *testing.T) {
	start(t, 2)
	taken := unixName(t, "taken")
	testenv.Closing(t, testenv.Must(net.Listen("unix", taken)))
	dir := filepath.Dir(taken)
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	stale := filepath.Join(dir, "stale") // a socket nobody listens on any more
	old := testenv.Must(net.ListenUnix("unix", unixAt("unix", stale)))
	old.SetUnlinkOnClose(false)
	old.Close()
	gram := filepath.Join(dir, "gram")
	testenv.Closing(t, testenv.Must(net.ListenPacket("unixgram", gram)))
	mine := map[string]bool{taken: true, stale: true, gram: true, filepath.Join(dir, "file"): true}
	names := []string{
		"", "@", "@\x00", "\x00netco-test", "@netco-no-such-name", taken, stale, gram, dir, filepath.Join(dir, "file"),
		filepath.Join(dir, "none"), filepath.Join(dir, "no", "such", "folder"), filepath.Join(dir, "file", "below"),
		strings.Repeat("x", 107), strings.Repeat("x", 108), strings.Repeat("x", 109), strings.Repeat("x", 1000),
		"@" + strings.Repeat("x", 107), "@" + strings.Repeat("x", 108), "with\x00nul", "/proc/netco-test",
	}
	t.Chdir(dir) // for the relative ones
	for _, p := range testrun.Places {
		p.Do(t, func() {
			for _, network := range []string{"unix", "unixpacket", "unixgram", "unixx", "tcp", ""} {
				for _, name := range names {
					at, from := unixAt(network, name), unixAt(network, filepath.Join(dir, "from"))
					path, _, _ := strings.Cut(name, "\x00")
					if mine[name] {
						path = ""
					}
					what := func(f string) string { return fmt.Sprintf("%s: %s(%s, %.120q)", p.Name, f, network, name) }
					withNet(t, what("ListenUnix"), path,
						func() (closer, error) { return opened(socket.ListenUnix(network, at)) },
						func() (closer, error) { return opened(net.ListenUnix(network, at)) })
					withNet(t, what("ListenUnixgram"), path,
						func() (closer, error) { return opened(socket.ListenUnixgram(network, at)) },
						func() (closer, error) { return opened(net.ListenUnixgram(network, at)) })
					withNet(t, what("DialUnix"), "",
						func() (closer, error) { return opened(socket.DialUnix(network, nil, at)) },
						func() (closer, error) { return opened(net.DialUnix(network, nil, at)) })
					withNet(t, what("DialUnix from"), from.Name,
						func() (closer, error) { return opened(socket.DialUnix(network, from, at)) },
						func() (closer, error) { return opened(net.DialUnix(network, from, at)) })
					withNet(t, what("DialUnix to taken from"), path,
						func() (closer, error) { return opened(socket.DialUnix(network, at, unixAt(network, taken))) },
						func() (closer, error) { return opened(net.DialUnix(network, at, unixAt(network, taken))) })
					if network == "unix" || network == "unixpacket" || network == "unixgram" {
						withNet(t, what("Dial"), "",
							func() (closer, error) { return opened(socket.Dial(network, name)) },
							func() (closer, error) { return opened(net.Dial(network, name)) })
					}
					// What net makes of a stream that is to be a
					// net.PacketConn, or of packets that are to be a
					// net.Listener, is of no use.
					switch network {
					case "unix", "unixpacket":
						withNet(t, what("Listen"), path,
							func() (closer, error) { return opened(socket.Listen(network, name)) },
							func() (closer, error) { return opened(net.Listen(network, name)) })
					case "unixgram":
						withNet(t, what("ListenPacket"), path,
							func() (closer, error) { return opened(socket.ListenPacket(network, name)) },
							func() (closer, error) { return opened(net.ListenPacket(network, name)) })
					}
				}
				withNet(t, p.Name+": nil addresses of "+network, "",
					func() (closer, error) { return opened(socket.ListenUnix(network, nil)) },
					func() (closer, error) { return opened(net.ListenUnix(network, nil)) })
				withNet(t, p.Name+": nil addresses of "+network, "",
					func() (closer, error) { return opened(socket.ListenUnixgram(network, nil)) },
					func() (closer, error) { return opened(net.ListenUnixgram(network, nil)) })
				withNet(t, p.Name+": nil addresses of "+network, "",
					func() (closer, error) { return opened(socket.DialUnix(network, nil, nil)) },
					func() (closer, error) { return opened(net.DialUnix(network, nil, nil)) })
			}
		})
	}
}

// unixIO is what both UnixConns have.
type unixIO interface {
	net.Conn
	net.PacketConn
	ReadFromUnix(p []byte) (int, *net.UnixAddr, error)
	ReadMsgUnix(p, oob []byte) (n, oobn, flags int, addr *net.UnixAddr, err error)
	WriteToUnix(p []byte, addr *net.UnixAddr) (int, error)
	WriteMsgUnix(p, oob []byte, addr *net.UnixAddr) (n, oobn int, err error)
	CloseRead() error
	CloseWrite() error
	File() (*os.File, error)
	SyscallConn() (syscall.RawConn, error)
	SetReadBuffer(int) error
	SetWriteBuffer(int) error
}

// TestUnixIOErrors holds the errors of reads and writes against net's: on both
// ends of each kind of connection, on a socket without a peer, after the peer
// has gone, and after Close.
func TestUnixIOErrors(t *testing.T) {
	start(t, 2)
	dir := filepath.Dir(unixName(t, "x"))
	t.Chdir(dir)
	type pair struct{ dialled, other unixIO }
	ours := func(network string) (p pair) {
		at := unixAt(network, "s")
		var err error
		if network == "unixgram" {
			if p.other, err = socket.ListenUnixgram(network, at); err == nil {
				p.dialled, err = socket.DialUnix(network, nil, at)
			}
		} else {
			l, lerr := socket.ListenUnix(network, at)
			if lerr != nil {
				t.Fatal(lerr)
			}
			defer l.Close()
			if p.dialled, err = socket.DialUnix(network, nil, at); err == nil {
				p.other, err = l.AcceptUnix()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	theirs := func(network string) (p pair) {
		at := unixAt(network, "s")
		var err error
		if network == "unixgram" {
			if p.other, err = net.ListenUnixgram(network, at); err == nil {
				p.dialled, err = net.DialUnix(network, nil, at)
			}
		} else {
			l, lerr := net.ListenUnix(network, at)
			if lerr != nil {
				t.Fatal(lerr)
			}
			defer l.Close()
			if p.dialled, err = net.DialUnix(network, nil, at); err == nil {
				p.other, err = l.AcceptUnix()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	// probe tries everything.
	probe := func(network string, p pair) (errs []error) {
		add := func(err error) { errs = append(errs, err) }
		rights := unix.UnixRights(2)
		writes := func(c unixIO) {
			for _, to := range []*net.UnixAddr{nil, unixAt(network, "s"), unixAt(network, "none"), unixAt("unixx", "s"),
				unixAt(network, ""), unixAt(network, strings.Repeat("x", 200))} {
				_, err := c.WriteToUnix([]byte("x"), to)
				add(err)
				_, _, err = c.WriteMsgUnix([]byte("x"), nil, to)
				add(err)
				if network == "unix" {
					_, _, err = c.WriteMsgUnix(nil, rights, to)
					add(err)
				}
			}
			_, err := c.WriteTo([]byte("x"), &net.UDPAddr{})
			add(err)
			_, err = c.WriteTo([]byte("x"), nil)
			add(err)
			_, err = c.Write(make([]byte, 1<<20)[:0])
			add(err)
			if network != "unix" {
				_, err = c.Write(make([]byte, 16<<20))
				add(err)
				_, _, err = c.WriteMsgUnix(make([]byte, 16<<20), nil, nil)
				add(err)
			}
			_, _, err = c.WriteMsgUnix([]byte("x"), []byte("not ancillary data"), nil)
			add(err)
		}
		reads := func(c unixIO) {
			soon := func() { // what has come must be read however late this thread is
				c.SetReadDeadline(time.Now().Add(limit))
				if emptyUnix(c) { // a datagram socket waits on
					c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
				}
			}
			soon()
			_, _, err := c.ReadFrom(make([]byte, 1))
			add(err)
			soon()
			_, _, _, _, err = c.ReadMsgUnix(make([]byte, 1), make([]byte, 100))
			add(err)
			soon()
			_, err = c.Read(make([]byte, 1))
			add(err)
		}
		writes(p.dialled)
		writes(p.other)
		add(p.dialled.CloseRead())
		add(p.dialled.CloseWrite())
		add(p.other.CloseRead())
		add(p.other.CloseRead())
		add(p.other.SetReadBuffer(-1))
		add(p.other.SetWriteBuffer(4096))
		drainUnix(p.dialled)
		reads(p.dialled)
		writes(p.dialled)
		add(p.dialled.Close())
		add(p.dialled.Close())
		writes(p.other)
		drainUnix(p.other)
		reads(p.other)
		add(p.other.Close())
		for _, c := range []unixIO{p.dialled, p.other} {
			reads(c)
			writes(c)
			add(c.CloseRead())
			add(c.CloseWrite())
			_, err := c.File()
			add(err)
			raw, err := c.SyscallConn()
			add(err)
			add(raw.Control(func(uintptr) {}))
			add(raw.Read(func(uintptr) bool { return true }))
			add(raw.Write(func(uintptr) bool { return true }))
			add(c.SetReadBuffer(4096))
			_, err = c.Read(nil)
			add(err)
		}
		return errs
	}
	for _, network := range []string{"unix", "unixpacket", "unixgram"} {
		want := probe(network, theirs(network))
		os.Remove("s")
		for _, p := range testrun.Places {
			p.Do(t, func() {
				got := probe(network, ours(network))
				for i := range want {
					same(t, fmt.Sprintf("%s, %s, %d", p.Name, network, i), got[i], want[i])
				}
			})
			os.Remove("s")
		}
	}
}

// emptyUnix reports whether a read would find nothing, not even an end.
func emptyUnix(c unixIO) (empty bool) {
	raw, _ := c.SyscallConn()
	raw.Control(func(fd uintptr) {
		_, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_DONTWAIT|unix.MSG_PEEK)
		empty = err == unix.EAGAIN
	})
	return empty
}

// drainUnix reads what has come, if anything.
func drainUnix(c unixIO) {
	raw, _ := c.SyscallConn()
	raw.Read(func(fd uintptr) bool {
		for {
			n, _, err := unix.Recvfrom(int(fd), make([]byte, 1<<20), unix.MSG_DONTWAIT)
			if n <= 0 || err != nil {
				return true
			}
		}
	})
}

// TestUnixBacklog: a listener whose queue is full refuses at once, as with net.
func TestUnixBacklog(t *testing.T) {
	start(t, 2)
	for _, kind := range []struct {
		network string
		typ     int
	}{{"unix", unix.SOCK_STREAM}, {"unixpacket", unix.SOCK_SEQPACKET}} {
		fd := testenv.Must(unix.Socket(unix.AF_UNIX, kind.typ|unix.SOCK_CLOEXEC, 0))
		defer unix.Close(fd)
		name := unixName(t, "s")
		testenv.OK(t, unix.Bind(fd, &unix.SockaddrUnix{Name: name}))
		testenv.OK(t, unix.Listen(fd, 0))
		for {
			c, want := net.Dial(kind.network, name)
			if want == nil {
				defer c.Close()
				continue
			}
			for _, p := range testrun.Places {
				p.Do(t, func() {
					_, err := socket.Dial(kind.network, name)
					same(t, p.Name, err, want)
				})
			}
			break
		}
	}
}

// TestUnixFaults: what keeps a socket from being made or connected is returned
// as by net and leaves nothing open.
func TestUnixFaults(t *testing.T) {
	start(t, 2)
	for _, network := range []string{"unix", "unixpacket", "unixgram"} {
		a, _ := unixPair(t, "unix") // so that Go's poller is there before the count
		a.Close()
		for _, c := range []struct {
			op    sysx.Op
			errno syscall.Errno
			call  string
		}{
			{sysx.Socket, unix.EMFILE, "socket"},
			{sysx.Socket, unix.ENFILE, "socket"},
			{sysx.Connect, unix.ECONNREFUSED, "connect"},
			{sysx.Connect, unix.EAGAIN, "connect"},
		} {
			for _, p := range testrun.Places {
				p.Do(t, func() {
					defer (&script{first: map[sysx.Op][]syscall.Errno{c.op: {c.errno}}}).install(t)()
					open, fds := socket.Open(), testenv.Files()
					_, err := socket.DialUnix(network, nil, unixAt(network, "/none"))
					want := "dial " + network + " /none: " + c.call + ": " + c.errno.Error()
					if err == nil || err.Error() != want {
						t.Errorf("%s: %v, want %s", p.Name, err, want)
					}
					if n, f := socket.Open(), testenv.Files(); n != open || f > fds {
						t.Errorf("%d sockets and %d fds open, before %d and %d", n, f, open, fds)
					}
				})
			}
		}
	}
}
