package socket_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// streamPeer is the standard library's end of a connection.
type streamPeer interface {
	net.Conn
	CloseWrite() error
	SetReadBuffer(int) error
}

// unixWithPeer is withPeer over a Unix stream.
func unixWithPeer(t testing.TB) (*socket.UnixConn, streamPeer) {
	t.Helper()
	name := testenv.SocketPath(t, "s")
	l := testenv.Closing(t, testenv.Must(net.Listen("unix", name)))
	c := testenv.Closing(t, testenv.Must(conet.Dial("unix", name)))
	p := testenv.Closing(t, testenv.Must(l.Accept()))
	p.SetDeadline(time.Now().Add(limit))
	return c.(*socket.UnixConn), p.(*net.UnixConn)
}

// withPeerOf returns a connection of the given network.
func withPeerOf(t testing.TB, network string) (net.Conn, streamPeer) {
	if network == "unix" {
		return unixWithPeer(t)
	}
	return withPeer(t)
}

// copyStream is io.Copy, and also has a Unix stream read from a source: its own
// ReadFrom is for packets.
func copyStream(dst, src any) (int64, error) {
	if u, ok := dst.(*socket.UnixConn); ok {
		if _, ok := src.(io.WriterTo); !ok {
			return u.ReadFromStream(src.(io.Reader))
		}
	}
	return io.Copy(dst.(io.Writer), src.(io.Reader))
}

// supply writes the pattern in pieces of random sizes and ends the stream.
func supply(t *testing.T, w streamPeer, total int) (done <-chan struct{}) {
	r, all := rand.New(rand.NewPCG(1, uint64(total))), pattern(total)
	return testrun.Goroutine.Go(func() {
		for len(all) > 0 {
			n := min(len(all), 1+r.IntN(1<<r.IntN(19)))
			if _, err := w.Write(all[:n]); err != nil {
				t.Errorf("with %d bytes left: %v", len(all), err)
				return
			}
			all = all[n:]
		}
		w.CloseWrite()
	}).Done
}

// through has up write the pattern and down compare it, while move, which ends
// down's stream, runs in a place.
func through(t *testing.T, p testrun.Place, up streamPeer, down io.Reader, total int, move func()) {
	t.Helper()
	fed, drained := supply(t, up, total), swallow(t, down, total)
	p.Do(t, move)
	testenv.Await(t, fed, "the peer to write")
	testenv.Await(t, drained, "the peer to read")
}

// copies copies a new connection's stream to another.
func copies(t *testing.T, total int) {
	t.Helper()
	src, up := withPeer(t)
	dst, down := withPeer(t)
	through(t, testrun.First, up, down, total, func() {
		testenv.Gives(t, int64(total), nil)(io.Copy(dst, src))
		dst.Close()
	})
}

// swallow reads to the end and compares with the pattern.
func swallow(t *testing.T, r io.Reader, total int) (done chan struct{}) {
	return swallowFrom(t, r, 0, total)
}

// moveOps counts the calls that move data.
type moveOps struct{ script }

// messages sends n messages through a copy.
func messages(t *testing.T, up, down streamPeer, n, size int) {
	t.Helper()
	for range n {
		testenv.Must(up.Write(pattern(size)))
		expect(t, down, string(pattern(size)))
	}
}

func (m *moveOps) splices() int64 { return m.called[sysx.SpliceIn].Load() }

// TestMoveAdapts: bulk is spliced, messages are not, and a copy can go from one
// to the other and back. A copy that waits holds no pipe: many copies that have
// had bulk and are idle share a few.
func TestMoveAdapts(t *testing.T) {
	start(t, 1)
	var s moveOps
	defer s.install(t)()
	before := socket.OpenPipes()
	var ends []streamPeer
	for range 20 {
		src, up := withPeer(t)
		dst, down := withPeer(t)
		k := testrun.First.Go(func() { io.Copy(dst, src) })
		messages(t, up, down, 20, 1000)
		was := s.splices()
		messages(t, up, down, 1, 1<<20)
		if s.splices() == was {
			t.Fatal("a megabyte was not spliced")
		}
		messages(t, up, down, 20, 1000)
		was = s.splices()
		messages(t, up, down, 20, 1000)
		testenv.Equal(t, s.splices(), was, "splices, before and after messages")
		messages(t, up, down, 1, 1<<20)
		k.UntilParked(t, coroutine.ReasonRead)
		ends = append(ends, up)
	}
	testenv.Until(t, "all but a few pipes to be closed", func() bool {
		runtime.GC() // which may have taken pipes out of the pool that are still to be closed
		return socket.OpenPipes()-before <= 10
	})
	for _, up := range ends {
		up.Close()
	}
}

