package socket_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

// cut cuts the pattern into pieces, some of them empty.
func cut(r *rand.Rand, total, most int) (pieces [][]byte) {
	for all := pattern(total); len(all) > 0; {
		n := min(len(all), r.IntN(most+1))
		pieces, all = append(pieces, all[:n:n]), all[n:]
	}
	return append(pieces, nil)
}

// TestBuffersCalls: a thousand small pieces take one call, and more take few.
func TestBuffersCalls(t *testing.T) {
	start(t, 1)
	c, down := withPeer(t)
	var s script
	defer s.install(t)()
	drained := swallow(t, down, 2500)
	offset := 0
	testrun.First.Do(t, func() {
		for _, k := range []struct{ pieces, calls int }{{0, 0}, {1, 1}, {1024, 1}, {1025, 2}} {
			before := s.called[sysx.Sendv].Load()
			var v socket.Buffers
			for range k.pieces {
				v = append(v, nil, []byte("?"))
			}
			at := 0
			for i := range v {
				if len(v[i]) > 0 {
					fill(v[i], offset+at)
					at++
				}
			}
			offset += at
			if n, err := v.WriteTo(c); int(n) != k.pieces || err != nil || len(v) != 0 {
				t.Errorf("%d pieces: %d, %v, %d left", k.pieces, n, err, len(v))
			}
			if n := s.called[sysx.Sendv].Load() - before; int(n) != k.calls {
				t.Errorf("%d pieces took %d calls", k.pieces, n)
			}
		}
		c.Write(pattern(2500)[offset:])
		c.Close()
	})
	testenv.Await(t, drained, "reads")
}

// TestBuffersLikeNet: what does not depend on the writer is what net.Buffers
// does, and so are the errors of a connection.
func TestBuffersLikeNet(t *testing.T) {
	start(t, 1)
	mine, _ := withPeer(t)
	nets, _ := netPair(t)
	mine.Close()
	nets.Close()
	_, err := (&socket.Buffers{[]byte("x")}).WriteTo(mine)
	_, want := (&net.Buffers{[]byte("x")}).WriteTo(nets)
	testenv.Equal(t, shape(err), shape(want))
	r := rand.New(rand.NewPCG(11, 11))
	for range 200 {
		pieces := cut(r, 1+r.IntN(100), 1+r.IntN(20))
		a, b := socket.Buffers(slices.Clone(pieces)), net.Buffers(slices.Clone(pieces))
		for len(a) > 0 || len(b) > 0 {
			p, q := make([]byte, r.IntN(20)), make([]byte, 20)
			n, err := a.Read(p)
			m, want := b.Read(q[:len(p)])
			if n != m || err != want || !bytes.Equal(p[:n], q[:m]) ||
				!slices.EqualFunc(a, b, bytes.Equal) {
				t.Fatalf("Read: %d, %v, want %d, %v", n, err, m, want)
			}
		}
		a, b = slices.Clone(pieces), slices.Clone(pieces)
		room := r.IntN(100)
		n, err := a.WriteTo(&failing{room})
		m, want := b.WriteTo(&failing{room})
		if n != m || err != want || !slices.EqualFunc(a, b, bytes.Equal) {
			t.Fatalf("WriteTo: %d, %v, want %d, %v", n, err, m, want)
		}
	}
}

// TestBuffersPacket: to a socket for packets, pieces go as one packet.
func TestBuffersPacket(t *testing.T) {
	start(t, 1)
	for network, at := range map[string]string{
		"unixgram": testenv.SocketPath(t, "s"), "udp": "127.0.0.1:0",
	} {
		l := testenv.Closing(t, testenv.Must(net.ListenPacket(network, at)))
		c := testenv.Closing(t, testenv.Must(conet.Dial(network, l.LocalAddr().String())))
		testrun.First.Do(t, func() {
			v := socket.Buffers{[]byte("hello"), nil, []byte(", world")}
			testenv.Gives(t, int64(12), nil)(v.WriteTo(c))
			testenv.Equal(t, len(v), 0)
		})
		got := make([]byte, 100)
		n, _, err := l.ReadFrom(got)
		testenv.NoError(t, err)
		testenv.Equal(t, string(got[:n]), "hello, world", network)
	}
}

// TestBuffersWhole: writers that share a connection do not get between one
// another's pieces, nor within a large Write.
func TestBuffersWhole(t *testing.T) {
	const rounds, pieces, size = 30, 200, 700
	for name, write := range map[string]func(c *socket.TCPConn, b byte) (int64, error){
		"Buffers": func(c *socket.TCPConn, b byte) (int64, error) {
			var v socket.Buffers
			for range pieces {
				v = append(v, bytes.Repeat([]byte{b}, size))
			}
			return v.WriteTo(c)
		},
		"Write": func(c *socket.TCPConn, b byte) (int64, error) {
			n, err := c.Write(bytes.Repeat([]byte{b}, pieces*size))
			return int64(n), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, 2)
			c, down := withPeer(t)
			var tasks []*testrun.Task
			for i := range 4 {
				tasks = append(tasks, place(i).Go(func() {
					for range rounds {
						testenv.Gives(t, int64(pieces*size), nil)(write(c, byte('a'+i)))
					}
				}))
			}
			b := make([]byte, pieces*size)
			for i := range 4 * rounds {
				testenv.Must(io.ReadFull(down, b))
				if bytes.Count(b, b[:1]) != len(b) {
					t.Fatalf("vector %d is mixed with another", i)
				}
			}
			testrun.WaitAll(t, tasks...)
		})
	}
}
