package socket_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
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
	name := filepath.Join(t.TempDir(), "s")
	l := testenv.Closing(t, testenv.Must(net.Listen("unix", name)))
	c := testenv.Closing(t, testenv.Must(socket.Dial("unix", name)))
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

// copyStream is io.Copy, which a Unix stream as the sink would not report.
func copyStream(dst, src any) (int64, error) {
	if u, ok := dst.(*socket.UnixConn); ok {
		if _, ok := src.(io.WriterTo); !ok {
			return u.ReadFromStream(src.(io.Reader))
		}
	}
	return io.Copy(dst.(io.Writer), src.(io.Reader))
}

// supply writes the pattern in pieces of random sizes and ends the stream.
func supply(t *testing.T, w streamPeer, r *rand.Rand, total int) (done chan struct{}) {
	done = make(chan struct{})
	all := pattern(total)
	go func() {
		defer close(done)
		for len(all) > 0 {
			n := min(len(all), 1+r.IntN(1<<r.IntN(19)))
			if _, err := w.Write(all[:n]); err != nil {
				t.Errorf("with %d bytes left: %v", len(all), err)
				return
			}
			all = all[n:]
		}
		w.CloseWrite()
	}()
	return done
}

// swallow reads to the end and compares with the pattern.
func swallow(t *testing.T, r io.Reader, total int) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		got, err := io.ReadAll(r)
		if d := differs(got, 0); err != nil || len(got) != total || d != "" {
			t.Errorf("read %d bytes of %d, %v %s", len(got), total, err, d)
		}
	}()
	return done
}

// TestMove copies pieces of random sizes from each kind of stream to each, in
// every place, under faults.
func TestMove(t *testing.T) {
	type (
		firsts = map[sysx.Op][]syscall.Errno
		ops    = map[sysx.Op]syscall.Errno
		limits = map[sysx.Op]int
	)
	eintr := ops{sysx.Recv: unix.EINTR, sysx.Send: unix.EINTR, sysx.SpliceIn: unix.EINTR,
		sysx.SpliceOut: unix.EINTR}
	for _, f := range []struct {
		name  string
		total int
		first firsts
		every ops
		limit limits
	}{
		{"no faults", 3 << 20, nil, nil, nil},
		{"interrupted", 1 << 20, nil, eintr, nil},
		{"short splices", 1 << 20, nil, nil, limits{sysx.SpliceIn: 50_000, sysx.SpliceOut: 7001}},
		{"tiny splices", 128 << 10, nil, nil, limits{sysx.SpliceIn: 17_000, sysx.SpliceOut: 100}},
		{"short everything", 96 << 10, nil, nil, limits{sysx.Recv: 333, sysx.Send: 77}},
		{"no room at first", 1 << 20, firsts{sysx.SpliceOut: {unix.EAGAIN},
			sysx.Send: {unix.EAGAIN}}, nil, nil},
		{"no splice", 1 << 20, firsts{sysx.SpliceIn: {unix.EINVAL}}, nil, nil},
		{"no pipe", 1 << 20, firsts{sysx.Pipe: repeat(1000, unix.EMFILE)}, nil, nil},
	} {
		for _, nets := range [][2]string{{"tcp", "tcp"}, {"tcp", "unix"}, {"unix", "tcp"},
			{"unix", "unix"}} {
			for _, p := range testrun.Places {
				t.Run(fmt.Sprintf("%s/%s to %s/%s", f.name, nets[0], nets[1], p.Name),
					func(t *testing.T) {
						start(t, 2)
						src, up := withPeerOf(t, nets[0])
						dst, down := withPeerOf(t, nets[1])
						s := &script{first: f.first, every: f.every, limit: f.limit}
						remove := s.install(t)
						defer remove()
						fed := supply(t, up, rand.New(rand.NewPCG(1, uint64(f.total))), f.total)
						drained := swallow(t, down, f.total)
						p.Do(t, func() {
							n, err := copyStream(dst, src)
							if n != int64(f.total) || err != nil {
								t.Errorf("%d, %v, want %d", n, err, f.total)
							}
							dst.Close()
						})
						testenv.Await(t, fed, "the peer to write")
						testenv.Await(t, drained, "the peer to read")
					})
			}
		}
	}
}

