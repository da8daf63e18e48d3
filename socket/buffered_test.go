package socket_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// buffered runs f in a place with a Buffered of c, which is closed then.
func buffered(p testrun.Place, c socket.Stream, f func(b *socket.Buffered)) *testrun.Task {
	return p.Go(func() {
		b := socket.NewBuffered(c)
		defer b.Close()
		f(b)
	})
}

// holdsNone checks that b has no buffer.
func holdsNone(t *testing.T, b *socket.Buffered) {
	t.Helper()
	r, w := b.Holds()
	testenv.True(t, !r && !w, "holds buffers: %v, %v", r, w)
}

// letters returns n bytes without a newline.
func letters(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = 'a' + byte(i%23)
	}
	return p
}

// TestBufferedGrows: lines and peeks longer than the buffer, up to the limit
// and no further; what is too long stays where it is.
func TestBufferedGrows(t *testing.T) {
	const limit = 100_000
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		k := buffered(p, c, func(b *socket.Buffered) {
			b.SetLimit(limit)
			line := func(want string, err error) {
				t.Helper()
				testenv.Gives(t, want, err)(testenv.AsText(b.ReadLine()))
			}
			line(string(letters(limit-1)), nil)
			testenv.Gives(t, string(letters(limit)), nil)(testenv.AsText(b.Peek(limit)))
			testenv.Fails(t, testenv.Err(b.Peek(limit+1)), bufio.ErrBufferFull)
			testenv.Fails(t, testenv.Err(b.Peek(limit+1)), socket.ErrTooLong)
			line("", socket.ErrTooLong)
			testenv.Equal(t, b.Buffered(), limit)
			testenv.Gives(t, limit+10, nil)(b.Discard(limit + 10))
			line("after", nil)
			line("", io.ErrUnexpectedEOF)
			line("", io.EOF)
		})
		fmt.Fprintf(peer, "%s\n%safter\ncut", letters(limit-1), letters(limit+10))
		peer.Close()
		k.Wait(t)
	})
}

// TestBufferedIdleHoldsNothing: a hundred connections with requests behind them
// wait without a buffer; one with half a request holds that one.
func TestBufferedIdleHoldsNothing(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	start(t, 1)
	var peers []*net.TCPConn
	var all []*socket.Buffered
	var tasks []*testrun.Task
	for range 100 {
		c, peer := withPeer(t)
		peers = append(peers, peer)
		tasks = append(tasks, buffered(testrun.First, c, func(b *socket.Buffered) {
			all = append(all, b)
			answerLines(b)
		}))
		exchange(t, peer, "one\ntwo\n") // in the order of their start
	}
	peers[7].Write([]byte("half"))
	testenv.Until(t, "the half", func() (half bool) {
		testrun.First.Do(t, func() { half = all[7].Buffered() == 4 })
		return half
	})
	for _, k := range tasks {
		k.UntilParked(t, coroutine.ReasonRead)
	}
	testrun.First.Do(t, func() {
		for i, b := range all {
			if r, w := b.Holds(); r != (i == 7) || w {
				t.Errorf("connection %d holds buffers: %v, %v", i, r, w)
			}
		}
	})
	for _, peer := range peers {
		peer.Close()
	}
	testrun.WaitAll(t, tasks...)
}

// answerLines answers each line with itself until the end of the stream. It
// never calls Flush.
func answerLines(b *socket.Buffered) error {
	for {
		line, err := b.ReadLine()
		if err != nil {
			return err
		}
		b.Write(line)
		if err := b.WriteByte('\n'); err != nil {
			return err
		}
	}
}

func expect(t testing.TB, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("the peer read %d bytes of %d, %v: %.100q, want %.100q", n, len(want), err,
			got[:n], want)
	}
}

