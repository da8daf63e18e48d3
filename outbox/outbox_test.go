package outbox_test

import (
	"bytes"
	"cmp"
	"context"
	stdtls "crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/outbox"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/tls"
)

// kinds are connections: near is netco's, far package net's.
var kinds = []struct {
	name string
	pair func(t *testing.T) (near, far net.Conn)
}{
	{"tcp", func(t *testing.T) (near, far net.Conn) { return pair(t, "tcp", "127.0.0.1:0") }},
	{"unix", func(t *testing.T) (near, far net.Conn) {
		return pair(t, "unix", testenv.SocketPath(t, "s"))
	}},
	{"tls", func(t *testing.T) (near, far net.Conn) {
		near, far = pair(t, "tcp", "127.0.0.1:0")
		s := httptest.NewTLSServer(nil)
		defer s.Close()
		near = tls.Client(near, &tls.Config{InsecureSkipVerify: true})
		server := stdtls.Server(far, &stdtls.Config{Certificates: s.TLS.Certificates})
		done := make(chan error, 1)
		go func() { done <- server.Handshake() }()
		testenv.OK(t, near.(*tls.Conn).Handshake())
		testenv.OK(t, testenv.Await(t, done, "the handshake"))
		return near, server
	}},
}

// narrow makes the kernel keep little for the connection, so that it is soon
// noticed that the peer does not read.
func narrow(t *testing.T, ends ...net.Conn) {
	t.Helper()
	for _, c := range ends {
		if layer, ok := c.(interface{ NetConn() net.Conn }); ok {
			c = layer.NetConn()
		}
		b := c.(interface {
			SetReadBuffer(n int) error
			SetWriteBuffer(n int) error
		})
		testenv.OK(t, errors.Join(b.SetReadBuffer(kernelBuffer), b.SetWriteBuffer(kernelBuffer)))
	}
}

const kernelBuffer = 64 << 10

func pair(t *testing.T, network, at string) (near, far net.Conn) {
	t.Helper()
	ln := testenv.Closing(t, testenv.Must(net.Listen(network, at)))
	near = testenv.Closing(t, testenv.Must(netco.Dial(network, ln.Addr().String())))
	far = testenv.Closing(t, testenv.Must(ln.Accept()))
	far.SetDeadline(time.Now().Add(testenv.Limit))
	return near, far
}

func message(sender, number uint32, size int) []byte {
	p := make([]byte, 12+size)
	binary.BigEndian.PutUint32(p, uint32(size))
	binary.BigEndian.PutUint32(p[4:], sender)
	binary.BigEndian.PutUint32(p[8:], number)
	return p
}

// receive reads messages until the stream ends, checks that each sender's come
// in order, and returns how many there were.
func receive(t *testing.T, c net.Conn) (n uint64) {
	last := map[uint32]uint32{}
	var head [12]byte
	for ; ; n++ {
		_, err := io.ReadFull(c, head[:])
		if err == nil {
			_, err = io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head[:])))
		}
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the stream does not end")
			}
			return n
		}
		sender, number := binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint32(head[8:])
		if before, ok := last[sender]; ok && number <= before {
			t.Errorf("sender %d: message %d after %d", sender, number, before)
		}
		last[sender] = number
	}
}

// writers counts the coroutines that write.
func writers() (n int) {
	netco.Range(func(i netco.Info) bool {
		if i.Name == "outbox" {
			n++
		}
		return true
	})
	return n
}