// moveOps counts the calls that move data.
type moveOps struct{ script }

func (s *moveOps) splices() int64 { return s.called[sysx.SpliceIn].Load() }

// TestMoveAdapts: bulk is spliced, messages are not, and a copy can go from one
// to the other and back. What waits holds no pipe: many copies that have had
// bulk and are idle share a few.
func TestMoveAdapts(t *testing.T) {
	start(t, 1)
	var s moveOps
	defer s.install(t)()
	message := func(up, down streamPeer, size int) {
		t.Helper()
		testenv.Must(up.Write(pattern(size)))
		got := make([]byte, size)
		if _, err := io.ReadFull(down, got); err != nil || differs(got, 0) != "" {
			t.Fatal(err, differs(got, 0))
		}
	}
	before := socket.OpenPipes()
	var ends []streamPeer
	for range 20 {
		src, up := withPeer(t)
		dst, down := withPeer(t)
		k := testrun.First.Go(func() { io.Copy(dst, src) })
		for range 20 {
			message(up, down, 1000)
		}
		was := s.splices()
		message(up, down, 1<<20)
		bulk := s.splices()
		if bulk == was {
			t.Fatal("a megabyte was not spliced")
		}
		for range 20 {
			message(up, down, 1000)
		}
		was = s.splices()
		for range 20 {
			message(up, down, 1000)
		}
		if n := s.splices() - was; n != 0 {
			t.Errorf("%d splices for messages", n)
		}
		message(up, down, 1<<20)
		k.UntilParked(t, coroutine.ReasonRead)
		ends = append(ends, up)
	}
	if s.called[sysx.SpliceIn].Load() == 0 {
		t.Error("nothing was spliced")
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
	buf := make([]byte, 1000)
	for range 100 {
		peer.Write(buf)
		testenv.Must(io.ReadFull(peer, buf))
	}
	peer.CloseWrite()
	k.Wait(t)
	if n := s.called[sysx.SpliceIn].Load() + s.called[sysx.Pipe].Load(); n != 0 {
		t.Errorf("%d calls that splice", n)
	}
}

// TestMoveEchoItself: io.Copy of a connection to itself echoes, messages and
// bulk, and returns at the end.
func TestMoveEchoItself(t *testing.T) {
	for _, p := range testrun.Places {
		for _, size := range []int{1, 5000, 3 << 20} {
			t.Run(fmt.Sprintf("%s/%d", p.Name, size), func(t *testing.T) {
				start(t, 2)
				c, peer := withPeer(t)
				k := p.Go(func() {
					testenv.Gives(t, int64(size), nil)(io.Copy(c, c))
					c.CloseWrite()
				})
				fed := supply(t, peer, rand.New(rand.NewPCG(2, 2)), size)
				drained := swallow(t, peer, size)
				testenv.Await(t, fed, "writes")
				testenv.Await(t, drained, "reads")
				k.Wait(t)
			})
		}
	}
}

// TestMoveLimited: a LimitedReader's N goes down by what was moved, the rest
// stays in the source, and the next copy goes on there.
func TestMoveLimited(t *testing.T) {
	const total = 3 << 20
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		src, up := withPeer(t)
		dst, down := withPeer(t)
		fed := supply(t, up, rand.New(rand.NewPCG(3, 3)), total)
		drained := swallow(t, down, total)
		p.Do(t, func() {
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
			if n, err := dst.ReadFrom(l); n != 0 || err != nil || l.N != 5 {
				t.Errorf("at the end: %d, %v, N %d", n, err, l.N)
			}
			l.N = 0
			testenv.Gives(t, int64(0), nil, "of nothing")(dst.ReadFrom(l))
			dst.Close()
		})
		testenv.Await(t, fed, "writes")
		testenv.Await(t, drained, "reads")
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
	arrives := func(p []byte) {
		got := make([]byte, len(p))
		if _, err := io.ReadFull(down, got); err != nil || !bytes.Equal(got, p) {
			t.Fatal(err)
		}
	}
	piece := pattern(300 << 10)
	for i := range 20 {
		// from behind the last mark: a mark that a new one overtakes becomes
		// plain data
		send(piece[:1000])
		arrives(piece[:1000])
		done := make(chan struct{})
		go func() {
			defer close(done)
			send(piece[1000:])
			testenv.NoError(t, unix.Sendto(fd, []byte{byte(i)}, unix.MSG_OOB, nil))
		}()
		arrives(piece[1000:])
		testenv.Await(t, done, "writes")
	}
	unix.Shutdown(fd, unix.SHUT_WR)
	k.Wait(t)
	if s.splices() == 0 {
		t.Error("nothing was spliced")
	}
}

// TestMoveNoAllocation: messages through a copy, bulk through a copy, and
// starting one, allocate nothing.
func TestMoveNoAllocation(t *testing.T) {
	testenv.NoRace(t)
	start(t, 1)
	c, peer := withPeer(t)
	k := testrun.First.Go(func() {
		for {
			if n, err := io.CopyN(c, c, 5000); n == 0 || err != nil {
				return
			}
		}
	})
	buf := make([]byte, 64<<10)
	for i := range buf {
		buf[i] = byte(i)
	}
	trip := func() {
		testenv.Must(peer.Write(buf[:1000]))
		testenv.Must(io.ReadFull(peer, buf[:1000]))
	}
	// CopyN itself allocates its LimitedReader, every fifth message.
	if n := testing.AllocsPerRun(2000, trip); n >= 1 {
		t.Errorf("%v allocations for a message", n)
	}
	peer.Close()
	k.Wait(t)
}

// TestMoveConcurrent: both ways at once between two connections, by coroutines
// of the same Processor, of two, and by goroutines.
func TestMoveConcurrent(t *testing.T) {
	const total = 4 << 20
	for _, there := range testrun.Places {
		for _, back := range testrun.Places {
			t.Run(there.Name+", "+back.Name, func(t *testing.T) {
				start(t, 2)
				a, left := withPeer(t)
				b, right := withPeer(t)
				var tasks []*testrun.Task
				var done []chan struct{}
				for i, d := range [][2]*socket.TCPConn{{a, b}, {b, a}} {
					tasks = append(tasks, []testrun.Place{there, back}[i].Go(func() {
						testenv.Gives(t, int64(total), nil)(io.Copy(d[1], d[0]))
						d[1].CloseWrite()
					}))
				}
				for _, p := range []streamPeer{left, right} {
					done = append(done, supply(t, p, rand.New(rand.NewPCG(5, 5)), total),
						swallow(t, p, total))
				}
				testrun.WaitAll(t, tasks...)
				for _, d := range done {
					testenv.Await(t, d, "the peers")
				}
			})
		}
	}
}

// TestMoveShutdown: the end by force ends copies wherever they wait, for the
// source, for the sink, for a lock, and they leave nothing behind: noneOpen and
// TestMain look.
func TestMoveShutdown(t *testing.T) {
	startAlone(t, 2)
	// the sinks' fds. That they take nothing is made up: the kernel takes some
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
			n, err := io.Copy(dst, src)
			testenv.Fails(t, err, coroutine.ErrShutdown, "waiting for the sink", n)
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
		source := p.Go(func() {
			defer idle.Close()
			testenv.Gives(t, int64(0), coroutine.ErrShutdown, "waiting for the source")(
				io.Copy(idle, idle))
		})
		source.UntilParked(t, coroutine.ReasonRead)
	}
	force(t)
	noneOpen(t)
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

// TestMovePutBack: the sink fails, by messages and by bulk. n says what
// reached it, and the source goes on right behind that, for whoever reads it:
// Read, WaitReadable, a copy to a stream, a copy to anything.
func TestMovePutBack(t *testing.T) {
	const total = 1 << 20
	for _, p := range testrun.Places {
		for _, nets := range []string{"tcp", "unix"} {
			for i, after := range []int{0, 1, 5000, 100_000, 262_145, 700_001} {
				t.Run(fmt.Sprintf("%s/%s/%d", p.Name, nets, after), func(t *testing.T) {
					start(t, 2)
					src, up := withPeerOf(t, nets)
					dst, down := withPeer(t)
					next, nextDown := withPeer(t)
					fed := supply(t, up, rand.New(rand.NewPCG(6, uint64(i))), total)
					arrived := make(chan []byte, 1)
					go func() {
						got, _ := io.ReadAll(down)
						arrived <- got
					}()
					var rest bytes.Buffer
					remove := failAfter(t, dst.FD(), after, unix.EPIPE, sysx.Send, sysx.SpliceOut)
					var n int64
					var err error
					p.Do(t, func() {
						n, err = copyStream(dst, src)
						dst.Close()
					})
					remove()
					if !errors.Is(err, unix.EPIPE) || n > int64(after) {
						t.Errorf("%d, %v", n, err)
					}
					got := testenv.Await(t, arrived, "what was sent")
					if int64(len(got)) != n || differs(got, 0) != "" {
						t.Errorf("%d bytes reached the sink, n is %d %s", len(got), n,
							differs(got, 0))
					}
					after := swallowFrom(t, nextDown, int(n)+10, total)
					p.Do(t, func() {
						testenv.NoError(t, src.(socket.Stream).WaitReadable())
						b := make([]byte, 10)
						testenv.NoError(t, testenv.Err(io.ReadFull(src, b)))
						rest.Write(b)
						if i%2 == 0 {
							b, err := io.ReadAll(struct{ io.Reader }{src})
							if err != nil || differs(b, int(n)+10) != "" ||
								len(b) != total-int(n)-10 {
								t.Errorf("read %d, %v %s", len(b), err, differs(b, int(n)+10))
							}
							next.Write(b)
						} else if m, err := copyStream(next, src); m != total-n-10 || err != nil {
							t.Errorf("copied %d, %v, want %d", m, err, total-n-10)
						}
						next.Close()
					})
					testenv.Equal(t, differs(rest.Bytes(), int(n)), "")
					testenv.Await(t, fed, "writes")
					testenv.Await(t, after, "reads")
				})
			}
		}
	}
}

// TestMovePutBackAlone: when nothing else is there to read, no edge reports
// what was put back, and still every way to read finds it.
func TestMovePutBackAlone(t *testing.T) {
	for _, p := range testrun.Places {
		for name, read := range map[string]func(c *socket.TCPConn, b []byte) (int, error){
			"Read": func(c *socket.TCPConn, b []byte) (int, error) { return c.Read(b) },
			"WaitReadable": func(c *socket.TCPConn, b []byte) (int, error) {
				return 0, c.WaitReadable()
			},
			"WriteTo": func(c *socket.TCPConn, b []byte) (int, error) {
				w := bytes.NewBuffer(b[:0])
				n, err := c.WriteTo(struct{ io.Writer }{w})
				return int(n), err
			},
		} {
			t.Run(p.Name+"/"+name, func(t *testing.T) {
				start(t, 2)
				src, up := withPeer(t)
				dst, _ := withPeer(t)
				k := p.Go(func() {
					remove := failAfter(t, dst.FD(), 2, unix.EPIPE, sysx.Send)
					n, err := io.Copy(dst, src)
					remove()
					if n != 2 || !errors.Is(err, unix.EPIPE) {
						t.Errorf("%d, %v", n, err)
					}
					src.SetReadDeadline(time.Now().Add(limit / 2))
					if name == "WriteTo" {
						up.CloseWrite()
					}
					b := make([]byte, 10)
					m, err := read(src, b)
					if err != nil || m != 0 && string(b[:m]) != "llo" {
						t.Errorf("%q, %v", b[:m], err)
					}
					if m > 0 {
						return
					}
					if m, err = src.Read(b); string(b[:m]) != "llo" || err != nil {
						t.Errorf("%q, %v", b[:m], err)
					}
				})
				k.UntilParked(t, coroutine.ReasonRead)
				up.Write([]byte("hello"))
				k.Wait(t)
			})
		}
	}
}

// swallowFrom is swallow for a stream that begins within the pattern.
func swallowFrom(t *testing.T, r io.Reader, first, total int) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		got, err := io.ReadAll(r)
		if d := differs(got, first); err != nil || len(got) != total-first || d != "" {
			t.Errorf("read %d bytes of %d, %v %s", len(got), total-first, err, d)
		}
	}()
	return done
}

