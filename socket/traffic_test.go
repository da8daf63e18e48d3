package socket_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// traffic is one way of moving bytes. move does so in a place, with n of them
// or as many as it likes, and returns how many went in and out.
type traffic struct {
	name  string
	move  moveFunc
	sure  []sysx.Op // which calls it is about
	file  bool      // what blocks does so elsewhere
	whole bool      // a call moves all or loses the rest
	mixed bool      // what writes may be waited for before
}

type moveFunc = func(t *testing.T, p testrun.Place, n int) (in, out int)

// inAndOut runs both sides.
func inAndOut(t *testing.T, p testrun.Place, write, read func()) {
	w, r := p.Go(write), p.Go(read)
	w.Wait(t)
	r.Wait(t)
}

// readN reads so many bytes of the pattern.
func readN(t *testing.T, r io.Reader, n int) {
	got := make([]byte, n)
	m, err := io.ReadFull(r, got)
	if d := differs(got[:m], 0); err != nil || d != "" {
		t.Errorf("%d of %d bytes read: %v %s", m, n, err, d)
	}
}

func writeAll(t *testing.T, w io.Writer, p []byte) {
	if n, err := w.Write(p); err != nil {
		t.Errorf("%d of %d bytes written: %v", n, len(p), err)
	}
}

// streaming writes the pattern to one end of a stream, which write closes for
// writing, and reads it to the end from the other.
func streaming(network string, write func(t *testing.T, c diffEnd, n int)) moveFunc {
	return func(t *testing.T, p testrun.Place, n int) (int, int) {
		c, peer := netcoPair(t, network)
		inAndOut(t, p, func() {
			write(t, c, n)
			testenv.NoError(t, c.CloseWrite())
		}, func() { readsAll(t, peer, n) })
		return n, n
	}
}

func byWrite(t *testing.T, c diffEnd, n int) { writeAll(t, c, pattern(n)) }

// byBuffers writes pieces of up to most bytes, some of them empty, by net's
// Buffers or our own.
func byBuffers(most int, nets bool) func(t *testing.T, c diffEnd, n int) {
	return func(t *testing.T, c diffEnd, n int) {
		v := socket.Buffers(cut(rand.New(rand.NewPCG(9, uint64(most))), n, most))
		write := v.WriteTo
		if nets {
			write = func(io.Writer) (int64, error) { return writeBuffers(c, (*net.Buffers)(&v)) }
		}
		testenv.Gives(t, int64(n), nil)(write(c))
		testenv.Equal(t, len(v), 0, "pieces left")
	}
}

func byFile(t *testing.T, c diffEnd, n int) {
	f := fileOf(t, n)
	testenv.Gives(t, int64(n), nil)(io.Copy(c, f))
	testenv.Equal(t, position(t, f), int64(n))
}

// copying copies from one network's stream to another's, in random pieces.
func copying(from, to string) traffic {
	t := traffic{name: "copy " + from + " to " + to,
		move: func(t *testing.T, p testrun.Place, n int) (int, int) {
			src, up := netcoPair(t, from)
			dst, down := netcoPair(t, to)
			through := p.Go(func() {
				testenv.Gives(t, int64(n), nil)(copyStream(dst, src))
				dst.CloseWrite()
			})
			inAndOut(t, p, func() {
				r := rand.New(rand.NewPCG(1, uint64(n)))
				for all := pattern(n); len(all) > 0; {
					m := min(len(all), 1+r.IntN(1<<r.IntN(19)))
					writeAll(t, up, all[:m])
					all = all[m:]
				}
				up.CloseWrite()
			}, func() { readsAll(t, down, n) })
			through.Wait(t)
			return 2 * n, 2 * n
		}}
	if from == "tcp" {
		t.sure = []sysx.Op{sysx.SpliceIn, sysx.SpliceOut}
	}
	return t
}

