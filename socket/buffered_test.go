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
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestBufferedUnderFaults: lines of all lengths come back whole and in order
// whatever the kernel does, and a copy to itself is an echo.
func TestBufferedUnderFaults(t *testing.T) {
	serve := map[string]func(b *socket.Buffered) error{
		"lines": answerLines,
		"copy":  func(b *socket.Buffered) error { _, err := io.Copy(b, b); return err },
	}
	const littleRoom = "little room" // so that most writes meet EAGAIN
	for _, c := range []struct {
		name  string
		lines int
		every map[sysx.Op]syscall.Errno
		limit map[sysx.Op]int
	}{
		{"none", 1000, nil, nil},
		{"one byte per call", 60, nil, map[sysx.Op]int{sysx.Recv: 1, sysx.Send: 1}},
		{"short", 300, nil, map[sysx.Op]int{sysx.Recv: 777, sysx.Send: 555, sysx.Sendv: 333}},
		{"interrupted", 300, map[sysx.Op]syscall.Errno{sysx.Recv: unix.EINTR,
			sysx.Send: unix.EINTR}, nil},
		{littleRoom, 200, map[sysx.Op]syscall.Errno{sysx.EpollWait: unix.EINTR},
			map[sysx.Op]int{sysx.EpollWait: 1}},
	} {
		for how, serve := range serve {
			for _, p := range testrun.Places {
				t.Run(c.name+"/"+how+"/"+p.Name, func(t *testing.T) {
					start(t, 2)
					conn, peer := withPeer(t)
					if c.name == littleRoom {
						conn.SetWriteBuffer(1) // the least there is
					}
					defer (&script{every: c.every, limit: c.limit}).install(t)()
					k := p.Go(func() {
						b := socket.NewBuffered(conn)
						defer b.Close()
						if err := serve(b); err != nil && err != io.EOF {
							t.Error(err)
						}
						testenv.NoError(t, b.Flush())
					})
					r := rand.New(rand.NewPCG(1, uint64(c.lines)))
					var input bytes.Buffer
					for i := range c.lines {
						fmt.Fprintf(&input, "%d %s\n", i, bytes.Repeat([]byte{'a' + byte(i%26)},
							r.IntN(100)<<(r.IntN(10)/8*5)))
					}
					want := bytes.Clone(input.Bytes())
					go func() { // in random pieces
						for input.Len() > 0 {
							peer.Write(input.Next(1 + r.IntN(50)<<(r.IntN(3)*4)))
						}
						peer.CloseWrite()
					}()
					got, err := io.ReadAll(peer)
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("%d bytes came back of %d, %v", len(got), len(want), err)
					}
					k.Wait(t)
				})
			}
		}
	}
}