// TestMoveResumes: copies that are ended again and again by deadlines of either
// side, each continued by another, lose nothing.
func TestMoveResumes(t *testing.T) {
	const total = 4 << 20
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		src, up := withPeer(t)
		dst, down := unixWithPeer(t)
		dst.SetWriteBuffer(64 << 10)
		fed := supply(t, up, rand.New(rand.NewPCG(7, 7)), total)
		drained := swallow(t, &slowly{Reader: down}, total)
		p.Do(t, func() {
			r := rand.New(rand.NewPCG(8, 8))
			var sum int64
			ended := 0
			for {
				src.SetReadDeadline(time.Now().Add(time.Duration(r.IntN(2_000_000))))
				dst.SetWriteDeadline(time.Now().Add(time.Duration(r.IntN(2_000_000))))
				n, err := io.Copy(dst, src)
				sum += n
				if err == nil {
					break
				}
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error(err)
					break
				}
				ended++
			}
			testenv.Equal(t, sum, total, "copied")
			if ended == 0 {
				t.Error("no deadline has ended a copy")
			}
			dst.Close()
		})
		testenv.Await(t, fed, "writes")
		testenv.Await(t, drained, "reads")
	})
}

// slowly is a reader that lets others run.
type slowly struct {
	io.Reader
	n int
}