// TestOrder: what is sent arrives, in order, also after Close, and no coroutine
// is left while nothing is queued.
func TestOrder(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			testrun.Start(t, 2)
			near, far := k.pair(t)
			b := outbox.New(near, outbox.Options{})
			const count = 1000
			got := make(chan uint64, 1)
			go func() { got <- receive(t, far) }()
			testrun.In(t, 0, func() {
				for i := range uint32(count) {
					testenv.NoError(t, b.Send(message(1, i, int(i)%7*(int(i)%50))))
				}
			})
			testenv.Until(t, "all to be sent", func() bool { return b.Stats().Sent == count })
			testenv.Until(t, "the writer to end", func() bool { return writers() == 0 })
			testrun.In(t, 1, func() {
				testenv.NoError(t, b.Send(message(1, count, 100_000)))
				testenv.Fails(t, b.Close(), nil, "Close")
			})
			testenv.Equal(t, testenv.Await(t, got, "the end of the stream"), count+1,
				"messages have arrived")
			if s := b.Stats(); s.Sent != count+1 || s.Dropped != 0 || s.Queued != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestSlow: a peer that does not read holds up no sender whose policy is not to
// wait; with Wait it does, until Close or a context ends it.
func TestSlow(t *testing.T) {
	big := make([]byte, 64<<10)
	fill := func(b *outbox.Outbox) error { // more than the kernel takes
		for range 500 {
			if err := b.Send(big); err != nil {
				return err
			}
			netco.Yield()
		}
		return nil
	}
	for _, k := range kinds {
		for _, c := range []struct {
			policy    outbox.Policy
			send, end error
		}{
			{outbox.DropOldest, nil, os.ErrDeadlineExceeded},
			{outbox.Disconnect, outbox.ErrSlow, outbox.ErrSlow},
		} {
			t.Run(k.name, func(t *testing.T) {
				testrun.Start(t, 1)
				near, far := k.pair(t)
				narrow(t, near, far)
				b := outbox.New(near, outbox.Options{
					Policy: c.policy, Messages: 4, FlushTimeout: time.Millisecond,
				})
				testrun.In(t, 0, func() {
					testenv.Fails(t, fill(b), c.send, "Send")
					testenv.Fails(t, b.Close(), c.end, "Close")
					testenv.Fails(t, b.Close(), net.ErrClosed, "second Close")
				})
				testenv.Until(t, "the writer to end", func() bool { return writers() == 0 })
				if s := b.Stats(); s.Queued != 0 || s.Dropped == 0 {
					t.Errorf("%+v", s)
				}
				if _, err := io.Copy(io.Discard, far); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error("the connection is open")
				}
			})
		}
	}
}

// TestWait: senders wait for room until something ends that.
func TestWait(t *testing.T) {
	for name, end := range map[string]func(b *outbox.Outbox, near net.Conn){
		"closed":      func(b *outbox.Outbox, near net.Conn) { b.Close() },
		"connection":  func(b *outbox.Outbox, near net.Conn) { near.Close() },
		"by deadline": func(b *outbox.Outbox, near net.Conn) { near.SetWriteDeadline(time.Now()) },
	} {
		t.Run(name, func(t *testing.T) {
			testrun.Start(t, 2)
			near, _ := pair(t, "tcp", "127.0.0.1:0")
			b := outbox.New(near, outbox.Options{Messages: 2, FlushTimeout: -1})
			var tasks []*testrun.Task
			for _, p := range testrun.Places {
				tasks = append(tasks, p.Go(func() {
					for b.Send(make([]byte, 64<<10)) == nil {
					}
				}))
			}
			testenv.Until(t, "the queue to be full", func() bool { return b.Stats().Queued >= 3 })
			end(b, near)
			testrun.WaitAll(t, tasks...)
			b.Close()
			testenv.Until(t, "the writer to end", func() bool { return writers() == 0 })
		})
	}
}

// TestForced: a forced end ends those that wait, and the writer.
func TestForced(t *testing.T) {
	testrun.Start(t, 2)
	near, _ := pair(t, "tcp", "127.0.0.1:0")
	b := outbox.New(near, outbox.Options{Messages: 2})
	var err error
	task := testrun.First.Go(func() {
		for err == nil {
			err = b.Send(make([]byte, 64<<10))
		}
		b.Close()
	})
	testenv.Until(t, "the queue to be full", func() bool { return b.Stats().Queued >= 3 })
	testrun.ShutdownByForce(t)
	task.Wait(t)
	testenv.Fails(t, err, netco.ErrShutdown, "Send")
}

// vectors takes many pieces at once.
type vectors struct{ *gated }

func (v *vectors) WriteBuffers(p *net.Buffers) (int64, error) {
	n, err := v.Write(bytes.Join(*p, nil))
	return int64(n), err
}

