package socket_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestEcho sends messages of all sizes from every kind of place to every other
// and compares what comes back.
func TestEcho(t *testing.T) {
	for _, server := range testrun.Places {
		for _, client := range testrun.Places {
			t.Run(client.Name+" to "+server.Name, func(t *testing.T) {
				start(t, 2)
				a, b := pair(t)
				s := server.Go(func() { echo(b) })
				c := client.Go(func() {
					defer a.Close()
					for _, size := range []int{0, 1, 64, 128<<10 + 1, 1 << 20} {
						if err := roundTrip(client, a, size); err != nil {
							t.Errorf("%d bytes: %v", size, err)
							return
						}
					}
				})
				c.Wait(t)
				s.Wait(t)
			})
		}
	}
}

// roundTrip sends size bytes, a writer beside the reader, and reads them back.
func roundTrip(p testrun.Place, c *socket.TCPConn, size int) error {
	wrote := make(chan error, 1)
	p.Run(func() {
		n, err := c.Write(pattern(size))
		if err == nil && n != size {
			err = fmt.Errorf("Write returned %d without an error", n)
		}
		wrote <- err
	})
	got := make([]byte, size)
	if n, err := io.ReadFull(c, got); err != nil {
		return fmt.Errorf("read %d: %w", n, err)
	}
	if d := differs(got, 0); d != "" {
		return fmt.Errorf("%s", d)
	}
	for {
		select {
		case err := <-wrote: // it was all read, so this is not long in coming, but on this thread it needs a turn
			return err
		default:
			yield()
		}
	}
}

// TestEchoPipelined writes a thousand messages before it reads the first
// answer.
func TestEchoPipelined(t *testing.T) {
	const messages, size = 1000, 64
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		a, b := pair(t)
		s := p.Go(func() { echo(b) })
		c := p.Go(func() {
			defer a.Close()
			for i := range messages {
				if _, err := a.Write(bytes.Repeat([]byte{byte(i)}, size)); err != nil {
					t.Errorf("message %d: %v", i, err)
					return
				}
			}
			got := make([]byte, size)
			for i := range messages {
				if _, err := io.ReadFull(a, got); err != nil {
					t.Errorf("answer %d: %v", i, err)
					return
				}
				if !bytes.Equal(got, bytes.Repeat([]byte{byte(i)}, size)) {
					t.Errorf("answer %d is %x", i, got)
					return
				}
			}
		})
		c.Wait(t)
		s.Wait(t)
	})
}

// TestEmptyReadAndWrite: neither takes nor sends anything, nor waits.
func TestEmptyReadAndWrite(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		p.Do(t, func() {
			for range 100 {
				if n, err := c.Read(nil); n != 0 || err != nil {
					t.Errorf("Read(nil) with nothing to read: %d, %v", n, err)
				}
				if n, err := c.Write(nil); n != 0 || err != nil {
					t.Errorf("Write(nil): %d, %v", n, err)
				}
			}
		})
		testenv.Must(peer.Write([]byte("x")))
		p.Do(t, func() {
			if err := c.WaitReadable(); err != nil {
				t.Error(err)
			}
			if n, err := c.Read(nil); n != 0 || err != nil {
				t.Errorf("Read(nil) with a byte to read: %d, %v", n, err)
			}
			var b [8]byte
			if n, err := c.Read(b[:]); n != 1 || err != nil || b[0] != 'x' {
				t.Errorf("Read: %d, %v, %q", n, err, b[:n])
			}
		})
		c.Close()
		if rest, err := io.ReadAll(peer); err != nil || len(rest) != 0 {
			t.Errorf("the peer read %q, %v, want nothing", rest, err)
		}
	})
}
