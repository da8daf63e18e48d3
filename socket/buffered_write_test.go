package socket_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

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
							frame = append(append(frame, byte(i), byte(seq)), bytes.Repeat([]byte{byte(i*frames + seq)}, size)...)
						} else {
							frame = append(b.AvailableBuffer(), frame...)
							yieldSome(r)
							frame = append(append(frame, byte(i), byte(seq)), bytes.Repeat([]byte{byte(i*frames + seq)}, size)...)
						}
						if _, err := b.Write(frame); err != nil {
							t.Error(err)
						}
						yieldSome(r)
					}
					if err := b.Flush(); err != nil {
						t.Error(err)
					}
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
				if seq != next[who] || bytes.Count(body, []byte{byte(int(who)*frames + int(seq))}) != len(body) {
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
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 2)
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
					if n, err := b.Write(q); n != size || err != nil {
						t.Errorf("%d of %d, %v", n, size, err)
					}
				}
				if err := b.Flush(); err != nil {
					t.Error(err)
				}
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
			if n, err := b.Write(all[100:40_000]); n != 39_900 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			if n, v := s.called[sysx.Send].Load(), s.called[sysx.Sendv].Load(); n != 0 || v != 1 {
				t.Errorf("%d and %d writes", n, v)
			}
			b.Write(all[40_000:40_001])
			if n, err := b.Write(all[40_001:]); n != len(all)-40_001 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
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