// TestBufferedOneWritePerBatch: requests that come together are answered
// together, with one system call.
func TestBufferedOneWritePerBatch(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		s := &script{}
		defer s.install(t)()
		server := buffered(p, c, func(b *socket.Buffered) {
			testenv.Fails(t, answerLines(b), io.EOF)
		})
		requests := strings.Repeat("request\r\n", 200)
		for batch := 1; batch <= 5; batch++ {
			server.UntilParked(t, coroutine.ReasonRead)
			peer.Write([]byte(requests))
			expect(t, peer, strings.ReplaceAll(requests, "\r", ""))
			testenv.Equal(t, s.called[sysx.Send].Load(), int64(batch), batch)
		}
		peer.CloseWrite()
		server.Wait(t)
		// The first read finds nothing yet, and the last one finds the end. The
		// kernel may report one event to the goroutine poller twice.
		if n := s.called[sysx.Recv].Load(); n > 5+2+2 {
			t.Errorf("%d reads for 5 batches", n)
		}
	})
}

// reads are the ways to read. Each is satisfied by 20,000 bytes with a newline
// every hundred.
var reads = []struct {
	name string
	read func(b *socket.Buffered) error
}{
	{"Read", func(b *socket.Buffered) error { _, err := b.Read(make([]byte, 10)); return err }},
	{"large Read", func(b *socket.Buffered) error {
		return testenv.Err(b.Read(make([]byte, 100_000)))
	}},
	{"ReadFull", func(b *socket.Buffered) error {
		return testenv.Err(io.ReadFull(b, make([]byte, 18_000)))
	}},
	{"ReadByte", func(b *socket.Buffered) error { _, err := b.ReadByte(); return err }},
	{"Peek", func(b *socket.Buffered) error { _, err := b.Peek(1); return err }},
	{"large Peek", func(b *socket.Buffered) error { _, err := b.Peek(18_000); return err }},
	{"Discard", func(b *socket.Buffered) error { _, err := b.Discard(18_000); return err }},
	{"ReadSlice", func(b *socket.Buffered) error { _, err := b.ReadSlice('\n'); return err }},
	{"ReadLine", func(b *socket.Buffered) error { _, err := b.ReadLine(); return err }},
	{"WaitReadable", func(b *socket.Buffered) error { return b.WaitReadable() }},
	{"WriteTo", func(b *socket.Buffered) error { _, err := b.WriteTo(stopper{}); return err }},
}

var errStop = errors.New("enough")

// stopper is a Writer that wants no more.
type stopper struct{}

func (stopper) Write(p []byte) (int, error) { return len(p), errStop }

// TestBufferedSendsBeforeItWaits: whatever the read, and with a deadline or
// without, what was written has gone when it waits. What SetAutoFlush holds
// back has not.
func TestBufferedSendsBeforeItWaits(t *testing.T) {
	input := bytes.Repeat(append(bytes.Repeat([]byte("x"), 99), '\n'), 200)
	for how, prepare := range map[string]func(b *socket.Buffered){
		"no deadline": func(*socket.Buffered) {},
		"a deadline":  func(b *socket.Buffered) { b.SetDeadline(time.Now().Add(limit)) },
		"manual":      func(b *socket.Buffered) { b.SetAutoFlush(false) },
	} {
		for _, r := range reads {
			inPlacesOf(t, how+"/"+r.name, func(t *testing.T, p testrun.Place) {
				c, peer := withPeer(t)
				s := &script{}
				defer s.install(t)()
				k := buffered(p, c, func(b *socket.Buffered) {
					prepare(b)
					b.WriteString("answer")
					if err := r.read(b); err != nil && err != errStop {
						t.Error(err)
					}
				})
				if how == "manual" {
					k.UntilParked(t, coroutine.ReasonRead)
					testenv.Equal(t, s.called[sysx.Send].Load(), 0)
				} else {
					expect(t, peer, "answer")
				}
				peer.Write(input)
				k.Wait(t)
				if how == "manual" {
					expect(t, peer, "answer") // Close
				}
			})
		}
	}
}

