// Package tls hands netco's connections to crypto/tls.
package tls

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/interop/internal/certs"
	"github.com/netco-go/netco/interop/internal/place"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// serve accepts one connection and gives it to fn, in a place.
func serve(p place.Place, ln net.Listener, fn func(net.Conn) error) (wait func() error) {
	return p.Go(func() error {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		defer c.Close()
		return fn(c)
	})
}

func dial(ln net.Listener) (net.Conn, error) { return netco.Dial("tcp", ln.Addr().String()) }

// between runs a test for each pair of places, server and client.
func between(t *testing.T, body func(t *testing.T, server, client place.Place)) {
	for _, c := range []struct {
		name           string
		server, client place.Place
	}{
		{"goroutines", place.Goroutine, place.Goroutine},
		{"coroutines of one Processor", place.OneProcessor, place.OneProcessor},
		{"coroutines of two Processors", place.Coroutine, place.Coroutine},
		{"coroutine serves goroutine", place.OneProcessor, place.Goroutine},
		{"goroutine serves coroutine", place.Goroutine, place.OneProcessor},
	} {
		t.Run(c.name, func(t *testing.T) {
			place.Start(t, min(c.server.Processors, c.client.Processors))
			body(t, c.server, c.client)
		})
	}
}

// send writes n random bytes in writes of random sizes and returns their sum.
func send(w io.Writer, n int, seed int64) ([]byte, error) {
	rnd, sum := rand.New(rand.NewSource(seed)), sha256.New()
	buf := make([]byte, 64<<10)
	for n > 0 {
		part := buf[:min(n, 1+rnd.Intn(len(buf)))]
		rnd.Read(part)
		sum.Write(part)
		if _, err := w.Write(part); err != nil {
			return nil, err
		}
		n -= len(part)
	}
	return sum.Sum(nil), nil
}

// receive reads to the end of the stream and returns the sum of it.
func receive(r io.Reader, n int) ([]byte, error) {
	sum := sha256.New()
	got, err := io.Copy(sum, r)
	if err != nil {
		return nil, err
	}
	if got != int64(n) {
		return nil, fmt.Errorf("received %d bytes of %d", got, n)
	}
	return sum.Sum(nil), nil
}

const big = 8 << 20

// TestTransfer: the client sends, closes its half, and the server, which has read to the end, sends on the half that is left.
func TestTransfer(t *testing.T) {
	between(t, func(t *testing.T, server, client place.Place) {
		ln := listen(t)
		scfg, ccfg := certs.Configs(t)
		var sent, received [2][]byte // client to server, server to client
		waitServer := serve(server, ln, func(raw net.Conn) (err error) {
			c := tls.Server(raw, scfg)
			if received[0], err = receive(c, big); err != nil {
				return err
			}
			if sent[1], err = send(c, big, 2); err != nil {
				return err
			}
			return c.Close()
		})
		waitClient := client.Go(func() (err error) {
			raw, err := dial(ln)
			if err != nil {
				return err
			}
			c := tls.Client(raw, ccfg)
			defer c.Close()
			if sent[0], err = send(c, big, 1); err != nil {
				return err
			}
			if err := c.CloseWrite(); err != nil {
				return err
			}
			received[1], err = receive(c, big)
			return err
		})
		if err := errors.Join(waitClient(), waitServer()); err != nil {
			t.Fatal(err)
		}
		for i := range sent {
			if !bytes.Equal(sent[i], received[i]) {
				t.Errorf("direction %d: other bytes arrived than were sent", i)
			}
		}
	})
}

// TestWritersMeet: two callers write to one connection, whose peer reads on a goroutine. One holds crypto/tls's mutex while it waits for
// room, so that the other waits in that mutex.
func TestWritersMeet(t *testing.T) {
	const n = 4 << 20
	place.EachWay(t, place.Waiting(), func(t *testing.T, w place.Way) {
		ln := listen(t)
		scfg, ccfg := certs.Configs(t)
		wait := serve(place.Goroutine, ln, func(c net.Conn) error {
			_, err := io.CopyN(io.Discard, tls.Server(c, scfg), 2*n)
			return err
		})
		raw, err := dial(ln)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		c := tls.Client(raw, ccfg)
		err = w.All(2, func(i int) error {
			_, err := send(c, n, int64(i))
			return err
		})
		if err := errors.Join(err, wait()); err != nil {
			t.Error(err)
		}
	})
}

// TestBothWays: one coroutine reads while another writes, after an explicit Handshake.
func TestBothWays(t *testing.T) {
	between(t, func(t *testing.T, server, client place.Place) {
		ln := listen(t)
		scfg, ccfg := certs.Configs(t)
		var sent, received [2][]byte
		conns := make([]*tls.Conn, 2)
		waitServer := server.Go(func() error {
			raw, err := ln.Accept()
			if err != nil {
				return err
			}
			conns[0] = tls.Server(raw, scfg)
			return conns[0].Handshake()
		})
		waitClient := client.Go(func() error {
			raw, err := dial(ln)
			if err != nil {
				return err
			}
			conns[1] = tls.Client(raw, ccfg)
			return conns[1].Handshake()
		})
		if err := errors.Join(waitClient(), waitServer()); err != nil {
			t.Fatal(err)
		}
		var waits []func() error
		for i, p := range []place.Place{server, client} {
			waits = append(waits, p.Go(func() error {
				var err error
				sent[i], err = send(conns[i], big, int64(i))
				return errors.Join(err, conns[i].CloseWrite())
			}), p.Go(func() error {
				var err error
				received[1-i], err = receive(conns[i], big)
				return err
			}))
		}
		for _, wait := range waits {
			if err := wait(); err != nil {
				t.Error(err)
			}
		}
		for i := range sent {
			conns[i].Close()
			if !bytes.Equal(sent[i], received[i]) {
				t.Errorf("direction %d: other bytes arrived than were sent", i)
			}
		}
	})
}