// TestBatches: what is queued while a write is under way goes with the next, as
// one write.
func TestBatches(t *testing.T) {
	for _, c := range []struct{ size, count, first, second int }{
		{1, 300, 256, 44}, {1000, 100, 65, 35}, {100_000, 2, 1, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := &vectors{gated: newGated("tcp")}
			b := outbox.New(conn, outbox.Options{Messages: 1000}).Vectors(conn)
			testenv.OK(t, b.Send(nil))
			synctest.Wait() // it is being written
			for range c.count {
				testenv.OK(t, b.Send(make([]byte, c.size)))
			}
			for _, want := range []int{c.count + 1, c.count, c.second} {
				testenv.Equal(t, b.Stats().Queued, want, "are queued", c)
				conn.gate <- nil
				synctest.Wait()
			}
			testenv.OK(t, b.Close())
		})
	}
}

// TestBytes: there is room for so many bytes, and for one message of any size.
func TestBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := outbox.New(newGated("tcp"), outbox.Options{
			Policy: outbox.DropOldest, Bytes: 10, FlushTimeout: -1,
		})
		testenv.OK(t, b.Send(nil))
		synctest.Wait() // it is being written
		for _, c := range []struct{ size, queued, dropped int }{
			{4, 2, 0}, {6, 3, 0}, {1, 3, 1}, {20, 2, 3}, {10, 2, 4},
		} {
			testenv.OK(t, b.Send(make([]byte, c.size)))
			if s := b.Stats(); s.Queued != c.queued || s.Dropped != uint64(c.dropped) {
				t.Errorf("%+v: %+v", c, s)
			}
		}
		testenv.Fails(t, b.Close(), os.ErrDeadlineExceeded, "Close")
	})
}

// TestHammer: many senders, coroutines and goroutines, to peers of which some
// are slow. All that was accepted is counted once, and has arrived if it was
// sent.
func TestHammer(t *testing.T) {
	for _, policy := range []outbox.Policy{outbox.Wait, outbox.DropOldest, outbox.Disconnect} {
		for _, k := range kinds {
			t.Run(k.name, func(t *testing.T) {
				testrun.Start(t, 2)
				for range testenv.Rounds(20) {
					hammer(t, policy, k.pair)
				}
			})
		}
	}
}

func hammer(t *testing.T, p outbox.Policy, connect func(*testing.T) (near, far net.Conn)) {
	const conns, rounds = 3, 200
	var boxes []*outbox.Outbox
	var readers, accepted [conns]atomic.Uint64
	var reading sync.WaitGroup
	for i := range conns {
		near, far := connect(t)
		boxes = append(boxes, outbox.New(near, outbox.Options{Policy: p, Messages: 16}))
		reading.Go(func() {
			if i == 1 {
				time.Sleep(time.Millisecond) // slow, not stuck
			}
			readers[i].Store(receive(t, far))
		})
	}
	var tasks []*testrun.Task
	for s, place := range testrun.Places {
		tasks = append(tasks, place.Go(func() {
			for n := range uint32(rounds) {
				m := message(uint32(s), n, int(n)%5*1000)
				for i, b := range boxes {
					if b.Send(m) == nil {
						accepted[i].Add(1)
					}
				}
			}
		}))
	}
	testrun.WaitAll(t, tasks...)
	for i, b := range boxes {
		err := b.Close()
		if err != nil && (p != outbox.Disconnect || !errors.Is(err, outbox.ErrSlow)) {
			t.Errorf("Close: %v", err)
		}
		testenv.Until(t, "the writer to end", func() bool { return b.Stats().Queued == 0 })
		s := b.Stats()
		if s.Sent+s.Dropped != accepted[i].Load() || p == outbox.Wait && s.Dropped != 0 {
			t.Errorf("%+v, and %d accepted", s, accepted[i].Load())
		}
	}
	reading.Wait()
	for i, b := range boxes {
		s := b.Stats()
		got := readers[i].Load()
		if got > s.Sent+s.Dropped || p != outbox.Disconnect && got != s.Sent {
			t.Errorf("%d messages have arrived; %+v", got, s)
		}
	}
}