// TestBufferedSendsWithoutData: a read that returns without data has sent what
// was written, too.
func TestBufferedSendsWithoutData(t *testing.T) {
	for _, r := range reads[:9] {
		inPlacesOf(t, r.name, func(t *testing.T, p testrun.Place) {
			c, peer := withPeer(t)
			release := make(chan struct{})
			k := buffered(p, c, func(b *socket.Buffered) {
				b.WriteString("one")
				b.SetReadDeadline(past)
				testenv.Fails(t, r.read(b), os.ErrDeadlineExceeded)
				b.SetReadDeadline(time.Time{})
				testenv.NoError(t, b.WaitReadable())
				b.WriteString("two")
				testenv.Fails(t, r.read(b), io.EOF)
				<-release
			})
			expect(t, peer, "one")
			peer.CloseWrite()
			expect(t, peer, "two")
			close(release)
			k.Wait(t)
		})
	}
}

// TestBufferedSteadyInput: a peer that always has another request gets answers
// before a buffer is full of them.
func TestBufferedSteadyInput(t *testing.T) {
	start(t, 2)
	c, peer := withPeer(t)
	msg := strings.Repeat("x", 100)
	s := &script{limit: map[sysx.Op]int{sysx.Recv: len(msg)}}
	defer s.install(t)()
	peer.Write([]byte(strings.Repeat(msg, 20)))
	buffered(testrun.First, c, func(b *socket.Buffered) {
		for range 19 { // none of which has to wait
			b.Write(testenv.Must(b.Peek(len(msg))))
			b.Discard(len(msg))
		}
		testenv.Equal(t, s.called[sysx.Send].Load(), 2, "sent in 19 reads, once in 8")
	}).Wait(t)
	expect(t, peer, strings.Repeat(msg, 19))
}

// TestBufferedOwed: a reader does not wait for another coroutine's Write, and
// the bytes that this Write leaves in the buffer are sent all the same.
func TestBufferedOwed(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		b := socket.NewBuffered(c)
		msg := string(pattern(8<<20 + 10)) // ten bytes stay in the buffer
		writer := p.Go(func() { testenv.NoError(t, testenv.Err(b.WriteString(msg))) })
		writer.UntilParked(t, coroutine.ReasonWrite)
		reader := p.Go(func() { testenv.Gives(t, byte('x'), nil)(b.ReadByte()) })
		reader.UntilParked(t, coroutine.ReasonRead)
		expect(t, peer, msg)
		peer.Write([]byte("x"))
		reader.Wait(t)
		writer.Wait(t)
		b.Close()
	})
}

// TestBufferedWriters: several write frames of all sizes while the reader keeps
// parking and sending for them. No frame is torn.
func TestBufferedWriters(t *testing.T) {
	t.Run("Write", func(t *testing.T) {
		bufferedWriters(t, 6, func(b *socket.Buffered, head, body []byte, _ *rand.Rand) []byte {
			return append(head, body...)
		})
	})
	t.Run("AvailableBuffer", func(t *testing.T) {
		bufferedWriters(t, 1, func(b *socket.Buffered, head, body []byte, r *rand.Rand) []byte {
			frame := append(b.AvailableBuffer(), head...)
			yieldSome(r)
			return append(frame, body...)
		})
	})
}

