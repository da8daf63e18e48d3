package socket_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
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

// cut cuts the pattern into pieces, some of them empty.
func cut(r *rand.Rand, total, most int) (pieces [][]byte) {
	for all := pattern(total); len(all) > 0; {
		n := min(len(all), r.IntN(most+1))
		pieces, all = append(pieces, all[:n:n]), all[n:]
	}
	return append(pieces, nil)
}

// TestBuffersArrive: vectors of many shapes arrive whole and are consumed,
// whatever the kernel takes at a time, by either way to write them, over TCP
// and Unix.
func TestBuffersArrive(t *testing.T) {
	type limits = map[sysx.Op]int
	for _, c := range []struct {
		name        string
		total, most int
		faults      func() *script
	}{
		{"few", 10_000, 5000, func() *script { return &script{} }},
		{"thousands", 100_000, 50, func() *script { return &script{} }},
		{"large", 5 << 20, 1 << 20, func() *script { return &script{} }},
		{"byte by byte", 3000, 300, func() *script {
			return &script{limit: limits{sysx.Sendv: 1}}
		}},
		{"at odd places", 200_000, 3000, func() *script {
			return &script{limit: limits{sysx.Sendv: 777}}
		}},
		{"interrupted", 200_000, 3000, func() *script {
			return &script{every: map[sysx.Op]syscall.Errno{sysx.Sendv: unix.EINTR}}
		}},
		{"no room at first", 200_000, 3000, func() *script {
			return &script{first: errnos{sysx.Sendv: {unix.EAGAIN}}}
		}},
	} {
		for _, network := range []string{"tcp", "unix"} {
			for i, p := range testrun.Places {
				t.Run(c.name+"/"+network+"/"+p.Name, func(t *testing.T) {
					start(t, 2)
					conn, down := withPeerOf(t, network)
					pieces := cut(rand.New(rand.NewPCG(9, uint64(c.most))), c.total, c.most)
					drained := swallow(t, down, c.total)
					defer c.faults().install(t)()
					p.Do(t, func() {
						defer conn.Close()
						v := socket.Buffers(pieces)
						var n int64
						var err error
						if i%2 == 0 {
							n, err = v.WriteTo(conn)
						} else {
							n, err = conn.(interface {
								WriteBuffers(*net.Buffers) (int64, error)
							}).WriteBuffers((*net.Buffers)(&v))
						}
						if n != int64(c.total) || err != nil || len(v) != 0 {
							t.Errorf("%d, %v, %d pieces left", n, err, len(v))
						}
					})
					testenv.Await(t, drained, "reads")
				})
			}
		}
	}
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

// TestBuffersEnd: a deadline, Close and a failure in the middle: n is what the
// peer gets, and the vector has the rest, which can then be sent if the
// connection still is.
func TestBuffersEnd(t *testing.T) {
	const total = 4 << 20
	for _, p := range testrun.Places {
		for _, end := range []string{"deadline", "close", "failure"} {
			t.Run(p.Name+"/"+end, func(t *testing.T) {
				start(t, 2)
				c, down := unixWithPeer(t)
				v := socket.Buffers(cut(rand.New(rand.NewPCG(10, 10)), total, 10_000))
				var n int64
				var err error
				k := p.Go(func() { n, err = v.WriteTo(c) })
				var want error
				k.UntilParked(t, coroutine.ReasonWrite)
				switch end {
				case "failure":
					want = unix.EPIPE
					down.Close()
				case "deadline":
					want = os.ErrDeadlineExceeded
					c.SetWriteDeadline(time.Unix(1, 0))
				default:
					want = net.ErrClosed
					c.Close()
				}
				k.Wait(t)
				var op *net.OpError
				if !errors.Is(err, want) || !errors.As(err, &op) || op.Op != "writev" {
					t.Fatalf("%d, %v, want writev and %v", n, err, want)
				}
				left := 0
				for _, b := range v {
					left += len(b)
				}
				testenv.Equal(t, int(n)+left, total, n, "written", left, "left of")
				switch end {
				case "deadline":
					drained := swallow(t, down, total)
					p.Do(t, func() {
						defer c.Close()
						c.SetWriteDeadline(time.Time{})
						testenv.Gives(t, int64(left), nil, "the rest")(v.WriteTo(c))
					})
					testenv.Await(t, drained, "reads")
				case "close":
					testenv.Await(t, swallow(t, down, int(n)), "reads")
				}
			})
		}
	}
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
	name := filepath.Join(t.TempDir(), "s")
	at := &net.UnixAddr{Name: name, Net: "unixgram"}
	l := testenv.Closing(t, testenv.Must(net.ListenUnixgram("unixgram", at)))
	c := testenv.Closing(t, testenv.Must(socket.Dial("unixgram", name)))
	testrun.First.Do(t, func() {
		v := socket.Buffers{[]byte("hello"), nil, []byte(", world")}
		if n, err := v.WriteTo(c); n != 12 || err != nil || len(v) != 0 {
			t.Error(n, err, v)
		}
	})
	got := make([]byte, 100)
	if n, err := l.Read(got); string(got[:n]) != "hello, world" || err != nil {
		t.Errorf("%q, %v", got[:n], err)
	}
}

// TestBuffersNoAllocation: vectors go without allocation, long ones too, once
// there has been one.
func TestBuffersNoAllocation(t *testing.T) {
	testenv.NoRace(t)
	start(t, 1)
	for _, pieces := range []int{2, 100, 2000} {
		c, down := withPeer(t)
		go io.Copy(io.Discard, down)
		var allocs float64
		testrun.First.Do(t, func() {
			all := make([][]byte, pieces)
			v := new(socket.Buffers)
			allocs = testing.AllocsPerRun(200, func() {
				for i := range all {
					all[i] = tile[i : i+20]
				}
				*v = all
				testenv.NoError(t, testenv.Err(v.WriteTo(c)))
			})
		})
		if allocs >= 1 {
			t.Errorf("%d pieces: %v allocations", pieces, allocs)
		}
	}
}

// TestBuffersWhole: writers that share a connection do not get between one
// another's pieces.
func TestBuffersWhole(t *testing.T) {
	start(t, 2)
	c, down := withPeer(t)
	const rounds, pieces, size = 30, 200, 700
	var tasks []*testrun.Task
	for i := range 4 {
		tasks = append(tasks, testrun.Places[i%3].Go(func() {
			for range rounds {
				var v socket.Buffers
				for range pieces {
					v = append(v, bytes.Repeat([]byte{byte('a' + i)}, size))
				}
				testenv.Gives(t, int64(pieces*size), nil)(v.WriteTo(c))
			}
		}))
	}
	b := make([]byte, pieces*size)
	for i := range 4 * rounds {
		testenv.Must(io.ReadFull(down, b))
		if bytes.Count(b, b[:1]) != len(b) {
			t.Fatal(fmt.Sprint("vector ", i, " is mixed with another"))
		}
	}
	testrun.WaitAll(t, tasks...)
}