// TestBufferedFalseAlarms: reads that find nothing although they heard that
// there is something. Each goes back to waiting, without a buffer.
func TestBufferedFalseAlarms(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		s := &script{first: errnos{sysx.Recv: repeat(5, unix.EAGAIN)}}
		defer s.install(t)()
		const count = 50
		var got atomic.Int64
		k := p.Go(func() {
			b := socket.NewBuffered(c)
			defer b.Close()
			for i := range count {
				if c, err := b.ReadByte(); err != nil || c != byte(i) {
					t.Errorf("byte %d: %d, %v", i, c, err)
					return
				}
				b.WriteByte(byte(i))
				got.Add(1)
			}
		})
		k.UntilParked(t, coroutine.ReasonRead)
		for i := range count { // a byte that is denied is found with the next
			tried := s.called[sysx.Recv].Load()
			peer.Write([]byte{byte(i)})
			testenv.Until(t, "a read", func() bool {
				return s.called[sysx.Recv].Load() > tried || got.Load() > int64(i)
			})
		}
		k.Wait(t)
		for i := range count {
			expect(t, peer, string([]byte{byte(i)}))
		}
	})
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
		k := p.Go(func() {
			b := socket.NewBuffered(c)
			defer b.Close()
			b.SetLimit(limit)
			line, err := b.ReadLine()
			if err != nil || len(line) != limit-1 || !bytes.Equal(line, letters(limit-1)) {
				t.Errorf("a line of the limit: %d, %v", len(line), err)
			}
			head, err := b.Peek(limit)
			if err != nil || len(head) != limit || !bytes.Equal(head, letters(limit)) {
				t.Errorf("a peek of the limit: %d, %v", len(head), err)
			}
			if _, err := b.Peek(limit + 1); err != socket.ErrTooLong ||
				!errors.Is(err, bufio.ErrBufferFull) {
				t.Errorf("a longer peek: %v", err)
			}
			if line, err := b.ReadLine(); err != socket.ErrTooLong || line != nil {
				t.Errorf("a longer line: %d, %v", len(line), err)
			}
			testenv.Equal(t, b.Buffered(), limit)
			testenv.Gives(t, limit+10, nil)(b.Discard(limit + 10))
			testenv.Gives(t, "after", nil, "what follows")(testenv.AsText(b.ReadLine()))
			if line, err := b.ReadLine(); line != nil || err != io.ErrUnexpectedEOF {
				t.Errorf("a line without an end: %q, %v", line, err)
			}
			if line, err := b.ReadLine(); line != nil || err != io.EOF {
				t.Errorf("the end: %q, %v", line, err)
			}
		})
		fmt.Fprintf(peer, "%s\n%safter\ncut", letters(limit-1), letters(limit+10))
		peer.Close()
		k.Wait(t)
	})
}