// bufferedWriters has so many writers write the frames that frame returns: a
// size, the writer, the frame's number, and so many bytes.
func bufferedWriters(t *testing.T, writers int,
	frame func(b *socket.Buffered, head, body []byte, r *rand.Rand) []byte) {
	const frames = 150
	fill := func(i, seq, size int) []byte {
		return bytes.Repeat([]byte{byte(i*frames + seq)}, size)
	}
	start(t, 2)
	c, peer := withPeer(t)
	b := socket.NewBuffered(c)
	reader := testrun.First.Go(func() { // finds one byte at a time
		for testenv.Err(b.ReadByte()) == nil {
		}
	})
	var tasks []*testrun.Task
	for i := range writers {
		tasks = append(tasks, place(i).Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for seq := range frames {
				size := r.IntN(100) << (r.IntN(5) * 2)
				head := append(binary.BigEndian.AppendUint32(nil, uint32(size)), byte(i), byte(seq))
				testenv.NoError(t, testenv.Err(b.Write(frame(b, head, fill(i, seq, size), r))))
				yieldSome(r)
			}
			testenv.NoError(t, b.Flush())
		}))
	}
	in := bufio.NewReader(peer)
	next := make([]byte, writers)
	for i := range writers * frames {
		if i%3 == 0 {
			peer.Write([]byte("x"))
		}
		var head [6]byte
		testenv.Must(io.ReadFull(in, head[:]))
		body := make([]byte, binary.BigEndian.Uint32(head[:]))
		testenv.Must(io.ReadFull(in, body))
		who, seq := int(head[4]), head[5]
		if seq != next[who] || !bytes.Equal(body, fill(who, int(seq), len(body))) {
			t.Fatalf("frame %d of %d, want %d, is torn", seq, who, next[who])
		}
		next[who]++
	}
	// the reader may have sent a writer's last frame before that one's Flush
	testrun.WaitAll(t, tasks...)
	peer.Close()
	reader.Wait(t)
	b.Close()
}

func yieldSome(r *rand.Rand) {
	for range r.IntN(3) {
		netco.Yield()
	}
}

// TestBufferedLargeWrite: a large piece goes out with what was written before
// it in one system call, without a copy to allocate, and what the socket does
// not take at once follows.
func TestBufferedLargeWrite(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		all := pattern(4 << 20)
		s := &script{}
		defer s.install(t)()
		k := buffered(p, c, func(b *socket.Buffered) {
			b.Write(all[:100])
			testenv.Gives(t, 39_900, nil)(b.Write(all[100:40_000]))
			testenv.Equal(t, s.called[sysx.Send].Load(), 0)
			testenv.Equal(t, s.called[sysx.Sendv].Load(), 1)
			b.Write(all[40_000:40_001])
			testenv.Gives(t, len(all)-40_001, nil)(b.Write(all[40_001:]))
			b.Flush()
		})
		expect(t, peer, string(all))
		k.Wait(t)
	})
}

// TestBufferedWriteError: the read that had to send returns the error, as do
// all later writes; reads go on.
func TestBufferedWriteError(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		sent := make(chan struct{})
		k := buffered(p, c, func(b *socket.Buffered) {
			b.WriteString("lost")
			remove := (&script{first: errnos{sysx.Send: {unix.EPIPE}}}).install(t)
			err := testenv.Err(b.ReadLine())
			failsIn(t, "write", err, unix.EPIPE)
			remove()
			close(sent)
			testenv.Gives(t, "hello", nil, "the next read")(testenv.AsText(b.ReadLine()))
			for what, err2 := range map[string]error{
				"Write":       testenv.Err(b.Write([]byte("x"))),
				"WriteString": testenv.Err(b.WriteString("x")),
				"WriteByte":   b.WriteByte('x'), "Flush": b.Flush(), "CloseWrite": b.CloseWrite(),
			} {
				testenv.Equal(t, err2, err, what)
			}
			testenv.Equal(t, cap(b.AvailableBuffer()), 0, "room")
			_, w := b.Holds()
			testenv.True(t, !w, "holds a buffer")
		})
		testenv.Await(t, sent, "the error")
		peer.Write([]byte("hello\n"))
		k.Wait(t)
		testenv.Gives(t, "", nil)(testenv.AsText(io.ReadAll(peer)))
	})
}

// TestBufferedWriteDeadline: a read that has to send waits for room no longer
// than the write deadline allows.
func TestBufferedWriteDeadline(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, _ := withPeer(t)
		noRoom(t, c)
		buffered(p, c, func(b *socket.Buffered) {
			b.WriteString("answer")
			b.SetWriteDeadline(time.Now().Add(time.Millisecond))
			failsIn(t, "write", testenv.Err(b.ReadByte()), os.ErrDeadlineExceeded)
			b.SetWriteDeadline(time.Time{})
			testenv.Fails(t, b.Flush(), os.ErrDeadlineExceeded, "after that")
		}).Wait(t)
	})
}