// TestMoveSmallFirst: before there was bulk there is no pipe, and nothing but
// recv and send.
func TestMoveSmallFirst(t *testing.T) {
	start(t, 1)
	var s moveOps
	defer s.install(t)()
	c, peer := withPeer(t)
	k := testrun.First.Go(func() { io.Copy(c, c) })
	messages(t, peer, peer, 100, 1000)
	peer.CloseWrite()
	k.Wait(t)
	testenv.Equal(t, s.splices()+s.called[sysx.Pipe].Load(), 0, "calls that splice")
}

// TestMoveLimited: a LimitedReader's N goes down by what was moved, the rest
// stays in the source, and the next copy goes on there.
func TestMoveLimited(t *testing.T) {
	const total = 3 << 20
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		src, up := withPeer(t)
		dst, down := withPeer(t)
		through(t, p, up, down, total, func() {
			r := rand.New(rand.NewPCG(4, 4))
			for left := int64(total); left > 0; {
				want := min(left, 1+r.Int64N(1<<r.IntN(21)))
				l := &io.LimitedReader{R: src, N: want}
				n, err := dst.ReadFrom(l)
				if n != want || l.N != 0 || err != nil {
					t.Errorf("%d, %v, N %d, want %d", n, err, l.N, want)
					break
				}
				left -= n
			}
			l := &io.LimitedReader{R: src, N: 5}
			testenv.Gives(t, int64(0), nil, "at the end")(dst.ReadFrom(l))
			testenv.Equal(t, l.N, 5)
			l.N = 0
			testenv.Gives(t, int64(0), nil, "of nothing")(dst.ReadFrom(l))
			dst.Close()
		})
	})
}

// TestMoveUrgent: bytes of urgent data, between which a splice finds nothing,
// do not stop a copy.
func TestMoveUrgent(t *testing.T) {
	start(t, 1)
	l := listen(t)
	fd := rawClient(t, l)
	src := testenv.Closing(t, testenv.Must(l.AcceptTCP()))
	dst, down := withPeer(t)
	var s moveOps
	defer s.install(t)()
	k := testrun.First.Go(func() {
		io.Copy(dst, src)
		dst.Close()
	})
	send := func(p []byte) {
		for len(p) > 0 {
			n, err := unix.Write(fd, p)
			if err != nil && err != unix.EINTR {
				t.Error(err)
				return
			}
			p = p[max(n, 0):]
		}
	}
	piece := pattern(300 << 10)
	for i := range 20 {
		// start behind the last mark: a mark that a new one overtakes becomes
		// plain data
		send(piece[:1000])
		expect(t, down, string(piece[:1000]))
		writer := testrun.Goroutine.Go(func() {
			send(piece[1000:])
			testenv.NoError(t, unix.Sendto(fd, []byte{byte(i)}, unix.MSG_OOB, nil))
		})
		expect(t, down, string(piece[1000:]))
		writer.Wait(t)
	}
	unix.Shutdown(fd, unix.SHUT_WR)
	k.Wait(t)
	testenv.True(t, s.splices() != 0, "nothing was spliced")
}