// echoing sends lines of all lengths in random pieces, and reads back the
// answers of serve. With little room most writes wait.
func echoing(network string, room int, serve func(b *socket.Buffered) error) moveFunc {
	return func(t *testing.T, p testrun.Place, n int) (int, int) {
		peer, c := netcoPair(t, network)
		c.SetWriteBuffer(room)
		k := buffered(p, c.(socket.Stream), func(b *socket.Buffered) {
			if err := serve(b); err != nil && err != io.EOF {
				t.Error(err)
			}
			testenv.NoError(t, b.Flush())
		})
		r := rand.New(rand.NewPCG(1, uint64(n)))
		var lines bytes.Buffer
		for i := 0; lines.Len() < min(n, 100<<10); i++ {
			fmt.Fprintf(&lines, "%d %s\n", i, bytes.Repeat([]byte{'a' + byte(i%26)},
				r.IntN(100)<<(r.IntN(10)/8*5)))
		}
		want := bytes.Clone(lines.Bytes())
		inAndOut(t, p, func() {
			for lines.Len() > 0 {
				writeAll(t, peer, lines.Next(1+r.IntN(50)<<(r.IntN(3)*4)))
			}
			peer.CloseWrite()
		}, func() {
			got, err := io.ReadAll(peer)
			testenv.True(t, err == nil && bytes.Equal(got, want), "%d bytes came back of %d, %v",
				len(got), len(want), err)
		})
		k.Wait(t)
		return 2 * len(want), 2 * len(want)
	}
}