// noRoom makes a socket take nothing until the test's end. A socket that is
// really full would take some more later.
func noRoom(t *testing.T, c *socket.TCPConn) {
	between(t, sysx.Send, c.FD(), func(int) (int, syscall.Errno) { return 0, unix.EAGAIN })
}

// TestBufferedClose: Close sends what there is room for, never waits, and says
// if that was not all.
func TestBufferedClose(t *testing.T) {
	inPlacesOf(t, "sends", func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		p.Do(t, func() {
			b := socket.NewBuffered(c)
			b.Write(pattern(10_000))
			testenv.NoError(t, b.Close())
			for _, err := range []error{b.Close(), testenv.Err(b.WriteString("x")), b.Flush(),
				testenv.Err(b.ReadByte())} {
				testenv.Fails(t, err, net.ErrClosed)
			}
			if r, w := b.Holds(); r || w {
				t.Errorf("holds buffers: %v, %v", r, w)
			}
		})
		testenv.Gives(t, string(pattern(10_000)), nil)(testenv.AsText(io.ReadAll(peer)))
	})
	inPlacesOf(t, "no room", func(t *testing.T, p testrun.Place) {
		c, _ := withPeer(t)
		noRoom(t, c)
		p.Do(t, func() {
			b := socket.NewBuffered(c)
			b.Write(pattern(10_000))
			failsIn(t, "close", b.Close(), io.ErrShortWrite)
			holdsNone(t, b)
			testenv.Equal(t, sockinfo.OpenCount(), 0)
		})
	})
	inPlacesOf(t, "ends others", func(t *testing.T, p testrun.Place) {
		c, _ := withPeer(t)
		b := socket.NewBuffered(c)
		reader := p.Go(func() { testenv.Fails(t, testenv.Err(b.ReadByte()), net.ErrClosed) })
		reader.UntilParked(t, coroutine.ReasonRead)
		writer := p.Go(func() { testenv.Fails(t, testenv.Err(b.Write(tooMuch)), net.ErrClosed) })
		writer.UntilParked(t, coroutine.ReasonWrite)
		testenv.NoError(t, b.Close())
		testrun.WaitAll(t, reader, writer)
	})
}

// TestBufferedShutdown: a forced end wakes a reader that waits to send. A
// reader that waits for data is in the tables of waits.
func TestBufferedShutdown(t *testing.T) {
	testrun.Start(t, 2)
	c, _ := withPeer(t)
	noRoom(t, c)
	k := buffered(testrun.First, c, func(b *socket.Buffered) {
		b.WriteString("x")
		testenv.Fails(t, testenv.Err(b.ReadByte()), netco.ErrShutdown)
	})
	k.UntilParked(t, coroutine.ReasonWrite)
	testrun.Force(t)
	k.Wait(t)
	untilOpen(t, 0)
}

// TestBufferedCloseBesideWriter: bytes that a writer has copied into the buffer
// when Close comes are sent by the writer, which returns an error if it could
// not. They were lost.
func TestBufferedCloseBesideWriter(t *testing.T) {
	inPlacesOf(t, "sends", func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		p.Do(t, func() {
			b := socket.NewBuffered(c)
			testenv.Gives(t, 2, nil)(b.WriteString("he"))
			testenv.Gives(t, 3, nil)(b.WriteAround([]byte("llo"), func() {
				testenv.NoError(t, b.Close())
			}))
			testenv.Fails(t, testenv.Err(b.WriteString("x")), net.ErrClosed)
			holdsNone(t, b)
		})
		testenv.Gives(t, "hello", nil)(testenv.AsText(io.ReadAll(peer)))
		testenv.Equal(t, sockinfo.OpenCount(), 0)
	})
	inPlacesOf(t, "no room", func(t *testing.T, p testrun.Place) {
		c, _ := withPeer(t)
		noRoom(t, c)
		p.Do(t, func() {
			b := socket.NewBuffered(c)
			_, err := b.WriteAround([]byte("hello"), func() { testenv.NoError(t, b.Close()) })
			failsIn(t, "write", err, net.ErrClosed)
			holdsNone(t, b)
		})
		testenv.Equal(t, sockinfo.OpenCount(), 0)
	})
}