// TestMoveConcurrent: both ways at once between two connections, by coroutines
// of the same Processor, of two, and by goroutines.
func TestMoveConcurrent(t *testing.T) {
	const total = 4 << 20
	for _, back := range testrun.Places {
		inPlacesOf(t, "back in "+back.Name, func(t *testing.T, there testrun.Place) {
			a, left := withPeer(t)
			b, right := withPeer(t)
			move := func(dst, src *socket.TCPConn) {
				testenv.Gives(t, int64(total), nil)(io.Copy(dst, src))
				dst.CloseWrite()
			}
			var all []<-chan struct{}
			for _, end := range []*net.TCPConn{left, right} {
				all = append(all, supply(t, end, total), swallow(t, end, total))
			}
			all = append(all, there.Go(func() { move(b, a) }).Done,
				back.Go(func() { move(a, b) }).Done)
			for _, done := range all {
				testenv.Await(t, done, "the copies and the peers")
			}
		})
	}
}

// TestMoveShutdown: the end by force ends copies wherever they wait, for the
// source, for the sink, for a lock, and they leave nothing behind.
func TestMoveShutdown(t *testing.T) {
	testrun.Start(t, 2)
	// the sinks' fds, which are made to take nothing: the kernel takes some
	// more later, and the lock would be free then
	var full [2]atomic.Int64
	t.Cleanup(sysx.Inject(func(op sysx.Op, fd, asked int) (int, syscall.Errno) {
		if (op == sysx.Send || op == sysx.SpliceOut) &&
			(int64(fd) == full[0].Load() || int64(fd) == full[1].Load()) {
			return 0, unix.EAGAIN
		}
		return asked, 0
	}))
	for i, p := range []testrun.Place{testrun.First, testrun.Second} {
		src, up := withPeer(t)
		dst, _ := withPeer(t)
		full[i].Store(int64(dst.FD()))
		idle, _ := withPeer(t)
		sink := p.Go(func() {
			defer dst.Close()
			defer src.Close()
			testenv.Fails(t, testenv.Err(io.Copy(dst, src)), coroutine.ErrShutdown)
		})
		go func() {
			for p := make([]byte, 64<<10); ; {
				if _, err := up.Write(p); err != nil {
					return
				}
			}
		}()
		sink.UntilParked(t, coroutine.ReasonWrite)
		other, otherUp := withPeer(t)
		lock := p.Go(func() {
			defer other.Close()
			io.Copy(dst, other) // unwound, or an error: by the order of the woken
		})
		otherUp.Write(make([]byte, 1000))
		lock.UntilParked(t, coroutine.ReasonLock)
		p.Park(t, coroutine.ReasonRead, func() {
			defer idle.Close()
			testenv.Gives(t, int64(0), coroutine.ErrShutdown, "waiting for the source")(
				io.Copy(idle, idle))
		})
	}
	testrun.Force(t)
	untilOpen(t, 0)
}

// failAfter makes the calls of the given kinds to one fd fail after some bytes.
func failAfter(t *testing.T, fd int, bytes int, errno syscall.Errno,
	ops ...sysx.Op) (remove func()) {
	left := bytes
	remove = sysx.Inject(func(op sysx.Op, at, asked int) (int, syscall.Errno) {
		for _, o := range ops {
			if op == o && at == fd {
				if left == 0 {
					return asked, errno
				}
				asked = min(asked, left)
				left -= asked // the sockets in these tests have room for it
			}
		}
		return asked, 0
	})
	t.Cleanup(remove)
	return remove
}

// TestMoveSinkFails: the sink fails, by messages and by bulk. n says what
// reached it, and the source can be read on.
func TestMoveSinkFails(t *testing.T) {
	start(t, 2)
	for i, nets := range []string{"tcp", "unix"} {
		for j, after := range []int{0, 1, 5000, 100_000, 262_145, 700_001} {
			name := fmt.Sprintf("%s/%d", nets, after)
			inTurnOf(t, i+j, name, func(t *testing.T, p testrun.Place) {
				moveSinkFails(t, p, nets, after)
			})
		}
	}
}

