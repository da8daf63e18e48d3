package socket_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

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
		{"interrupted", 300, map[sysx.Op]syscall.Errno{sysx.Recv: unix.EINTR, sysx.Send: unix.EINTR}, nil},
		{littleRoom, 200, map[sysx.Op]syscall.Errno{sysx.EpollWait: unix.EINTR}, map[sysx.Op]int{sysx.EpollWait: 1}},
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
						if err := b.Flush(); err != nil {
							t.Error(err)
						}
					})
					r := rand.New(rand.NewPCG(1, uint64(c.lines)))
					var input bytes.Buffer
					for i := range c.lines {
						fmt.Fprintf(&input, "%d %s\n", i, bytes.Repeat([]byte{'a' + byte(i%26)}, r.IntN(100)<<(r.IntN(10)/8*5)))
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

// TestBufferedFalseAlarms: reads that find nothing although they were told that
// there is something. Each goes back to waiting, without a buffer.
func TestBufferedFalseAlarms(t *testing.T) {
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			s := &script{first: map[sysx.Op][]syscall.Errno{sysx.Recv: repeat(5, unix.EAGAIN)}}
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
				testenv.Until(t, "a read", func() bool { return s.called[sysx.Recv].Load() > tried || got.Load() > int64(i) })
			}
			k.Wait(t)
			for i := range count {
				expect(t, peer, string([]byte{byte(i)}))
			}
		})
	}
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
			if _, err := b.Peek(limit + 1); err != socket.ErrTooLong || !errors.Is(err, bufio.ErrBufferFull) {
				t.Errorf("a longer peek: %v", err)
			}
			if line, err := b.ReadLine(); err != socket.ErrTooLong || line != nil {
				t.Errorf("a longer line: %d, %v", len(line), err)
			}
			if n := b.Buffered(); n != limit {
				t.Errorf("%d bytes are buffered", n)
			}
			if n, err := b.Discard(limit + 10); n != limit+10 || err != nil {
				t.Errorf("Discard: %d, %v", n, err)
			}
			if line, err := b.ReadLine(); string(line) != "after" || err != nil {
				t.Errorf("what follows: %q, %v", line, err)
			}
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