// TestBufferedCloseBesideReader: a read that sends while Close comes says that
// it could not, also if it has found something to return.
func TestBufferedCloseBesideReader(t *testing.T) {
	for name, feed := range map[string]func(peer *net.TCPConn){
		"bytes": func(peer *net.TCPConn) { peer.Write(make([]byte, 1)) },
		"end":   func(peer *net.TCPConn) { peer.CloseWrite() },
	} {
		inPlacesOf(t, name, func(t *testing.T, p testrun.Place) {
			c, peer := withPeer(t)
			noRoom(t, c)
			b := socket.NewBuffered(c)
			p.Do(t, func() {
				for range 7 { // the eighth read in a row sends
					peer.Write(make([]byte, 1))
					c.WaitReadable() // not b's, which would send
					testenv.NoError(t, testenv.Err(b.ReadByte()))
				}
				b.WriteString("x")
				feed(peer)
				c.WaitReadable()
			})
			k := p.Go(func() { failsIn(t, "write", testenv.Err(b.ReadByte()), net.ErrClosed) })
			k.UntilParked(t, coroutine.ReasonWrite)
			testenv.NoError(t, b.Close())
			k.Wait(t)
		})
	}
}

// TestBufferedCloseHammer: while there is room, whatever a Write has taken
// before Close arrives, however the two meet.
func TestBufferedCloseHammer(t *testing.T) {
	start(t, 2)
	for i := range testenv.Rounds(2000) {
		c, peer := withPeer(t)
		b := socket.NewBuffered(c)
		var taken atomic.Int64
		var tasks []*testrun.Task
		for _, p := range testrun.Places {
			tasks = append(tasks, p.Go(func() {
				for range 100 {
					n, err := b.WriteString("0123456789")
					taken.Add(int64(n))
					if err != nil {
						testenv.Fails(t, err, net.ErrClosed)
						testenv.Equal(t, n, 0)
						return
					}
				}
			}))
		}
		tasks = append(tasks, place(i).Go(func() {
			yieldSome(rand.New(rand.NewPCG(uint64(i), 2)))
			testenv.NoError(t, b.Close())
		}))
		n, err := io.Copy(io.Discard, peer)
		testrun.WaitAll(t, tasks...)
		if err != nil || n != taken.Load() {
			t.Fatalf("round %d: %d bytes have arrived of %d, %v", i, n, taken.Load(), err)
		}
		peer.Close()
	}
}