func moveSinkFails(t *testing.T, p testrun.Place, nets string, after int) {
	src, up := withPeerOf(t, nets)
	dst, down := withPeer(t)
	fed := supply(t, up, 1<<20)
	var got []byte
	arrived := testrun.Goroutine.Go(func() { got, _ = io.ReadAll(down) })
	remove := failAfter(t, dst.FD(), after, unix.EPIPE, sysx.Send, sysx.SpliceOut)
	var n int64
	var err error
	p.Do(t, func() {
		n, err = copyStream(dst, src)
		dst.Close()
	})
	remove()
	testenv.True(t, errors.Is(err, unix.EPIPE) && n <= int64(after), "%d, %v", n, err)
	arrived.Wait(t)
	testenv.Equal(t, int64(len(got)), n, "bytes that reached the sink")
	testenv.Equal(t, differs(got, 0), "")
	p.Do(t, func() {
		_, err := io.ReadAll(struct{ io.Reader }{src})
		testenv.NoError(t, err)
	})
	testenv.Await(t, fed, "writes")
}

// swallowFrom is swallow for a stream that begins within the pattern.
func swallowFrom(t *testing.T, r io.Reader, first, total int) (done chan struct{}) {
	return testrun.Goroutine.Go(func() {
		got, err := io.ReadAll(r)
		if d := differs(got, first); err != nil || len(got) != total-first || d != "" {
			t.Errorf("read %d bytes of %d, %v %s", len(got), total-first, err, d)
		}
	}).Done
}

// stuck starts a copy that waits for its sink, with bytes on the way, and
// returns what it returns.
func stuck(t *testing.T, p testrun.Place) (k *testrun.Task, n *int64, err *error, src,
	dst *socket.TCPConn, up, down *net.TCPConn) {
	t.Helper()
	src, up = withPeer(t)
	dst, down = withPeer(t)
	dst.SetWriteBuffer(4096)
	n, err = new(int64), new(error)
	k = p.Go(func() { *n, *err = io.Copy(dst, src) })
	go func() {
		for at := 0; ; {
			b := make([]byte, 50_000)
			fill(b, at)
			m, err := up.Write(b)
			if at += m; err != nil {
				return
			}
		}
	}()
	if p.Name == testrun.Goroutine.Name { // which cannot be asked what it waits for
		settled(t, down)
	}
	k.UntilParked(t, coroutine.ReasonWrite)
	return k, n, err, src, dst, up, down
}

// settled waits until as much is queued at the peer as fits.
func settled(t *testing.T, c *net.TCPConn) {
	raw, _ := c.SyscallConn()
	last, same := -1, 0
	testenv.Until(t, "the receive queue to fill", func() bool {
		var n int
		raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
		if n != last || n == 0 {
			last, same = n, 0
		}
		same++
		return same > 200
	})
}

// TestMoveCloseSource: a copy that waits for its sink does not hold up the end
// of the source: its peer learns of it at once. Then the sink goes on; or it is
// closed as well, and the bytes on the way are gone and keep no waiter waiting.
func TestMoveCloseSource(t *testing.T) {
	for _, p := range testrun.Places {
		for _, both := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", p.Name, both), func(t *testing.T) {
				start(t, 2)
				k, n, err, src, dst, up, down := stuck(t, p)
				src.Close()
				if _, err := up.Read(make([]byte, 1)); err == nil ||
					errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the source's peer: %v", err)
				}
				if both {
					dst.Close()
					k.Wait(t)
				}
				arrived := make(chan int64, 1)
				go func() {
					m, _ := io.Copy(io.Discard, down)
					arrived <- m
				}()
				k.Wait(t)
				dst.Close()
				testenv.Fails(t, *err, net.ErrClosed)
				testenv.Equal(t, testenv.Await(t, arrived, "the end of the sink"), *n)

				src, up = withPeer(t)
				dst, down = withPeer(t)
				through(t, p, up, down, 1<<20, func() {
					io.Copy(dst, src)
					dst.Close()
				})
			})
		}
	}
}

// copier is what connections of both libraries are here.
type copier interface {
	net.Conn
	io.ReaderFrom
	io.WriterTo
	CloseWrite() error
	CloseRead() error
}

var (
	errReader = errors.New("the reader's")
	errWriter = errors.New("the writer's")
)

// failing is a reader and a writer that fails after left bytes.
type failing struct{ left int }

func (f *failing) Read(p []byte) (int, error) {
	n := min(len(p), f.left)
	if f.left -= n; f.left == 0 {
		return n, errReader
	}
	return n, nil
}