func (s *slowly) Read(p []byte) (int, error) {
	if s.n++; s.n%64 == 0 {
		yield()
	}
	return s.Reader.Read(p[:min(len(p), 3000)])
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
// of the source: its peer learns of it at once. Then the sink goes on, or is
// closed as well; then what was on the way is gone, and in no waiter's way.
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
				fed := supply(t, up, rand.New(rand.NewPCG(16, 16)), 1<<20)
				drained := swallow(t, down, 1<<20)
				p.Do(t, func() {
					io.Copy(dst, src)
					dst.Close()
				})
				testenv.Await(t, fed, "writes")
				testenv.Await(t, drained, "reads")
			})
		}
	}
}

// TestMoveCloseSink: closing the sink ends the copy, and n is what its peer
// gets.
func TestMoveCloseSink(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		k, n, err, src, dst, up, down := stuck(t, p)
		dst.Close()
		k.Wait(t)
		testenv.Fails(t, *err, net.ErrClosed)
		got, rerr := io.ReadAll(down)
		if rerr != nil || int64(len(got)) != *n || differs(got, 0) != "" {
			t.Errorf("%d bytes arrived, %v, n is %d %s", len(got), rerr, *n, differs(got, 0))
		}
		p.Do(t, func() {
			b := make([]byte, 400_000)
			if _, err := io.ReadFull(src, b); err != nil || differs(b, int(*n)) != "" {
				t.Errorf("the source goes on with %v %s", err, differs(b, int(*n)))
			}
		})
		up.Close()
	})
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

