package tls_test

import (
	"bytes"
	"context"
	stdtls "crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net"
	"github.com/netco-go/netco/tls"
)

// conn is what crypto/tls's and netco's Conn have in common.
type conn interface {
	net.Conn
	CloseWrite() error
	Handshake() error
	ConnectionState() tls.ConnectionState
}

// kinds are the combinations of server and client.
var kinds = []struct {
	name           string
	server, client func(net.Conn, *tls.Config) conn
}{
	{"both", ours(tls.Server), ours(tls.Client)},
	{"server", ours(tls.Server), theirs(stdtls.Client)},
	{"client", theirs(stdtls.Server), ours(tls.Client)},
}

func ours(wrap func(net.Conn, *tls.Config) *tls.Conn) func(net.Conn, *tls.Config) conn {
	return func(c net.Conn, config *tls.Config) conn { return wrap(c, config) }
}

func theirs(wrap func(net.Conn, *tls.Config) *stdtls.Conn) func(net.Conn, *tls.Config) conn {
	return func(c net.Conn, config *tls.Config) conn { return wrap(c, config) }
}

// stream is n bytes that differ between seeds.
func stream(n int, seed uint64) []byte {
	p := make([]byte, n)
	rnd := rand.NewChaCha8([32]byte{byte(seed)})
	rnd.Read(p)
	return p
}

// send writes p in pieces of all sizes, and ends writing.
func send(c conn, p []byte) error {
	if err := c.Handshake(); err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for len(p) > 0 {
		n, err := c.Write(p[:min(len(p), 1+rnd.IntN(100_000))])
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return c.CloseWrite()
}

// receive reads want, in pieces of all sizes, and the end of the stream.
func receive(c io.Reader, want []byte) error {
	rnd := rand.New(rand.NewPCG(2, 2))
	var got []byte
	for {
		buf := make([]byte, 1+rnd.IntN(40_000))
		n, err := c.Read(buf)
		got = append(got, buf[:n]...)
		if err == io.EOF && bytes.Equal(got, want) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("after %d bytes of %d, equal: %v: %w", len(got), len(want),
				bytes.HasPrefix(want, got), err)
		}
	}
}

// TestBothWays: two coroutines use each end, one for each direction; whichever
// comes first shakes hands. Two goroutines use an end of crypto/tls.
func TestBothWays(t *testing.T) {
	for _, kind := range kinds {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			name := kind.name + ", " + tls.VersionName(version)
			everywhereOf(t, name, func(t *testing.T, run runner) {
				a, b := pair(t)
				sc, cc := configs()
				sc.MaxVersion = version
				server, client := kind.server(a, sc), kind.client(b, cc)
				n := testenv.Rounds(8 << 20)
				up, down := stream(n, 1), stream(n, 2)
				run(
					at(server, func() error { return receive(server, up) }),
					at(client, func() error { return send(client, up) }),
					at(server, func() error { return send(server, down) }),
					at(client, func() error { return receive(client, down) }),
				)
			})
		}
	}
}

// at returns part, to be run where c may be used.
func at(c conn, part func() error) func() error {
	if _, ok := c.(*tls.Conn); ok {
		return part
	}
	return func() error {
		_, err := blocking.Call(context.Background(), func() (none struct{}, _ error) {
			return none, part()
		})
		return err
	}
}

// TestEnds: CloseWrite is io.EOF to the peer and leaves its direction open,
// Close ends a Read with net.ErrClosed, and what follows either fails.
func TestEnds(t *testing.T) {
	everywhere(t, func(t *testing.T, run runner) {
		server, client := ends(t)
		if err := client.CloseWrite(); err == nil {
			t.Error("CloseWrite before the handshake has succeeded")
		}
		run(client.Handshake, server.Handshake)
		run(client.CloseWrite, func() error { return receive(server, nil) })
		run(
			func() error { return send(server, []byte("late")) },
			func() error { return receive(client, []byte("late")) },
		)
		if _, err := client.Write([]byte("x")); err == nil {
			t.Error("Write after CloseWrite has succeeded")
		}
		server, client = ends(t)
		run(client.Handshake, server.Handshake)
		run(
			func() error { return isError(net.ErrClosed)(server.Read(make([]byte, 1))) },
			func() error {
				time.Sleep(time.Millisecond)
				return server.Close()
			},
			func() error { return receive(client, nil) },
		)
		testenv.Equal(t, server.Close(), net.ErrClosed, "second Close")
		testenv.NoError(t, isError(net.ErrClosed)(server.Write([]byte("x"))))
	})
}