var traffics = []traffic{
	{name: "tcp", sure: []sysx.Op{sysx.Recv, sysx.Send}, move: streaming("tcp", byWrite)},
	{name: "unix", move: streaming("unix", byWrite)},
	{name: "echo", mixed: true, move: func(t *testing.T, p testrun.Place, n int) (int, int) {
		a, b := pair(t)
		server := p.Go(func() { echo(a) })
		p.Do(t, func() {
			testenv.NoError(t, roundTrip(p, b, n))
			b.Close()
		})
		server.Wait(t)
		return 2 * n, 2 * n
	}},
	{name: "unix fds", whole: true, move: func(t *testing.T, p testrun.Place, _ int) (int, int) {
		a, b := unixPair(t, "unix")
		inAndOut(t, p, func() {
			_, _, err := a.WriteMsgUnix([]byte("fd"), syscall.UnixRights(1), nil)
			testenv.NoError(t, err)
		}, func() {
			oob := make([]byte, 64)
			n, oobn, _, _, err := b.ReadMsgUnix(make([]byte, 64), oob)
			testenv.Gives(t, 2, nil)(n, err)
			msgs, _ := syscall.ParseSocketControlMessage(oob[:oobn])
			for _, m := range msgs {
				fds, _ := syscall.ParseUnixRights(&m)
				for _, fd := range fds {
					unix.Close(fd)
				}
			}
		})
		return 2, 2
	}},
	{name: "packets", whole: true, move: func(t *testing.T, p testrun.Place, _ int) (int, int) {
		a, b := unixPair(t, "unixpacket")
		inAndOut(t, p, func() {
			for i := range 300 {
				writeAll(t, a, pattern(i+1))
			}
			a.Close()
		}, func() {
			buf := make([]byte, 1000)
			for i := range 300 {
				testenv.Gives(t, i+1, nil)(b.Read(buf))
			}
			testenv.Gives(t, 0, io.EOF)(b.Read(buf))
		})
		return 300 * 301 / 2, 300 * 301 / 2
	}},
	{name: "Buffered lines", mixed: true, move: echoing("tcp", 64<<10, answerLines)},
	{name: "Buffered lines, little room", mixed: true, move: echoing("tcp", 1, answerLines)},
	{name: "unix Buffered lines", mixed: true, move: echoing("unix", 64<<10, answerLines)},
	{name: "Buffered copy", mixed: true, move: echoing("tcp", 64<<10,
		func(b *socket.Buffered) error { return testenv.Err(io.Copy(b, b)) })},
	{name: "waits", mixed: true, move: func(t *testing.T, p testrun.Place, _ int) (int, int) {
		const rounds = 300
		a, b := pair(t)
		serve := func(c *socket.TCPConn, first bool) {
			buf := make([]byte, 16)
			for i := range rounds {
				if i > 0 || !first {
					testenv.MustOK(c.WaitReadable())
					testenv.Gives(t, 1, nil)(c.Read(buf))
				}
				writeAll(t, c, buf[:1])
			}
		}
		inAndOut(t, p, func() { serve(a, true) }, func() { serve(b, false) })
		return 2*rounds - 1, 2 * rounds
	}},
	{name: "pieces", sure: []sysx.Op{sysx.Sendv}, move: streaming("tcp", byBuffers(3000, false))},
	{name: "small pieces", sure: []sysx.Op{sysx.Sendv},
		move: streaming("tcp", byBuffers(50, true))},
	{name: "unix large pieces", sure: []sysx.Op{sysx.Sendv},
		move: streaming("unix", byBuffers(1<<19, false))},
	{name: "unix pieces", sure: []sysx.Op{sysx.Sendv},
		move: streaming("unix", byBuffers(300, true))},
	{name: "udp", whole: true, move: func(t *testing.T, p testrun.Place, _ int) (int, int) {
		l, c := udpTo(t)
		buf := make([]byte, 100)
		p.Do(t, func() {
			for i := range 100 { // one at a time: none may be dropped
				writeAll(t, c, pattern(i))
				n, from, err := l.ReadFromUDPAddrPort(buf)
				testenv.Gives(t, i, nil)(n, err)
				testenv.Gives(t, i, nil)(l.WriteToUDPAddrPort(buf[:n], from))
				n, _, _, _, err = c.ReadMsgUDPAddrPort(buf, nil)
				testenv.Gives(t, i, nil)(n, err)
				n, _, err = c.WriteMsgUDP(buf[:i], nil, nil)
				testenv.Gives(t, i, nil)(n, err)
				testenv.Gives(t, i, nil)(l.Read(buf))
			}
		})
		return 3 * 99 * 100 / 2, 3 * 99 * 100 / 2
	}},
	{name: "batches", sure: []sysx.Op{sysx.Recv, sysx.Send},
		move: func(t *testing.T, p testrun.Place, _ int) (n, _ int) {
			to, c := udpTo(t)
			p.Do(t, func() {
				in := room(16, 300, 0)
				for i := range 10 {
					ms := numbered(20*i, 20, netip.AddrPort{})
					testenv.Gives(t, len(ms), nil)(c.WriteBatch(ms))
					for _, m := range ms {
						n += len(m.Buf)
					}
					testenv.NoError(t, receive(to, in, 20*i, len(ms), portOf(c)))
				}
			})
			return n, n
		}},
	{name: "copied", mixed: true, move: func(t *testing.T, p testrun.Place, n int) (int, int) {
		peer, c := pair(t)
		k := p.Go(func() {
			testenv.Gives(t, int64(n), nil)(io.Copy(c, c))
			c.CloseWrite()
		})
		inAndOut(t, p, func() {
			writeAll(t, peer, pattern(n))
			peer.CloseWrite()
		}, func() { readsAll(t, peer, n) })
		k.Wait(t)
		return 2 * n, 2 * n
	}},
	copying("tcp", "tcp"), copying("tcp", "unix"), copying("unix", "tcp"), copying("unix", "unix"),
	{name: "a file sent", sure: []sysx.Op{sysx.Sendfile}, move: streaming("tcp", byFile)},
	{name: "pipe", sure: []sysx.Op{sysx.FileRead, sysx.FileWrite},
		move: func(t *testing.T, p testrun.Place, n int) (int, int) {
			r, w := filePipe(t)
			inAndOut(t, p, func() { writeAll(t, w, pattern(n)) }, func() { readN(t, r, n) })
			return n, n
		}},
	{name: "regular file", file: true, move: func(t *testing.T, p testrun.Place, n int) (int, int) {
		theirs := testenv.Closing(t, testenv.Must(os.Create(filepath.Join(t.TempDir(), "f"))))
		f := testenv.Closing(t, testenv.Must(socket.NewFile(theirs)))
		p.Do(t, func() {
			writeAll(t, f, pattern(n))
			theirs.Seek(0, io.SeekStart)
			readN(t, f, n)
		})
		return n, n
	}},
	{name: "any family", whole: true, move: func(t *testing.T, p testrun.Place, _ int) (int, int) {
		a, b := socketPair(t, unix.SOCK_SEQPACKET)
		p.Do(t, func() {
			testenv.Gives(t, 5, nil)(a.Sendmsg([]byte("hello"), nil, nil, 0))
			buf := make([]byte, 10)
			for _, flags := range []int{unix.MSG_PEEK, 0} {
				n, _, _, _, err := b.Recvmsg(buf, nil, flags)
				testenv.Gives(t, 5, nil)(n, err)
			}
			_, _, _, _, err := b.Recvmsg(buf, nil, unix.MSG_DONTWAIT)
			testenv.Fails(t, err, unix.EAGAIN)
		})
		return 5, 5
	}},
}