func (f *failing) Write(p []byte) (int, error) {
	n := min(len(p), f.left)
	if f.left -= n; n < len(p) {
		return n, errWriter
	}
	return n, nil
}

type shortWriter struct{}

func (shortWriter) Write(p []byte) (int, error) { return len(p) - 1, nil }

// shape is an error without what may differ: the names of system calls, and
// addresses.
func shape(err error) string {
	var s []string
	for err != nil {
		switch e := err.(type) {
		case *net.OpError:
			s = append(s, fmt.Sprintf("%s %s timeout=%v", e.Op, e.Net, e.Timeout()))
		case *os.SyscallError:
		case syscall.Errno:
			s = append(s, unix.ErrnoName(e))
		default:
			s = append(s, err.Error())
		}
		err = errors.Unwrap(err)
	}
	return strings.Join(s, ": ")
}

// untilReset waits until a connection has had its peer's reset.
func untilReset(t *testing.T, c any) {
	t.Helper()
	testenv.Until(t, "the reset", func() (over bool) {
		rawOf(t, c).Control(func(fd uintptr) { over = tcpState(t, int(fd)) == tcpClose })
		return over
	})
}

// moveScene is a copy's two connections, each with its peer.
type moveScene struct {
	dst, src copier
	up, down *net.TCPConn
}

// send has bytes arrive, and the end of the stream.
func (s moveScene) send() {
	s.up.Write(pattern(1000))
	s.up.CloseWrite()
}

// moveEvents are the events on either side before a copy.
var moveEvents = map[string]func(t *testing.T, s moveScene){
	"nothing":       func(_ *testing.T, s moveScene) { s.send() },
	"end at once":   func(_ *testing.T, s moveScene) { s.up.CloseWrite() },
	"source closed": func(_ *testing.T, s moveScene) { s.src.Close() },
	"source shut":   func(_ *testing.T, s moveScene) { s.src.CloseRead() },
	"sink closed":   func(_ *testing.T, s moveScene) { s.send(); s.dst.Close() },
	"sink shut":     func(_ *testing.T, s moveScene) { s.send(); s.dst.CloseWrite() },
	"source reset":  func(_ *testing.T, s moveScene) { s.up.SetLinger(0); s.up.Close() },
	"sink reset": func(t *testing.T, s moveScene) {
		s.send()
		s.down.SetLinger(0)
		s.down.Close()
		untilReset(t, s.dst)
	},
	"source's deadline": func(_ *testing.T, s moveScene) { s.send(); s.src.SetReadDeadline(past) },
	"sink's deadline":   func(_ *testing.T, s moveScene) { s.send(); s.dst.SetWriteDeadline(past) },
	"source's other":    func(_ *testing.T, s moveScene) { s.send(); s.src.SetWriteDeadline(past) },
	"sink's other":      func(_ *testing.T, s moveScene) { s.send(); s.dst.SetReadDeadline(past) },
	"source's deadline soon": func(_ *testing.T, s moveScene) {
		s.src.SetReadDeadline(time.Now().Add(time.Millisecond))
	},
}

// moveSources are read by the sink's ReadFrom, and moveSinks written by the
// source's WriteTo.
var moveSources = map[string]func(s moveScene) io.Reader{
	"empty LimitedReader": func(s moveScene) io.Reader { return &io.LimitedReader{R: s.src} },
	"negative LimitedReader": func(s moveScene) io.Reader {
		return &io.LimitedReader{R: s.src, N: -1}
	},
	"reader": func(moveScene) io.Reader {
		return io.MultiReader(strings.NewReader("hello"))
	},
	"WriterTo":              func(moveScene) io.Reader { return strings.NewReader("hello") },
	"failing reader":        func(moveScene) io.Reader { return &failing{100} },
	"reader to closed sink": func(s moveScene) io.Reader { s.dst.Close(); return &failing{100} },
	"type around the source": func(s moveScene) io.Reader {
		s.send()
		return struct{ io.Reader }{s.src}
	},
}

