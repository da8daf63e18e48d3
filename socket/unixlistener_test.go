package socket_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestUnixUnlink: the file is removed when net would remove it, once, and
// whoever made another there in the meantime keeps that.
func TestUnixUnlink(t *testing.T) {
	start(t, 2)
	for _, p := range testrun.Places {
		p.Do(t, func() {
			path := unixName(t, "s")
			l, err := socket.Listen("unix", path)
			if err != nil {
				t.Error(err)
				return
			}
			if !exists(path) {
				t.Error("there is no file while it listens: the borrowed socket's end took it")
			}
			c, err := socket.Dial("unix", path)
			if err != nil {
				t.Error(err)
				return
			}
			c.Close()
			if exists(path) {
				f, err := l.(*socket.UnixListener).File()
				if err != nil {
					t.Error(err)
					return
				}
				adopted, err := socket.FileListener(f)
				f.Close()
				if err != nil {
					t.Error(err)
					return
				}
				adopted.Close()
				if !exists(path) {
					t.Error("the end of a FileListener removed the file")
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if exists(path) {
				t.Error("the file is still there after Close")
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Error(err)
			}
			if err := l.Close(); !errors.Is(err, net.ErrClosed) || !exists(path) {
				t.Errorf("a second Close: %v; the new file is there: %v", err, exists(path))
			}
			os.Remove(path)

			kept, err := socket.ListenUnix("unixpacket", unixAt("unixpacket", path))
			if err != nil {
				t.Error(err)
				return
			}
			kept.SetUnlinkOnClose(false)
			kept.Close()
			if !exists(path) {
				t.Error("SetUnlinkOnClose(false) did not keep the file")
			}
			os.Remove(path)
			gram, err := socket.ListenPacket("unixgram", path)
			if err != nil {
				t.Error(err)
				return
			}
			gram.Close()
			if !exists(path) {
				t.Error("a datagram socket removed its file, unlike net's")
			}
		})
	}
}

// TestUnixAccept: several coroutines and goroutines accept from one listener,
// by path and by abstract name; deadline and Close end them.
func TestUnixAccept(t *testing.T) {
	for _, network := range []string{"unix", "unixpacket"} {
		for _, abstract := range []bool{false, true} {
			testUnixAccept(t, network, abstract)
		}
	}
}

func testUnixAccept(t *testing.T, network string, abstract bool) {
	t.Run(fmt.Sprintf("%s, abstract %v", network, abstract), func(t *testing.T) {
		start(t, 2)
		name := unixName(t, "s")
		if abstract {
			name = "@" + name
		}
		l := testenv.Must(socket.ListenUnix(network, unixAt(network, name)))
		if l.Addr().String() != name || l.Addr().Network() != network || exists(name) == abstract {
			t.Errorf("it listens on %v", l.Addr())
		}
		l.SetDeadline(time.Now().Add(time.Millisecond))
		var op *net.OpError
		if _, err := l.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &op) || op.Op != "accept" {
			t.Errorf("Accept under a deadline: %v", err)
		}
		l.SetDeadline(time.Time{})
		var tasks []*testrun.Task
		for _, p := range testrun.Places {
			tasks = append(tasks, p.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						if !errors.Is(err, net.ErrClosed) {
							t.Error(err)
						}
						return
					}
					c.Write([]byte("hello"))
					c.Close()
				}
			}))
		}
		for range 100 {
			c := testenv.Must(socket.Dial(network, name))
			c.SetDeadline(time.Now().Add(limit))
			b := make([]byte, 10)
			if n, err := c.Read(b); string(b[:n]) != "hello" || err != nil {
				t.Fatalf("%q, %v", b[:n], err)
			}
			c.Close()
		}
		l.Close()
		testrun.WaitAll(t, tasks...)
	})
}

// TestUnixListenWithoutFDs: every fd that listening takes may be the one that
// is not there any more. Nothing stays open, and no file is left.
func TestUnixListenWithoutFDs(t *testing.T) {
	path := unixName(t, "s")
	start(t, 1)
	if l, err := socket.Listen("unix", path); err == nil { // what is made once is made
		l.Close()
	}
	var lim unix.Rlimit
	testenv.OK(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &lim))
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &lim)
	before := testenv.Files()
	refused := 0
	for _, network := range []string{"unix", "unixgram"} {
		for spare := range 4 {
			var holes []int // free numbers below the highest fd count as spare too
			limited := lim
			for limited.Cur = 0; ; {
				fd := testenv.Must(unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0))
				holes = append(holes, fd)
				if fd >= before {
					limited.Cur = uint64(fd + 1)
					break
				}
			}
			for range min(spare, len(holes)) {
				unix.Close(holes[len(holes)-1])
				holes = holes[:len(holes)-1]
			}
			unix.Setrlimit(unix.RLIMIT_NOFILE, &limited)
			var c closer
			var err error
			if network == "unix" {
				c, err = opened(socket.ListenUnix(network, unixAt(network, path)))
			} else {
				c, err = opened(socket.ListenUnixgram(network, unixAt(network, path)))
			}
			unix.Setrlimit(unix.RLIMIT_NOFILE, &lim)
			if err != nil {
				refused++
				if !errors.Is(err, unix.EMFILE) {
					t.Errorf("%s with %d to spare: %v", network, spare, err)
				}
				if network == "unix" && exists(path) {
					t.Errorf("%s with %d to spare: the file is left", network, spare)
				}
			} else {
				c.Close()
			}
			os.Remove(path)
			for _, fd := range holes {
				unix.Close(fd)
			}
			// fewer, if a collection has closed what an earlier test lost
			if n := testenv.Files(); n > before {
				t.Errorf("%s with %d to spare: %d fds, before %d", network, spare, n, before)
			}
		}
	}
	if refused < 3 {
		t.Errorf("only %d were refused: this tests less than it should", refused)
	}
}