// TestBufferedIdleHoldsNothing: a hundred connections with requests behind them
// wait without a buffer; one with half a request holds that one.
func TestBufferedIdleHoldsNothing(t *testing.T) {
	start(t, 1)
	l := listen(t)
	const conns = 100
	var fds []int
	var all []*socket.Buffered
	var tasks []*testrun.Task
	for range conns {
		fds = append(fds, rawClient(t, l))
		c := testenv.Must(l.AcceptTCP())
		b := socket.NewBuffered(c)
		all = append(all, b)
		tasks = append(tasks, testrun.First.Go(func() {
			defer b.Close()
			answerLines(b)
		}))
	}
	for _, fd := range fds {
		unix.Write(fd, []byte("one\ntwo\n"))
		var got [8]byte
		for n := 0; n < len(got); {
			m := testenv.Must(unix.Read(fd, got[n:]))
			n += m
		}
	}
	unix.Write(fds[7], []byte("half"))
	testenv.Until(t, "the half", func() bool {
		half := make(chan bool, 1)
		testrun.First.Run(func() { half <- all[7].Buffered() == 4 })
		return testenv.Await(t, half, "a look")
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
	for _, fd := range fds {
		unix.Shutdown(fd, unix.SHUT_RDWR)
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
		server := p.Go(func() {
			b := socket.NewBuffered(c)
			defer b.Close()
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
		// The first is tried before anything is there, and the last is the
		// end. The kernel may report to the goroutine poller of one thing
		// twice.
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
		_, err := b.Read(make([]byte, 100_000))
		return err
	}},
	{"ReadFull", func(b *socket.Buffered) error {
		_, err := io.ReadFull(b, make([]byte, 18_000))
		return err
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
	for _, r := range reads {
		for _, p := range testrun.Places {
			for _, deadline := range []time.Duration{0, time.Minute} {
				t.Run(r.name+"/"+p.Name+"/"+deadline.String(), func(t *testing.T) {
					start(t, 2)
					c, peer := withPeer(t)
					k := p.Go(func() {
						b := socket.NewBuffered(c)
						defer b.Close()
						if deadline != 0 {
							b.SetDeadline(time.Now().Add(deadline))
						}
						b.WriteString("answer")
						if err := r.read(b); err != nil && err != errStop {
							t.Errorf("%s: %v", r.name, err)
						}
					})
					expect(t, peer, "answer")
					peer.Write(input)
					k.Wait(t)
				})
			}
			t.Run(r.name+"/"+p.Name+"/manual", func(t *testing.T) {
				start(t, 2)
				c, peer := withPeer(t)
				s := &script{}
				defer s.install(t)()
				k := p.Go(func() {
					b := socket.NewBuffered(c)
					defer b.Close()
					b.SetAutoFlush(false)
					b.WriteString("answer")
					if err := r.read(b); err != nil && err != errStop {
						t.Errorf("%s: %v", r.name, err)
					}
				})
				k.UntilParked(t, coroutine.ReasonRead)
				testenv.Equal(t, s.called[sysx.Send].Load(), 0)
				peer.Write(input)
				k.Wait(t)
				expect(t, peer, "answer") // Close
			})
		}
	}
}

// TestBufferedSendsWithoutData: a read that returns without data has sent what
// was written, too.
func TestBufferedSendsWithoutData(t *testing.T) {
	for _, r := range reads[:9] {
		for _, p := range testrun.Places {
			t.Run(r.name+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				c, peer := withPeer(t)
				release := make(chan struct{})
				k := p.Go(func() {
					b := socket.NewBuffered(c)
					b.WriteString("one")
					b.SetReadDeadline(time.Unix(1, 0))
					testenv.Fails(t, r.read(b), os.ErrDeadlineExceeded, "past the deadline")
					b.SetReadDeadline(time.Time{})
					testenv.NoError(t, b.WaitReadable())
					b.WriteString("two")
					testenv.Fails(t, r.read(b), io.EOF, "at the end")
					<-release
					b.Close()
				})
				expect(t, peer, "one")
				peer.CloseWrite()
				expect(t, peer, "two")
				close(release)
				k.Wait(t)
			})
		}
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
	testrun.First.Do(t, func() {
		b := socket.NewBuffered(c)
		defer b.Close()
		for range 19 { // none of which has to wait
			line, err := b.Peek(len(msg))
			if err != nil {
				t.Error(err)
			}
			b.Write(line)
			b.Discard(len(line))
		}
		testenv.Equal(t, s.called[sysx.Send].Load(), 2, "sent")
	})
	expect(t, peer, strings.Repeat(msg, 19))
}

// TestBufferedOwed: a reader does not wait for another's write, and what that
// one leaves in the buffer is sent all the same.
func TestBufferedOwed(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		b := socket.NewBuffered(c)
		msg := string(pattern(8<<20 + 10)) // ten bytes stay in the buffer
		writer := p.Go(func() {
			testenv.NoError(t, testenv.Err(b.WriteString(msg)))
		})
		writer.UntilParked(t, coroutine.ReasonWrite)
		reader := p.Go(func() {
			testenv.Gives(t, byte('x'), nil)(b.ReadByte())
		})
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
	const writers, frames = 6, 150
	for _, how := range []string{"Write", "AvailableBuffer"} {
		t.Run(how, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			b := socket.NewBuffered(c)
			reader := testrun.First.Go(func() { // finds one byte at a time
				for {
					if _, err := b.ReadByte(); err != nil {
						return
					}
				}
			})
			n := writers
			if how != "Write" {
				n = 1
			}
			var tasks []*testrun.Task
			for i := range n {
				tasks = append(tasks, testrun.Places[i%len(testrun.Places)].Go(func() {
					r := rand.New(rand.NewPCG(uint64(i), 1))
					for seq := range frames {
						size := r.IntN(100) << (r.IntN(5) * 2)
						frame := binary.BigEndian.AppendUint32(nil, uint32(size))
						if how == "Write" {
							frame = append(append(frame, byte(i), byte(seq)),
								bytes.Repeat([]byte{byte(i*frames + seq)}, size)...)
						} else {
							frame = append(b.AvailableBuffer(), frame...)
							yieldSome(r)
							frame = append(frame, byte(i), byte(seq))
							fill := []byte{byte(i*frames + seq)}
							frame = append(frame, bytes.Repeat(fill, size)...)
						}
						testenv.NoError(t, testenv.Err(b.Write(frame)))
						yieldSome(r)
					}
					testenv.NoError(t, b.Flush())
				}))
			}
			in := bufio.NewReader(peer)
			next := map[byte]byte{}
			for i := range n * frames {
				if i%3 == 0 {
					peer.Write([]byte("x"))
				}
				var head [6]byte
				testenv.Must(io.ReadFull(in, head[:]))
				body := make([]byte, binary.BigEndian.Uint32(head[:]))
				testenv.Must(io.ReadFull(in, body))
				who, seq := head[4], head[5]
				if seq != next[who] ||
					bytes.Count(body, []byte{byte(int(who)*frames + int(seq))}) != len(body) {
					t.Fatalf("frame %d of %d, want %d, is torn", seq, who, next[who])
				}
				next[who]++
			}
			// the reader may have sent a writer's last frame before that one's
			// Flush
			for _, k := range tasks {
				k.Wait(t)
			}
			peer.Close()
			reader.Wait(t)
			b.Close()
		})
	}
}

func yieldSome(r *rand.Rand) {
	for range r.IntN(3) {
		netco.Yield()
	}
}

// TestBufferedAvailableBuffer: answers built in place, also when they outgrow
// the room, and when the buffer has been sent between.
func TestBufferedAvailableBuffer(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		k := p.Go(func() {
			b := socket.NewBuffered(c)
			defer b.Close()
			for off := 0; off < 200_000; {
				size := 1 + off%7919 + off%3*10_000
				q := b.AvailableBuffer()
				add := func(n int) {
					for range n {
						q = append(q, tile[off%len(tile)])
						off++
					}
				}
				if off%5 == 0 { // the rest comes after it was sent from under the slice
					add(size / 2)
					b.SetReadDeadline(time.Unix(1, 0))
					b.ReadByte()
					other := socket.AcquireBuffer()
					clear(other.Bytes())
					add(size - size/2)
					other.Release()
				} else {
					add(size)
				}
				testenv.Gives(t, size, nil)(b.Write(q))
			}
			testenv.NoError(t, b.Flush())
			if _, w := b.Holds(); w {
				t.Error("holds a buffer")
			}
		})
		got, err := io.ReadAll(peer)
		if d := differs(got, 0); err != nil || len(got) < 200_000 || d != "" {
			t.Errorf("the peer read %d, %v %s", len(got), err, d)
		}
		k.Wait(t)
	})
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
		k := p.Go(func() {
			b := socket.NewBuffered(c)
			defer b.Close()
			b.Write(all[:100])
			testenv.Gives(t, 39_900, nil)(b.Write(all[100:40_000]))
			if n, v := s.called[sysx.Send].Load(), s.called[sysx.Sendv].Load(); n != 0 || v != 1 {
				t.Errorf("%d and %d writes", n, v)
			}
			b.Write(all[40_000:40_001])
			testenv.Gives(t, len(all)-40_001, nil)(b.Write(all[40_001:]))
			b.Flush()
		})
		got := make([]byte, len(all))
		if n, err := io.ReadFull(peer, got); err != nil || differs(got, 0) != "" {
			t.Errorf("the peer read %d, %v %s", n, err, differs(got[:n], 0))
		}
		k.Wait(t)
	})
}

