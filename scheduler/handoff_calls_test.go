package scheduler_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/socket"
)

// longCall is an operation of netco whose system call notifies the Go scheduler
// that it may block.
type longCall struct {
	name   string
	op     sysx.Op
	asked  int  // the call's count of bytes, messages or fds, at least
	pinned bool // the Processor waits for the call
	make   func(t *testing.T) (do func() error)
}

// noFDs is how many fds Poll is asked about, more than for a raw system call.
// Only the last is an open fd; it is ready.
const noFDs = 200

var longCalls = []longCall{
	{"connect", sysx.Connect, 1, true, func(t *testing.T) func() error {
		l := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
		return func() error {
			c, err := new(socket.Dialer).Dial("tcp", l.Addr().String())
			if err == nil {
				c.Close()
			}
			return err
		}
	}},
	{"receive a large packet", sysx.Recv, sysx.MaxIO + 1, true, func(t *testing.T) func() error {
		a, b := packetPair(t)
		b.Write([]byte{1})
		return func() error { _, err := a.Read(make([]byte, 2*sysx.MaxIO)); return err }
	}},
	{"send a large packet", sysx.Send, sysx.MaxIO + 1, true, func(t *testing.T) func() error {
		a, _ := packetPair(t)
		return func() error { _, err := a.Write(make([]byte, sysx.MaxIO+1)); return err }
	}},
	{"receive a large message", sysx.Recv, sysx.MaxIO + 1, true, func(t *testing.T) func() error {
		c, peer := connPair(t, "unix", testenv.SocketPath(t, "s"))
		peer.Write([]byte{1})
		return func() error {
			_, _, _, _, err := c.(*socket.UnixConn).ReadMsgUnix(make([]byte, 2*sysx.MaxIO), nil)
			return err
		}
	}},
	{"receive a batch", sysx.Recv, 32, false, func(t *testing.T) func() error {
		c := testenv.Closing(t, testenv.Must(new(socket.ListenConfig).ListenPacket(t.Context(),
			"udp", "127.0.0.1:0")))
		c.WriteTo([]byte{1}, c.LocalAddr())
		all := make([]socket.Message, 32)
		for i := range all {
			all[i].Buf = make([]byte, 8<<10)
		}
		return func() error { _, err := c.(*socket.UDPConn).ReadBatch(all); return err }
	}},
	{"poll many", sysx.PollFDs, noFDs, false, func(t *testing.T) func() error {
		r, w := filePair(t)
		w.Write([]byte{1})
		all := make([]socket.PollFd, noFDs)
		for i := range all {
			all[i].Fd = -1
		}
		all[noFDs-1] = socket.PollFd{Fd: int32(r.Fd()), Events: unix.POLLIN}
		return func() error { _, err := socket.Poll(all, -1); return err }
	}},
	{"read a file", sysx.FileRead, 1, false, func(t *testing.T) func() error {
		r, w := filePair(t)
		w.Write([]byte{1})
		return func() error { _, err := r.Read(make([]byte, 1)); return err }
	}},
	{"write a file", sysx.FileWrite, 1, false, func(t *testing.T) func() error {
		_, w := filePair(t)
		return func() error { _, err := w.Write([]byte{1}); return err }
	}},
	{"sendfile", sysx.Sendfile, 1, false, func(t *testing.T) func() error {
		c, _ := connPair(t, "tcp", "127.0.0.1:0")
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		testenv.OK(t, err)
		t.Cleanup(func() { f.Close() })
		f.WriteString("x")
		f.Seek(0, io.SeekStart)
		return func() error { _, err := io.Copy(c, f); return err }
	}},
}

// packetPair returns the two ends of a SOCK_SEQPACKET connection.
func packetPair(t *testing.T) (a, b *socket.Socket) {
	fds := testenv.Must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0))
	return testenv.Closing(t, testenv.Must(socket.AdoptSocket(fds[0]))),
		testenv.Closing(t, testenv.Must(socket.AdoptSocket(fds[1])))
}

// connPair returns a connection of netco, and its other end, of package net.
func connPair(t *testing.T, network, address string) (c, peer net.Conn) {
	l := testenv.Must(net.Listen(network, address))
	defer l.Close()
	c = testenv.Closing(t, testenv.Must(new(socket.Dialer).Dial(network, l.Addr().String())))
	return c, testenv.Closing(t, testenv.Must(l.Accept()))
}

// filePair returns the two ends of a pipe.
func filePair(t *testing.T) (r, w *socket.File) {
	from, to, err := os.Pipe()
	testenv.OK(t, err)
	defer from.Close()
	defer to.Close()
	return testenv.Closing(t, testenv.Must(socket.NewFile(from))),
		testenv.Closing(t, testenv.Must(socket.NewFile(to)))
}

// TestHandoffInSystemCalls: a coroutine in a long system call of netco's own is
// left behind if the code after the call rejoins; if it does not, the Processor
// waits. Either way the operation succeeds.
func TestHandoffInSystemCalls(t *testing.T) {
	needHandoff(t)
	for _, c := range longCalls {
		t.Run(c.name, func(t *testing.T) {
			do := c.make(t)
			s := start(t, scheduler.Options{Processors: 1})
			var begun atomic.Bool
			goOn := make(chan struct{})
			release := sync.OnceFunc(func() { close(goOn) })
			defer sysx.Inject(func(op sysx.Op, _, asked int) (int, syscall.Errno) {
				if op == c.op && asked >= c.asked && !begun.Swap(true) {
					<-goOn
				}
				return asked, 0
			})()
			var p pulse
			s.Go(p.run)
			h := testenv.Must(s.Go(func() {
				if err := do(); err != nil {
					t.Error(err)
				}
				if err := usesAll(""); err != nil {
					t.Error("afterwards:", err)
				}
			}))
			testenv.Until(t, "the call", begun.Load)
			if c.pinned {
				time.Sleep(50 * time.Millisecond) // many checks of the monitor
			} else {
				p.goes(t)
			}
			n := handoffs(s)
			testenv.True(t, c.pinned == (n == 0), "%d handoffs", n)
			release()
			testenv.Fails(t, h.Join(), nil, "Join")
			p.goes(t)
			p.stop.Store(true)
			shutdown(t, s)
		})
	}
}