// FuzzBuffered runs a random program of reads and writes on a Buffered whose
// peer sends random pieces, and the same program on bufio's Reader and Writer.
// Both must read the same, and the peer must get what bufio wrote.
func FuzzBuffered(f *testing.F) {
	f.Add([]byte("one\r\ntwo\n\nthree"), []byte("\x00\x05\x05\x05\x05\x05\x0a\x40\x06\x20\x0b\x00"),
		uint16(3))
	f.Add(bytes.Repeat([]byte("0123456789abcde\n"), 5000),
		[]byte("\x12\xff\x02\x90\x03\xf0\x06\xff\x07\xff\x04\x0a\x01\x00\x0a\xff\x08\x01"),
		uint16(9000))
	f.Add([]byte("*1\r\n$4\r\nPING\r\n"),
		[]byte("\x01\x01\x02\x02\x09\x09\x0b\x01\x05\x00\x05\x00"), uint16(1))
	f.Fuzz(func(t *testing.T, input, program []byte, piece uint16) {
		if len(program) > 200 || len(input) > 200_000 {
			return
		}
		netco.Start(netco.Options{})
		defer netco.Shutdown(context.Background())
		c, peer := withPeer(t)
		sent := testrun.Goroutine.Go(func() {
			for rest := input; len(rest) > 0; {
				n := min(max(1, int(piece), len(input)/50), len(rest))
				if _, err := peer.Write(rest[:n]); err != nil {
					return
				}
				rest = rest[n:]
			}
			peer.CloseWrite()
		})
		var received []byte
		reader := testrun.Goroutine.Go(func() { received, _ = io.ReadAll(peer) })

		b := socket.NewBuffered(c)
		b.SetLimit(1 << 20)
		var wrote bytes.Buffer
		model := bufio.NewReadWriter(bufio.NewReaderSize(bytes.NewReader(input), 1<<20),
			bufio.NewWriter(&wrote))
		for i := 0; i+1 < len(program); i += 2 {
			arg := int(program[i+1])
			got := step(program[i], arg, b, b, b)
			want := step(program[i], arg, model.Reader, model.Writer, nil)
			if got != want {
				t.Fatalf("step %d, %d(%d):\ngot  %s\nwant %s", i/2, program[i]%12, arg, got, want)
			}
		}
		rest, err := io.ReadAll(b)
		want, _ := io.ReadAll(model)
		if err != nil || !bytes.Equal(rest, want) {
			t.Fatalf("%d bytes were left, %v, want %d", len(rest), err, len(want))
		}
		testenv.OK(t, b.Flush())
		holdsNone(t, b)
		b.Close()
		model.Flush()
		testrun.WaitAll(t, sent, reader)
		if !bytes.Equal(received, wrote.Bytes()) {
			t.Errorf("the peer got %d bytes, want %d", len(received), wrote.Len())
		}
	})
}

type lineReader interface {
	io.Reader
	io.ByteReader
	Peek(int) ([]byte, error)
	Discard(int) (int, error)
	ReadSlice(byte) ([]byte, error)
}

type textWriter interface {
	io.Writer
	io.ByteWriter
	io.StringWriter
	AvailableBuffer() []byte
	Flush() error
}

// step does one operation and returns what came of it.
func step(op byte, arg int, r lineReader, w textWriter, b *socket.Buffered) string {
	size := arg * arg // up to 65025
	switch op % 12 {
	case 0, 1:
		p := make([]byte, size)
		n, err := io.ReadFull(r, p)
		return fmt.Sprintf("%q %v", p[:n], err)
	case 2:
		p, err := r.Peek(size)
		return fmt.Sprintf("%q %v", p, err)
	case 3:
		n, err := r.Discard(size)
		return fmt.Sprint(n, err)
	case 4:
		p, err := r.ReadSlice(byte(arg))
		return fmt.Sprintf("%q %v", p, err)
	case 5:
		if b != nil {
			p, err := b.ReadLine()
			return fmt.Sprintf("%q %v", p, err)
		}
		p, err := r.ReadSlice('\n') // bufio's ReadLine takes the rest of the stream for a line
		if err == io.EOF && len(p) > 0 {
			p, err = nil, io.ErrUnexpectedEOF
		}
		p, found := bytes.CutSuffix(p, []byte("\n"))
		if found {
			p = bytes.TrimSuffix(p, []byte("\r"))
		}
		return fmt.Sprintf("%q %v", p, err)
	case 6:
		c, err := r.ReadByte()
		return fmt.Sprint(c, err)
	case 7:
		n, err := w.Write(pattern(size))
		return fmt.Sprint(n, err)
	case 8:
		n, err := w.WriteString(string(pattern(size)))
		return fmt.Sprint(n, err)
	case 9:
		return fmt.Sprint(w.WriteByte(byte(arg)))
	case 10:
		n, err := w.Write(append(w.AvailableBuffer(), pattern(size)...))
		return fmt.Sprint(n, err)
	}
	return fmt.Sprint(w.Flush())
}