// TestSendContext: a context ends a wait for room, and nothing else.
func TestSendContext(t *testing.T) {
	testrun.Start(t, 2)
	near, _ := pair(t, "tcp", "127.0.0.1:0")
	b := outbox.New(near, outbox.Options{Messages: 2, FlushTimeout: -1})
	ctx, cancel := context.WithCancel(context.Background())
	var tasks []*testrun.Task
	for _, p := range testrun.Places {
		tasks = append(tasks, p.Go(func() {
			var err error
			for err == nil {
				err = b.SendContext(ctx, make([]byte, 64<<10))
			}
			testenv.Fails(t, err, context.Canceled, "SendContext")
		}))
	}
	testenv.Until(t, "the queue to be full", func() bool { return b.Stats().Queued >= 3 })
	cancel()
	testrun.WaitAll(t, tasks...)
	if s := b.Stats(); s.Dropped != 0 {
		t.Errorf("%+v", s)
	}
	b.Close()
}

// reluctant is a connection whose Write succeeds and returns when it is closed.
type reluctant struct{ *gated }

func (r reluctant) Write(p []byte) (int, error) {
	<-r.closed
	return len(p), nil
}

// TestCloseWritten: a write that has succeeded is no timeout, also if it
// returns late.
func TestCloseWritten(t *testing.T) {
	for _, flush := range []time.Duration{-1, time.Second} {
		for queued, want := range []error{nil, os.ErrDeadlineExceeded} {
			synctest.Test(t, func(t *testing.T) {
				b := outbox.New(reluctant{newGated("tcp")}, outbox.Options{FlushTimeout: flush})
				testenv.OK(t, b.Send([]byte("x")))
				synctest.Wait() // it is being written
				for range queued {
					testenv.OK(t, b.Send([]byte("y")))
				}
				testenv.Fails(t, b.Close(), want, "flush", flush, queued, "queued")
				if s := b.Stats(); s.Sent != 1 || s.Dropped != uint64(queued) || s.Queued != 0 {
					t.Errorf("flush %v, %d queued: %+v", flush, queued, s)
				}
				testenv.Fails(t, b.Send(nil), cmp.Or(want, net.ErrClosed))
			})
		}
	}
}

// TestInherit: a Send whose writer cannot inherit the Locals of its sender
// panics, and does not leave the messages without a writer.
func TestInherit(t *testing.T) {
	panics := true
	local := netco.NewLocal(netco.LocalOptions[int]{Inherit: func(*int) int {
		if panics {
			panic("no heir")
		}
		return 0
	}})
	testrun.Start(t, 2)
	near, far := pair(t, "tcp", "127.0.0.1:0")
	b := outbox.New(near, outbox.Options{})
	testrun.In(t, 0, func() {
		local.Set(1)
		func() {
			defer func() { testenv.Equal(t, recover(), any("no heir")) }()
			b.Send([]byte("hel"))
			t.Error("Send has returned")
		}()
		panics = false
		testenv.OK(t, b.Send([]byte("lo")))
		testenv.OK(t, b.Close())
	})
	testenv.Gives(t, "hello", nil)(testenv.AsText(io.ReadAll(far)))
}

// shouting has a Write of its own.
type shouting struct{ *socket.TCPConn }

func (s shouting) Write(p []byte) (int, error) { return s.TCPConn.Write(bytes.ToUpper(p)) }

// TestEmbeds: the Write of a type that embeds a connection is not gone round.
func TestEmbeds(t *testing.T) {
	testrun.Start(t, 1)
	near, far := pair(t, "tcp", "127.0.0.1:0")
	b := outbox.New(shouting{near.(*socket.TCPConn)}, outbox.Options{})
	testrun.In(t, 0, func() {
		for _, m := range []string{"he", "l", "lo"} { // before the writer runs
			testenv.OK(t, b.Send([]byte(m)))
		}
		testenv.OK(t, b.Close())
	})
	testenv.Gives(t, "HELLO", nil)(testenv.AsText(io.ReadAll(far)))
}

func TestMain(m *testing.M) { testenv.Main(m) }