var moveSinks = map[string]func(s moveScene) io.Writer{
	"failing writer":        func(s moveScene) io.Writer { s.send(); return &failing{100} },
	"short writer":          func(s moveScene) io.Writer { s.send(); return shortWriter{} },
	"buffer":                func(s moveScene) io.Writer { s.send(); return new(bytes.Buffer) },
	"writer, closed source": func(s moveScene) io.Writer { s.src.Close(); return io.Discard },
	"type around the sink": func(s moveScene) io.Writer {
		s.send()
		return struct{ io.Writer }{s.dst}
	},
	"type with the sink": func(s moveScene) io.Writer {
		s.send()
		return struct{ copier }{s.dst}
	},
	"writer, deadline": func(s moveScene) io.Writer {
		s.src.SetReadDeadline(past)
		return &failing{100}
	},
}

// TestMoveLikeNet: results and errors are net's, after every event on either
// side.
func TestMoveLikeNet(t *testing.T) {
	type run = func(t *testing.T, s moveScene) (int64, error)
	all := map[string]run{"types that embed": func(_ *testing.T, s moveScene) (int64, error) {
		s.send()
		return io.Copy(struct{ copier }{s.dst}, struct{ copier }{s.src})
	}}
	for name, source := range moveSources {
		all["from "+name] = func(_ *testing.T, s moveScene) (int64, error) {
			return s.dst.ReadFrom(source(s))
		}
	}
	for name, sink := range moveSinks {
		all["to "+name] = func(_ *testing.T, s moveScene) (int64, error) {
			return s.src.WriteTo(sink(s))
		}
	}
	for name, event := range moveEvents {
		for how, do := range map[string]func(s moveScene) (int64, error){
			"io.Copy":  func(s moveScene) (int64, error) { return io.Copy(s.dst, s.src) },
			"ReadFrom": func(s moveScene) (int64, error) { return s.dst.ReadFrom(s.src) },
			"CopyN":    func(s moveScene) (int64, error) { return io.CopyN(s.dst, s.src, 3) },
		} {
			all[name+"/"+how] = func(t *testing.T, s moveScene) (int64, error) {
				event(t, s)
				return do(s)
			}
		}
	}
	start(t, 2)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		run := all[name]
		inTurnOf(t, i, name, func(t *testing.T, p testrun.Place) {
			src, up := netPair(t)
			dst, down := netPair(t)
			want, wantErr := run(t, moveScene{dst, src, up, down})
			ourSrc, up := withPeer(t)
			ourDst, down := withPeer(t)
			p.Do(t, func() {
				got, err := run(t, moveScene{ourDst, ourSrc, up, down})
				if got != want || shape(err) != shape(wantErr) {
					t.Errorf("%d, %s\n%v\nnet: %d, %s\n%v", got, shape(err), err, want,
						shape(wantErr), wantErr)
				}
			})
		})
	}
}

// TestMoveEmbeds: a type that embeds a connection and has its own Read or Write
// is copied through these.
func TestMoveEmbeds(t *testing.T) {
	start(t, 1)
	src, up := withPeer(t)
	dst, down := withPeer(t)
	up.Write([]byte("hello"))
	up.CloseWrite()
	testrun.First.Do(t, func() {
		testenv.Gives(t, int64(5), nil)(src.WriteTo(louder{dst}))
		testenv.Gives(t, int64(3), nil)(dst.ReadFrom(struct{ io.Reader }{louder{nil}}))
		dst.Close()
	})
	testenv.Gives(t, "HELLO[x]", nil)(testenv.AsText(io.ReadAll(down)))
}

// TestCopyPanics: a reader or a writer that panics in a copy leaves no Buffer
// lent, which would count as in use until the garbage collector found it.
func TestCopyPanics(t *testing.T) {
	start(t, 1)
	c, peer := withPeer(t)
	peer.Write([]byte("hello"))
	testrun.First.Do(t, func() {
		before, _ := processor.Current().BufferBytes()
		for name, do := range map[string]func(){
			"ReadFrom": func() { c.ReadFrom(struct{ io.Reader }{}) },
			"WriteTo":  func() { c.WriteTo(struct{ io.Writer }{}) },
		} {
			testenv.Panics(t, "nil pointer", do)
			after, _ := processor.Current().BufferBytes()
			testenv.Equal(t, after, before, name)
		}
	})
}