type (
	ops    = map[sysx.Op]syscall.Errno
	limits = map[sysx.Op]int
)

// kernelFaults are faults that the kernel may inflict on any traffic, some of
// them rarely.
var kernelFaults = []struct {
	name  string
	size  int // of the traffic
	first errnos
	every ops
	limit limits
}{
	{"none", 1 << 20, nil, nil, nil},
	{"one byte per call", 250, nil, nil, limits{sysx.Recv: 1, sysx.Send: 1, sysx.Sendv: 1,
		sysx.FileRead: 1, sysx.FileWrite: 1}},
	{"short", 96 << 10, nil, nil, limits{sysx.Recv: 777, sysx.Send: 555, sysx.Sendv: 333,
		sysx.SpliceIn: 50_000, sysx.SpliceOut: 7001, sysx.Sendfile: 7001, sysx.FileRead: 3001,
		sysx.FileWrite: 2001}},
	{"short splices", 512 << 10, nil, nil, limits{sysx.SpliceIn: 17_000, sysx.SpliceOut: 1001}},
	{"few datagrams", 1 << 10, nil, nil, limits{sysx.Recv: 3, sysx.Send: 5}},
	{"one event per wait", 64 << 10, nil, ops{sysx.EpollWait: unix.EINTR},
		limits{sysx.EpollWait: 1}},
	{"interrupted", 256 << 10, nil, ops{sysx.Recv: unix.EINTR, sysx.Send: unix.EINTR,
		sysx.Sendv: unix.EINTR, sysx.SpliceIn: unix.EINTR, sysx.SpliceOut: unix.EINTR,
		sysx.Sendfile: unix.EINTR, sysx.FileRead: unix.EINTR, sysx.FileWrite: unix.EINTR,
		sysx.Accept: unix.EINTR, sysx.EpollWait: unix.EINTR}, nil},
	{"no room at first", 256 << 10, errnos{sysx.Send: {unix.EINTR, unix.EAGAIN},
		sysx.Sendv: {unix.EAGAIN}, sysx.SpliceOut: {unix.EAGAIN}, sysx.Sendfile: {unix.EAGAIN}},
		nil, nil},
	{"no splice", 256 << 10, errnos{sysx.SpliceIn: {unix.EINVAL}, sysx.Sendfile: {unix.EINVAL}},
		nil, nil},
	{"no pipe", 256 << 10, errnos{sysx.Pipe: repeat(1000, unix.EMFILE)}, nil, nil},
	{"all at once", 250, nil, ops{sysx.Recv: unix.EINTR, sysx.Send: unix.EINTR,
		sysx.EpollWait: unix.EINTR, sysx.Accept: unix.ECONNABORTED},
		limits{sysx.Recv: 1, sysx.Send: 3, sysx.EpollWait: 1}},
}

// TestTraffic: whatever the kernel does, no way of moving bytes loses, doubles
// or swaps any. Each call and each byte is counted once, in the place that made
// the call. A call that an interrupt repeats counts as one.
func TestTraffic(t *testing.T) {
	start(t, 2)
	for i, f := range kernelFaults {
		for j, c := range traffics {
			// A call that is denied is followed by the edge of registering
			// only.
			if c.whole && f.limit[sysx.Recv] > 0 || c.mixed && f.first[sysx.Send] != nil {
				continue
			}
			inTurnOf(t, i+j, f.name+"/"+c.name, func(t *testing.T, p testrun.Place) {
				before := counted(t)
				s := &script{first: f.first, every: f.every, limit: f.limit}
				remove := s.install(t)
				in, out := c.move(t, p, f.size)
				remove()
				got, sum := before.since(t)
				check(t, sum, s, in, out)
				for _, op := range c.sure {
					testenv.True(t, i > 0 || s.called[op].Load() != 0,
						"no call %d was made, which this is about: %s", op, &s.called)
				}
				at := counts(p)
				if c.file {
					at = counts(testrun.Goroutine)
				}
				for i := range got {
					if n := got[i].Reads + got[i].Writes + got[i].BytesIn + got[i].BytesOut +
						got[i].SavedReads; i != at && n != 0 {
						t.Errorf("%d was to count; %d has counted, too: %+v", at, i, got[i])
					}
				}
			})
		}
	}
}