// TestMoveLikeNet: results and errors are net's, for all that can happen to
// either side.
func TestMoveLikeNet(t *testing.T) {
	past := time.Unix(1, 0)
	data := []byte("hello")
	type scene struct {
		dst, src copier
		up, down *net.TCPConn
	}
	send := func(s scene, size int) {
		s.up.Write(pattern(size))
		s.up.CloseWrite()
	}
	copies := map[string]func(s scene) (int64, error){
		"io.Copy":  func(s scene) (int64, error) { return io.Copy(s.dst, s.src) },
		"ReadFrom": func(s scene) (int64, error) { return s.dst.ReadFrom(s.src) },
		"CopyN":    func(s scene) (int64, error) { return io.CopyN(s.dst, s.src, 3) },
	}
	events := map[string]func(s scene){
		"nothing":       func(s scene) { send(s, 1000) },
		"end at once":   func(s scene) { s.up.CloseWrite() },
		"source closed": func(s scene) { s.src.Close() },
		"source shut":   func(s scene) { s.src.CloseRead() },
		"sink closed":   func(s scene) { send(s, 1000); s.dst.Close() },
		"sink shut":     func(s scene) { send(s, 1000); s.dst.CloseWrite() },
		"source reset":  func(s scene) { s.up.SetLinger(0); s.up.Close() },
		"sink reset": func(s scene) {
			send(s, 1000)
			s.down.SetLinger(0)
			s.down.Close()
			untilReset(t, s.dst)
		},
		"source's deadline": func(s scene) { send(s, 1000); s.src.SetReadDeadline(past) },
		"sink's deadline":   func(s scene) { send(s, 1000); s.dst.SetWriteDeadline(past) },
		"source's other":    func(s scene) { send(s, 1000); s.src.SetWriteDeadline(past) },
		"sink's other":      func(s scene) { send(s, 1000); s.dst.SetReadDeadline(past) },
		"source's deadline soon": func(s scene) {
			s.src.SetReadDeadline(time.Now().Add(time.Millisecond))
		},
	}
	others := map[string]func(s scene) (int64, error){
		"from an empty LimitedReader": func(s scene) (int64, error) {
			return s.dst.ReadFrom(&io.LimitedReader{R: s.src})
		},
		"from a negative LimitedReader": func(s scene) (int64, error) {
			return s.dst.ReadFrom(&io.LimitedReader{R: s.src, N: -1})
		},
		"from a reader": func(s scene) (int64, error) {
			return s.dst.ReadFrom(io.MultiReader(bytes.NewReader(data)))
		},
		"from a WriterTo": func(s scene) (int64, error) {
			return s.dst.ReadFrom(bytes.NewReader(data))
		},
		"from a failing reader": func(s scene) (int64, error) {
			return s.dst.ReadFrom(&failing{100})
		},
		"from a reader to a closed sink": func(s scene) (int64, error) {
			s.dst.Close()
			return s.dst.ReadFrom(&failing{100})
		},
		"to a failing writer": func(s scene) (int64, error) {
			send(s, 1000)
			return s.src.WriteTo(&failing{100})
		},
		"to a short writer": func(s scene) (int64, error) {
			send(s, 1000)
			return s.src.WriteTo(shortWriter{})
		},
		"to a buffer": func(s scene) (int64, error) {
			send(s, 1000)
			return s.src.WriteTo(new(bytes.Buffer))
		},
		"to a writer from a closed one": func(s scene) (int64, error) {
			s.src.Close()
			return s.src.WriteTo(io.Discard)
		},
		"to a writer, deadline": func(s scene) (int64, error) {
			s.src.SetReadDeadline(past)
			return s.src.WriteTo(&failing{100})
		},
		"from a type around the source": func(s scene) (int64, error) {
			send(s, 1000)
			return s.dst.ReadFrom(struct{ io.Reader }{s.src})
		},
		"to a type around the sink": func(s scene) (int64, error) {
			send(s, 1000)
			return s.src.WriteTo(struct{ io.Writer }{s.dst})
		},
		"to a type that embeds the sink": func(s scene) (int64, error) {
			send(s, 1000)
			return s.src.WriteTo(struct{ copier }{s.dst})
		},
		"between types that embed": func(s scene) (int64, error) {
			send(s, 1000)
			return io.Copy(struct{ copier }{s.dst}, struct{ copier }{s.src})
		},
	}
	for en, event := range events {
		for cn, do := range copies {
			others[en+"/"+cn] = func(s scene) (int64, error) {
				event(s)
				return do(s)
			}
		}
	}
	for name, run := range others {
		for _, p := range testrun.Places {
			t.Run(name+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				var want, got scene
				src, up := netPair(t)
				dst, down := netPair(t)
				want = scene{dst, src, up, down}
				wantN, wantErr := run(want)

				src2, up2 := withPeer(t)
				dst2, down2 := withPeer(t)
				got = scene{dst2, src2, up2, down2}
				var gotN int64
				var gotErr error
				p.Go(func() { gotN, gotErr = run(got) }).Wait(t)
				if gotN != wantN || shape(gotErr) != shape(wantErr) {
					t.Errorf("%d, %s\n%v\nnet: %d, %s\n%v", gotN, shape(gotErr), gotErr, wantN,
						shape(wantErr), wantErr)
				}
			})
		}
	}
}