// TestBufferedNoAllocation: requests and answers in batches allocate nothing.
func TestBufferedNoAllocation(t *testing.T) {
	testenv.NoRace(t)
	for _, p := range []testrun.Place{testrun.First, testrun.Goroutine} {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 2)
			l := listen(t)
			fd := rawClient(t, l)
			c := testenv.Must(l.AcceptTCP())
			k := p.Go(func() {
				b := socket.NewBuffered(c)
				defer b.Close()
				for {
					line, err := b.Peek(8)
					if err != nil {
						return
					}
					b.Write(append(b.AvailableBuffer(), line...))
					b.Discard(8)
				}
			})
			trips(t, fd, 200)
			defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would empty sync.Pools
			runtime.GC()
			trips(t, fd, 200)
			if n := fewestMallocs(40, func() { trips(t, fd, 2000) }); n > 40 {
				t.Errorf("%d allocations for 2000 batches", n)
			}
			unix.Shutdown(fd, unix.SHUT_WR)
			k.Wait(t)
		})
	}
}

// TestBufferedWriteError: the read that had to send returns the error, as do
// all later writes; reads go on.
func TestBufferedWriteError(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		sent := make(chan struct{})
		k := p.Go(func() {
			b := socket.NewBuffered(c)
			defer b.Close()
			b.WriteString("lost")
			remove := (&script{first: errnos{sysx.Send: {unix.EPIPE}}}).install(t)
			_, err := b.ReadLine()
			var op *net.OpError
			if !errors.Is(err, unix.EPIPE) || !errors.As(err, &op) || op.Op != "write" {
				t.Errorf("the read: %v", err)
			}
			remove()
			close(sent)
			testenv.Gives(t, "hello", nil, "the next read")(testenv.AsText(b.ReadLine()))
			for what, err2 := range map[string]error{
				"Write": second(b.Write([]byte("x"))), "WriteString": second(b.WriteString("x")),
				"WriteByte": b.WriteByte('x'), "Flush": b.Flush(), "CloseWrite": b.CloseWrite(),
			} {
				testenv.Equal(t, err2, err, what)
			}
			testenv.Equal(t, cap(b.AvailableBuffer()), 0, "room")
			if _, w := b.Holds(); w {
				t.Error("holds a buffer")
			}
		})
		testenv.Await(t, sent, "the error")
		peer.Write([]byte("hello\n"))
		k.Wait(t)
		if got, err := io.ReadAll(peer); len(got) != 0 || err != nil {
			t.Errorf("the peer read %q, %v", got, err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// TestBufferedWriteDeadline: a read that has to send waits for room no longer
// than the write deadline allows.
func TestBufferedWriteDeadline(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, _ := withPeer(t)
		fillSocket(t, c)
		p.Do(t, func() {
			b := socket.NewBuffered(c)
			defer b.Close()
			b.WriteString("answer")
			b.SetWriteDeadline(time.Now().Add(time.Millisecond))
			var op *net.OpError
			if _, err := b.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) ||
				!errors.As(err, &op) || op.Op != "write" {
				t.Errorf("the read: %v", err)
			}
			b.SetWriteDeadline(time.Time{})
			testenv.Fails(t, b.Flush(), os.ErrDeadlineExceeded, "after that")
		})
	})
}