type louder struct{ *socket.TCPConn }

func (l louder) Write(p []byte) (int, error) { return l.TCPConn.Write(bytes.ToUpper(p)) }
func (l louder) Read(p []byte) (int, error)  { return copy(p, "[x]"), io.EOF }

// TestPipesBounded: no more than MaxPipes exist, a copy that gets no pipe goes
// without, and pipes that are not needed are closed.
func TestPipesBounded(t *testing.T) {
	start(t, 1)
	noPipes(t) // one that is closed meanwhile makes room for another
	giveBack := socket.TakePipes(2 * socket.MaxPipes)
	if n := socket.OpenPipes(); n > socket.MaxPipes {
		t.Errorf("%d pipes", n)
	}
	var s moveOps
	remove := s.install(t)
	copies(t, 2<<20)
	remove()
	testenv.Equal(t, s.splices()+s.called[sysx.Pipe].Load(), 0, "calls that splice")
	giveBack()
	noPipes(t)
}

// noPipes waits until all pipes are closed.
func noPipes(t *testing.T) {
	t.Helper()
	testenv.Until(t, "the pipes to be closed", func() bool {
		runtime.GC()
		return socket.OpenPipes() == 0
	})
}

// TestPipesComeBackEmpty: a pipe whose copy failed has no bytes of that copy
// for the next one.
func TestPipesComeBackEmpty(t *testing.T) {
	start(t, 1)
	for i := range 10 {
		src, up := withPeer(t)
		dst, down := withPeer(t)
		fed := supply(t, up, 1<<20)
		go io.Copy(io.Discard, down)
		remove := failAfter(t, dst.FD(), 40_000+60_000*i, unix.ECONNRESET, sysx.SpliceOut)
		testrun.First.Do(t, func() {
			io.Copy(dst, src)
			remove()
			io.Copy(dst, src)
			dst.Close()
		})
		testenv.Await(t, fed, "writes")
		copies(t, 1<<20)
	}
}

// fileOf makes a file of the pattern.
func fileOf(t testing.TB, size int) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	testenv.OK(t, os.WriteFile(name, pattern(size), 0o600))
	return testenv.Closing(t, testenv.Must(os.OpenFile(name, os.O_RDWR, 0)))
}

func position(t testing.TB, f *os.File) int64 {
	t.Helper()
	return testenv.Must(f.Seek(0, io.SeekCurrent))
}

const sendfileSize = 3<<20 + 17

// sendfiles are ways to send the bytes from first to last of a file of
// sendfileSize.
var sendfiles = []struct {
	name        string
	first, last int
	send        func(dst net.Conn, f *os.File) (int64, error)
}{
	{"io.Copy", 0, sendfileSize, copyWhole},
	{"ReadFrom", 0, sendfileSize, func(dst net.Conn, f *os.File) (int64, error) {
		return dst.(io.ReaderFrom).ReadFrom(f)
	}},
	{"from within", 100_001, sendfileSize, copyWhole},
	{"at the end", sendfileSize, sendfileSize, copyWhole},
	{"CopyN", 5, 500_005, func(dst net.Conn, f *os.File) (int64, error) {
		return io.CopyN(dst, f, 500_000)
	}},
	{"a LimitedReader that wants more", 5, sendfileSize, copyLimited},
}

// copyLimited asks for 5 bytes more than the file has from offset 5 on.
func copyLimited(dst net.Conn, f *os.File) (int64, error) {
	l := &io.LimitedReader{R: f, N: sendfileSize}
	n, err := io.Copy(dst, l)
	if l.N != 5 {
		err = errors.Join(err, fmt.Errorf("N is %d", l.N))
	}
	return n, err
}

func copyWhole(dst net.Conn, f *os.File) (int64, error) { return io.Copy(dst, f) }