// TestMoveEmbeds: types that embed a connection and read or write in their own
// way are not gone round.
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
	if got, _ := io.ReadAll(down); string(got) != "HELLO[x]" {
		t.Errorf("%q", got)
	}
}

type louder struct{ *socket.TCPConn }

func (l louder) Write(p []byte) (int, error) { return l.TCPConn.Write(bytes.ToUpper(p)) }
func (l louder) Read(p []byte) (int, error)  { return copy(p, "[x]"), io.EOF }

// TestPipesBounded: no more than MaxPipes exist, who gets none copies without,
// and those that are not needed are closed.
func TestPipesBounded(t *testing.T) {
	start(t, 1)
	noPipes(t) // one that is closed meanwhile makes room for another
	giveBack := socket.TakePipes(2 * socket.MaxPipes)
	if n := socket.OpenPipes(); n > socket.MaxPipes {
		t.Errorf("%d pipes", n)
	}
	src, up := withPeer(t)
	dst, down := withPeer(t)
	var s script
	remove := s.install(t)
	const total = 2 << 20
	fed := supply(t, up, rand.New(rand.NewPCG(12, 12)), total)
	drained := swallow(t, down, total)
	testrun.First.Do(t, func() {
		testenv.Gives(t, int64(total), nil)(io.Copy(dst, src))
		dst.Close()
	})
	testenv.Await(t, fed, "writes")
	testenv.Await(t, drained, "reads")
	remove()
	if n := s.called[sysx.SpliceIn].Load() + s.called[sysx.Pipe].Load(); n != 0 {
		t.Errorf("%d calls that splice", n)
	}
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

// TestPipesComeBackEmpty: a pipe that was in use when its copy failed has
// nothing of it for the next.
func TestPipesComeBackEmpty(t *testing.T) {
	start(t, 1)
	const total = 1 << 20
	for i := range 30 {
		src, up := withPeer(t)
		dst, down := withPeer(t)
		fed := supply(t, up, rand.New(rand.NewPCG(13, uint64(i))), total)
		go io.Copy(io.Discard, down)
		remove := failAfter(t, dst.FD(), 40_000+20_000*i, unix.ECONNRESET, sysx.SpliceOut)
		testrun.First.Do(t, func() {
			io.Copy(dst, src)
			remove()
			io.Copy(dst, src)
			dst.Close()
		})
		testenv.Await(t, fed, "writes")

		src, up = withPeer(t)
		dst, down = withPeer(t)
		fed = supply(t, up, rand.New(rand.NewPCG(14, uint64(i))), total)
		drained := swallow(t, down, total)
		testrun.First.Do(t, func() {
			io.Copy(dst, src)
			dst.Close()
		})
		testenv.Await(t, fed, "writes")
		testenv.Await(t, drained, "reads")
	}
}

// TestPipeFaults: whatever keeps a pipe from being made, a copy does without,
// and leaves no fd.
func TestPipeFaults(t *testing.T) {
	start(t, 1)
	noPipes(t)
	for _, errno := range []syscall.Errno{unix.EMFILE, unix.ENFILE, unix.ENOMEM} {
		src, up := withPeer(t)
		dst, down := withPeer(t)
		remove := (&script{first: errnos{sysx.Pipe: repeat(1000, errno)}}).install(t)
		const total = 3 << 20
		fed := supply(t, up, rand.New(rand.NewPCG(15, 15)), total)
		drained := swallow(t, down, total)
		testrun.First.Do(t, func() {
			testenv.Gives(t, int64(total), nil)(io.Copy(dst, src))
			dst.Close()
		})
		testenv.Await(t, fed, "writes")
		testenv.Await(t, drained, "reads")
		remove()
		testenv.Equal(t, socket.OpenPipes(), 0, errno)
	}
}