// fillSocket writes until the socket takes no more, and will not: what is on
// its way to the peer makes room when it has arrived.
func fillSocket(t testing.TB, c *socket.TCPConn) {
	t.Helper()
	buf := make([]byte, 64<<10)
	testenv.Until(t, "a socket that is full", func() bool {
		info := testenv.Must(unix.GetsockoptTCPInfo(c.FD(), unix.IPPROTO_TCP, unix.TCP_INFO))
		_, errno := sysx.TrySend(c.FD(), buf)
		if errno != 0 && errno != unix.EAGAIN {
			t.Fatal(errno)
		}
		return errno == unix.EAGAIN && info.Unacked == 0
	})
}

// TestBufferedClose: Close sends what there is room for, never waits, and says
// if that was not all.
func TestBufferedClose(t *testing.T) {
	for _, p := range testrun.Places {
		t.Run("sends/"+p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			p.Do(t, func() {
				b := socket.NewBuffered(c)
				b.Write(pattern(10_000))
				testenv.NoError(t, b.Close())
				testenv.Fails(t, b.Close(), net.ErrClosed, "the second")
				testenv.Fails(t, testenv.Err(b.WriteString("x")), net.ErrClosed)
				testenv.Fails(t, b.Flush(), net.ErrClosed)
				testenv.Fails(t, testenv.Err(b.ReadByte()), net.ErrClosed)
				if r, w := b.Holds(); r || w {
					t.Errorf("holds buffers: %v, %v", r, w)
				}
			})
			if got, err := io.ReadAll(peer); err != nil || len(got) != 10_000 ||
				differs(got, 0) != "" {
				t.Errorf("the peer read %d, %v", len(got), err)
			}
		})
		t.Run("no room/"+p.Name, func(t *testing.T) {
			start(t, 2)
			c, _ := withPeer(t)
			fillSocket(t, c)
			p.Do(t, func() {
				b := socket.NewBuffered(c)
				b.Write(pattern(10_000))
				var op *net.OpError
				if err := b.Close(); !errors.Is(err, io.ErrShortWrite) || !errors.As(err, &op) ||
					op.Op != "close" {
					t.Errorf("Close: %v", err)
				}
				if _, w := b.Holds(); w {
					t.Error("holds a buffer")
				}
				testenv.Equal(t, socket.OpenCount(), 0)
			})
		})
		t.Run("ends others/"+p.Name, func(t *testing.T) {
			start(t, 2)
			c, _ := withPeer(t)
			b := socket.NewBuffered(c)
			closed := func(what string, f func() error) *testrun.Task {
				return p.Go(func() {
					testenv.Fails(t, f(), net.ErrClosed, what)
				})
			}
			reader := closed("the reader", func() error { return second(b.ReadByte()) })
			reader.UntilParked(t, coroutine.ReasonRead)
			writer := closed("the writer", func() error { return second(b.Write(tooMuch)) })
			writer.UntilParked(t, coroutine.ReasonWrite)
			testenv.NoError(t, b.Close())
			reader.Wait(t)
			writer.Wait(t)
		})
	}
}

