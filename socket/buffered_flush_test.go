package socket_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

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
		t.Fatalf("the peer read %d bytes of %d, %v: %.100q, want %.100q", n, len(want), err, got[:n], want)
	}
}

// TestBufferedOneWritePerBatch: requests that come together are answered
// together, with one system call.
func TestBufferedOneWritePerBatch(t *testing.T) {
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			s := &script{}
			defer s.install(t)()
			server := p.Go(func() {
				b := socket.NewBuffered(c)
				defer b.Close()
				if err := answerLines(b); err != io.EOF {
					t.Error(err)
				}
			})
			requests := strings.Repeat("request\r\n", 200)
			for batch := 1; batch <= 5; batch++ {
				server.UntilParked(t, coroutine.ReasonRead)
				peer.Write([]byte(requests))
				expect(t, peer, strings.ReplaceAll(requests, "\r", ""))
				if n := s.called[sysx.Send].Load(); n != int64(batch) {
					t.Errorf("%d writes for %d batches", n, batch)
				}
			}
			peer.CloseWrite()
			server.Wait(t)
			// The first is tried before anything is there, and the last is the
			// end. The kernel may tell a goroutine's lookout of one thing
			// twice.
			if n := s.called[sysx.Recv].Load(); n > 5+2+2 {
				t.Errorf("%d reads for 5 batches", n)
			}
		})
	}
}

// reads are the ways to read. Each is satisfied by 20,000 bytes with a newline
// every hundred.
var reads = []struct {
	name string
	read func(b *socket.Buffered) error
}{
	{"Read", func(b *socket.Buffered) error { _, err := b.Read(make([]byte, 10)); return err }},
	{"large Read", func(b *socket.Buffered) error { _, err := b.Read(make([]byte, 100_000)); return err }},
	{"ReadFull", func(b *socket.Buffered) error { _, err := io.ReadFull(b, make([]byte, 18_000)); return err }},
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
				if n := s.called[sysx.Send].Load(); n != 0 {
					t.Errorf("%d writes", n)
				}
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
					if err := r.read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("past the deadline: %v", err)
					}
					b.SetReadDeadline(time.Time{})
					if err := b.WaitReadable(); err != nil {
						t.Error(err)
					}
					b.WriteString("two")
					if err := r.read(b); err != io.EOF {
						t.Errorf("at the end: %v", err)
					}
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
		if n := s.called[sysx.Send].Load(); n != 2 {
			t.Errorf("sent %d times in 19 reads that did not wait, want one in 8", n)
		}
	})
	expect(t, peer, strings.Repeat(msg, 19))
}

// TestBufferedOwed: a reader does not wait for another's write, and what that
// one leaves in the buffer is sent all the same.
func TestBufferedOwed(t *testing.T) {
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			b := socket.NewBuffered(c)
			msg := string(pattern(8<<20 + 10)) // ten bytes stay in the buffer
			writer := p.Go(func() {
				if _, err := b.WriteString(msg); err != nil {
					t.Error(err)
				}
			})
			writer.UntilParked(t, coroutine.ReasonWrite)
			reader := p.Go(func() {
				if got, err := b.ReadByte(); got != 'x' || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			})
			reader.UntilParked(t, coroutine.ReasonRead)
			expect(t, peer, msg)
			peer.Write([]byte("x"))
			reader.Wait(t)
			writer.Wait(t)
			b.Close()
		})
	}
}