// isError returns a function that returns an error unless it gets want.
func isError(want error) func(int, error) error {
	return func(n int, err error) error {
		if errors.Is(err, want) {
			return nil
		}
		return fmt.Errorf("%d, %v, want %v", n, err, want)
	}
}

// TestTruncation: a stream that ends within a record is io.ErrUnexpectedEOF.
func TestTruncation(t *testing.T) {
	everywhere(t, func(t *testing.T, run runner) {
		server, client := ends(t)
		run(client.Handshake, server.Handshake)
		raw := client.NetConn().(*net.TCPConn)
		run(func() error {
			raw.Write([]byte{23, 3, 3, 1, 0, 'x'})
			return raw.CloseWrite()
		}, func() error { return isError(io.ErrUnexpectedEOF)(server.Read(make([]byte, 10))) })
	})
}

// dripConn sends one byte at a time.
type dripConn struct{ net.Conn }

func (c dripConn) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := c.Conn.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

// TestDeadlineWithinRecord: a Read that a deadline ends within a record of a
// slow peer loses nothing.
func TestDeadlineWithinRecord(t *testing.T) {
	everywhere(t, func(t *testing.T, run runner) {
		a, b := pair(t)
		sc, cc := configs()
		server, client := tls.Server(a, sc), tls.Client(dripConn{b}, cc)
		run(client.Handshake, server.Handshake)
		want, timeouts := stream(testenv.Rounds(50_000), 1), 0
		run(func() error { return send(client, want) }, func() error {
			return receive(readerFunc(func(p []byte) (int, error) {
				for {
					server.SetReadDeadline(time.Now().Add(20 * time.Microsecond))
					n, err := server.Read(p)
					if !errors.Is(err, os.ErrDeadlineExceeded) {
						return n, err
					}
					timeouts++
				}
			}), want)
		})
		if timeouts == 0 {
			t.Error("no Read has timed out")
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestWriteAfterTimeout: after a Write that a deadline has ended, the next one
// goes on where it says.
func TestWriteAfterTimeout(t *testing.T) {
	everywhere(t, func(t *testing.T, run runner) {
		server, client := ends(t)
		run(client.Handshake, server.Handshake)
		want, rest := stream(32<<20, 1), 0
		run(func() error {
			server.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
			n, err := server.Write(want)
			rest = n
			return isError(os.ErrDeadlineExceeded)(n, err)
		})
		if n, err := server.Write(want); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after the deadline: %d, %v", n, err)
		}
		server.SetWriteDeadline(time.Time{})
		want = append(want[:rest:rest], "the end"...)
		run(
			func() error { return send(server, want[rest:]) },
			func() error { return receive(client, want) },
		)
	})
}

// TestReadAfterStop: a coroutine that is stopped in a Read leaves the
// connection as it was, for others.
func TestReadAfterStop(t *testing.T) {
	testrun.Start(t, 2)
	server, client := ends(t)
	go server.Handshake()
	testenv.OK(t, client.Handshake())
	ended := make(chan error, 1)
	k := testrun.First.Park(t, coroutine.ReasonRead, func() {
		_, err := client.Read(make([]byte, 1))
		ended <- err
	})
	k.Co.Handle().Stop()
	testenv.Fails(t, testenv.Await(t, ended, "the Read"), netco.ErrShutdown,
		"the Read that was stopped")
	go server.Write([]byte("later"))
	got := make([]byte, 5)
	if _, err := io.ReadFull(client, got); err != nil || string(got) != "later" {
		t.Errorf("the next Read: %q, %v", got, err)
	}
}