// TestBufferedShutdown: a forced end wakes a reader that waits, and one that
// waits to send.
func TestBufferedShutdown(t *testing.T) {
	for _, full := range []bool{false, true} {
		startAlone(t, 2)
		c, _ := withPeer(t)
		if full {
			fillSocket(t, c)
		}
		k := testrun.First.Go(func() {
			b := socket.NewBuffered(c)
			defer b.Close()
			b.WriteString("x")
			testenv.Fails(t, testenv.Err(b.ReadByte()), netco.ErrShutdown, "full", full)
		})
		reason := coroutine.ReasonRead
		if full {
			reason = coroutine.ReasonWrite
		}
		k.UntilParked(t, reason)
		force(t)
		k.Wait(t)
		noneOpen(t)
		netco.Shutdown(context.Background())
	}
}

// TestBufferedUnix: a Buffered on a Unix stream; one on packets is a mistake.
func TestBufferedUnix(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		path := filepath.Join(t.TempDir(), "s")
		l := testenv.Closing(t, testenv.Must(socket.Listen("unix", path)))
		peer := testenv.Closing(t, testenv.Must(net.Dial("unix", path)))
		c := testenv.Must(l.Accept())
		k := p.Go(func() {
			b := socket.NewBuffered(c.(*socket.UnixConn))
			defer b.Close()
			answerLines(b)
		})
		for range 3 {
			lines := strings.Repeat("line\n", 100)
			peer.Write([]byte(lines))
			expect(t, peer, lines)
		}
		peer.Close()
		k.Wait(t)

		packets := testenv.Closing(t,
			testenv.Must(socket.ListenUnixgram("unixgram",
				&net.UnixAddr{Name: path + "g", Net: "unixgram"})))
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		socket.NewBuffered(packets)
	})
}