// TestSendfile: files and parts of files, by each way to ask for them; the
// position moves with the bytes sent. The calls of sendfile are counted.
func TestSendfile(t *testing.T) {
	for _, c := range sendfiles {
		inPlacesOf(t, c.name, func(t *testing.T, p testrun.Place) {
			dst, down := withPeer(t)
			f := fileOf(t, sendfileSize)
			f.Seek(int64(c.first), io.SeekStart)
			s := new(script)
			defer s.install(t)()
			drained := swallowFrom(t, down, c.first, c.last)
			p.Do(t, func() {
				n, err := c.send(dst, f)
				testenv.True(t, int(n) == c.last-c.first && err == nil, "%d, %v, want %d", n,
					err, c.last-c.first)
				dst.Close()
			})
			testenv.Await(t, drained, "reads")
			if at := position(t, f); int(at) != c.last {
				t.Errorf("the position is %d, want %d", at, c.last)
			}
			testenv.Equal(t, s.called[sysx.Send].Load(), 0, "not sent by sendfile")
		})
	}
}

// TestSendfileGrows: bytes that are added while the file is sent are sent too,
// and a file that is cut off ends there.
func TestSendfileGrows(t *testing.T) {
	for _, grow := range []bool{true, false} {
		inPlacesOf(t, fmt.Sprint("grows ", grow), func(t *testing.T, p testrun.Place) {
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
			go func() { got <- testenv.Must(io.ReadAll(down)) }()
			p.Do(t, func() {
				n, err := io.Copy(dst, f)
				testenv.Gives(t, want, nil)(int(n), err)
				dst.Close()
			})
			testenv.Equal(t, string(testenv.Await(t, got, "reads")), string(pattern(want)))
		})
	}
}

// TestSendfileOthers: files that are not regular, that the kernel cannot send,
// that are closed or not open for reading.
func TestSendfileOthers(t *testing.T) {
	start(t, 2)
	closed := fileOf(t, 10)
	closed.Close()
	open := func(name string, flag int) *os.File {
		return testenv.Closing(t, testenv.Must(os.OpenFile(name, flag, 0)))
	}
	r, w := pipeOfOS(t)
	w.Write([]byte("hello"))
	w.Close()
	for _, c := range []struct {
		name string
		from *os.File
		fail bool
	}{{"closed", closed, true}, {"write only", open(fileOf(t, 10).Name(), os.O_WRONLY), true},
		{"directory", open(t.TempDir(), os.O_RDONLY), true},
		{"proc", open("/proc/self/status", os.O_RDONLY), false}, {"pipe", r, false}} {
		dst, down := withPeer(t)
		got := make(chan int64, 1)
		go func() {
			n, _ := io.Copy(io.Discard, down)
			got <- n
		}()
		n, err := dst.ReadFrom(c.from)
		dst.Close()
		arrived := testenv.Await(t, got, "reads")
		testenv.True(t, arrived == n && (err != nil) == c.fail && (n > 0) != c.fail,
			"%s: %d, %v; %d arrived", c.name, n, err, arrived)
	}
}

// TestSendfileEmbedded: a type that embeds a file and has its own Read is
// copied through that.
func TestSendfileEmbedded(t *testing.T) {
	start(t, 1)
	dst, down := withPeer(t)
	f := fileOf(t, 1000)
	testrun.First.Do(t, func() {
		testenv.Gives(t, int64(1000), nil)(dst.ReadFrom(struct{ io.Reader }{upside{f}}))
		limited := &io.LimitedReader{R: upside{f}, N: 10}
		testenv.Gives(t, int64(0), nil)(dst.ReadFrom(limited))
		f.Seek(0, io.SeekStart)
		testenv.Gives(t, int64(10), nil)(dst.ReadFrom(limited))
		dst.Close()
	})
	got, _ := io.ReadAll(down)
	for i := range got {
		got[i] ^= 0xff
	}
	testenv.Equal(t, string(got), string(pattern(1000))+string(pattern(10)))
}

type upside struct{ *os.File }

func (u upside) Read(p []byte) (int, error) {
	n, err := u.File.Read(p)
	for i := range p[:n] {
		p[i] ^= 0xff
	}
	return n, err
}
