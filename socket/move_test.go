package socket_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"runtime"
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

// copyStream is io.Copy, which a Unix stream as the sink would not tell us of.
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
	eintr := ops{sysx.Recv: unix.EINTR, sysx.Send: unix.EINTR, sysx.SpliceIn: unix.EINTR, sysx.SpliceOut: unix.EINTR}
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
		{"no room at first", 1 << 20, firsts{sysx.SpliceOut: {unix.EAGAIN}, sysx.Send: {unix.EAGAIN}}, nil, nil},
		{"no splice", 1 << 20, firsts{sysx.SpliceIn: {unix.EINVAL}}, nil, nil},
		{"no pipe", 1 << 20, firsts{sysx.Pipe: repeat(1000, unix.EMFILE)}, nil, nil},
	} {
		for _, nets := range [][2]string{{"tcp", "tcp"}, {"tcp", "unix"}, {"unix", "tcp"}, {"unix", "unix"}} {
			for _, p := range testrun.Places {
				t.Run(fmt.Sprintf("%s/%s to %s/%s", f.name, nets[0], nets[1], p.Name), func(t *testing.T) {
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
					if n, err := io.Copy(c, c); n != int64(size) || err != nil {
						t.Errorf("%d, %v", n, err)
					}
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
			if n, err := dst.ReadFrom(l); n != 0 || err != nil {
				t.Errorf("of nothing: %d, %v", n, err)
			}
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
			if err := unix.Sendto(fd, []byte{byte(i)}, unix.MSG_OOB, nil); err != nil {
				t.Error(err)
			}
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
						if n, err := io.Copy(d[1], d[0]); n != total || err != nil {
							t.Errorf("%d, %v", n, err)
						}
						d[1].CloseWrite()
					}))
				}
				for _, p := range []streamPeer{left, right} {
					done = append(done, supply(t, p, rand.New(rand.NewPCG(5, 5)), total), swallow(t, p, total))
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
		if (op == sysx.Send || op == sysx.SpliceOut) && (int64(fd) == full[0].Load() || int64(fd) == full[1].Load()) {
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
			if !errors.Is(err, coroutine.ErrShutdown) {
				t.Errorf("waiting for the sink: %d, %v", n, err)
			}
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
			io.Copy(dst, other) // unwound, or told, by who of those that are woken comes first
		})
		otherUp.Write(make([]byte, 1000))
		lock.UntilParked(t, coroutine.ReasonLock)
		source := p.Go(func() {
			defer idle.Close()
			if n, err := io.Copy(idle, idle); n != 0 || !errors.Is(err, coroutine.ErrShutdown) {
				t.Errorf("waiting for the source: %d, %v", n, err)
			}
		})
		source.UntilParked(t, coroutine.ReasonRead)
	}
	force(t)
	noneOpen(t)
}
