package socket_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestHammerStreams: on many connections at once, both directions carry a
// stream in pieces of random size, while others set random deadlines and look
// at the connection. Nothing is lost, doubled or swapped.
func TestHammerStreams(t *testing.T) {
	conns, total := 24, 200<<10
	if goruntime.RaceEnabled {
		conns, total = 12, 60<<10
	}
	seed := testenv.Seed(t)
	start(t, 2)
	var tasks []*testrun.Task
	for i := range conns {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		a, b := pair(t)
		for _, c := range []*socket.TCPConn{a, b} {
			var left atomic.Int32
			left.Store(2)
			finish := func() {
				if left.Add(-1) == 0 {
					c.Close()
				}
			}
			run := func(f func(*rand.Rand)) {
				own := rand.New(rand.NewPCG(rnd.Uint64(), 0))
				tasks = append(tasks, someplace(rnd).Go(func() { f(own) }))
			}
			run(func(rnd *rand.Rand) {
				defer finish()
				testenv.Fails(t, writeStream(c, rnd, total), nil, "writer")
			})
			run(func(rnd *rand.Rand) {
				defer finish()
				testenv.Fails(t, readStream(c, rnd, total), nil, "reader")
			})
			run(func(rnd *rand.Rand) {
				for c.SetDeadline(someTime(rnd)) == nil && left.Load() > 0 {
					for range rnd.IntN(20) {
						netco.Yield()
					}
					if rnd.IntN(4) == 0 {
						netco.Sleep(time.Duration(rnd.IntN(200)) * time.Microsecond)
					}
				}
			})
		}
	}
	testrun.WaitAll(t, tasks...)
}

// someTime is a deadline that is over, near, far or none.
func someTime(rnd *rand.Rand) time.Time {
	switch rnd.IntN(4) {
	case 0:
		return past
	case 1:
		return time.Now().Add(time.Duration(rnd.IntN(300)) * time.Microsecond)
	case 2:
		return future
	}
	return time.Time{}
}

func writeStream(c *socket.TCPConn, rnd *rand.Rand, total int) error {
	buf := make([]byte, 64<<10)
	for at := 0; at < total; {
		p := buf[:min(1+rnd.IntN(1<<rnd.IntN(17)), total-at)]
		fill(p, at)
		n, err := c.Write(p)
		at += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			netco.Yield()
		} else if err != nil || n != len(p) {
			return fmt.Errorf("at %d of %d: wrote %d of %d, %w", at, total, n, len(p), err)
		}
	}
	return c.CloseWrite()
}

func readStream(c *socket.TCPConn, rnd *rand.Rand, total int) error {
	buf := make([]byte, 64<<10)
	for at := 0; ; {
		if rnd.IntN(4) == 0 {
			if err := c.WaitReadable(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				return err
			}
		}
		n, err := c.Read(buf[:1+rnd.IntN(1<<rnd.IntN(17))])
		if d := differs(buf[:n], at); d != "" {
			return errors.New(d)
		}
		at += n
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			netco.Yield()
		case err == io.EOF && at == total:
			return nil
		default:
			return fmt.Errorf("at %d of %d: %w", at, total, err)
		}
	}
}

// TestHammerWild: everything at once from everywhere, closes and resets
// included. Any error that the operation can have is fine; a hang, a crash or
// an fd left open is not.
func TestHammerWild(t *testing.T) {
	conns, ops := 60, 120
	if goruntime.RaceEnabled {
		conns = 20
	}
	seed := testenv.Seed(t)
	start(t, 2)
	l := listen(t)
	var tasks []*testrun.Task
	for i := range conns {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		a := testenv.Must(dialTCP("tcp", l.Addr().String()))
		b := testenv.Must(l.AcceptTCP())
		for _, c := range []*socket.TCPConn{a, b} {
			for j := range 3 {
				own := rand.New(rand.NewPCG(rnd.Uint64(), 0))
				tasks = append(tasks, someplace(rnd).Go(func() {
					if j == 0 { // without it the others might wait for ever
						defer c.Close()
					}
					wild(t, c, own, ops, j == 0)
				}))
			}
		}
	}
	testrun.WaitAll(t, tasks...)
	l.Close()
	untilOpen(t, 0)
}

// wild does random operations; the owner does none that waits, and closes at
// the end or before.
func wild(t *testing.T, c *socket.TCPConn, rnd *rand.Rand, ops int, owner bool) {
	buf := make([]byte, 32<<10)
	for range ops {
		var err error
		op := rnd.IntN(1000)
		switch {
		case owner && op < 600:
			netco.Sleep(time.Duration(rnd.IntN(100)) * time.Microsecond)
		case op < 300:
			_, err = c.Read(buf[:rnd.IntN(len(buf))])
		case op < 550:
			_, err = c.Write(buf[:rnd.IntN(len(buf))])
		case op < 600:
			err = c.WaitReadable()
		case op < 700:
			err = c.SetReadDeadline(someTime(rnd))
		case op < 800:
			err = c.SetWriteDeadline(someTime(rnd))
		case op < 900:
			netco.Yield()
		case op < 990:
			err = c.SetNoDelay(op%2 == 0)
		case op < 992:
			err = c.CloseWrite()
		case op < 994:
			err = c.CloseRead()
		case op < 996:
			err = c.SetLinger(0)
		case op < 998 && owner:
			err = c.Close()
		}
		switch {
		case err == nil, err == io.EOF, errors.Is(err, os.ErrDeadlineExceeded),
			errors.Is(err, unix.EPIPE),
			errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.ENOTCONN):
		case errors.Is(err, net.ErrClosed):
			return
		default:
			t.Errorf("operation %d: %v", op, err)
		}
	}
}

// TestHammerConnect: connections are made, used once and closed from
// everywhere, so that fds and slots are reused at once by others and a stale
// event would meet a stranger.
func TestHammerConnect(t *testing.T) {
	start(t, 2)
	l := listen(t)
	each := 150
	if goruntime.RaceEnabled {
		each = 40
	}
	var servers, clients []*testrun.Task
	for _, p := range testrun.Places {
		servers = append(servers, p.Go(func() {
			acceptAll(t, l, func(c net.Conn) { p.Run(func() { echo(c) }) })
		}))
	}
	for i := range 6 {
		clients = append(clients, place(i).Go(func() {
			for n := range each {
				c := testenv.Must(dialTCP("tcp", l.Addr().String()))
				if n%5 == 0 {
					c.SetLinger(0)
				}
				if n%7 == 0 { // leaves without a word
					c.Close()
					continue
				}
				testenv.NoError(t, answered(c, fmt.Sprintf("%d from %d", n, i)))
				c.Close()
			}
		}))
	}
	testrun.WaitAll(t, clients...)
	l.Close()
	testrun.WaitAll(t, servers...)
	untilOpen(t, 0)
}

// hammerDatagram is a datagram that can be checked by itself: sender, number,
// sum over all, and bytes that follow from them.
func hammerDatagram(sender, number uint32, size int) []byte {
	p := make([]byte, 16+size)
	binary.BigEndian.PutUint32(p[4:], sender)
	binary.BigEndian.PutUint32(p[8:], number)
	binary.BigEndian.PutUint32(p[12:], uint32(size))
	fill(p[16:], int(sender+number))
	binary.BigEndian.PutUint32(p, crc32.ChecksumIEEE(p[4:]))
	return p
}

func checkHammerDatagram(p []byte) (sender, number uint32, err error) {
	if len(p) < 16 || int(binary.BigEndian.Uint32(p[12:])) != len(p)-16 {
		return 0, 0, fmt.Errorf("a datagram of %d bytes has lost its bounds: % x", len(p),
			p[:min(len(p), 16)])
	}
	sender, number = binary.BigEndian.Uint32(p[4:]), binary.BigEndian.Uint32(p[8:])
	if binary.BigEndian.Uint32(p) != crc32.ChecksumIEEE(p[4:]) {
		return 0, 0, fmt.Errorf("datagram %d of %d is damaged", number, sender)
	}
	return sender, number, nil
}

// hammerSize is mostly small, at times large, and below what a datagram may
// have.
func hammerSize(rnd *rand.Rand) int { return rnd.IntN(1 << (1 + rnd.IntN(15))) }

// TestHammerUDP: from every place, datagrams of random size go to random
// sockets in every way there is, batches, segments and all, while others set
// random deadlines. UDP may lose some; none is damaged, cut, joined without
// saying so, doubled, or said to be from another, and most come.
func TestHammerUDP(t *testing.T) {
	sockets, senders, each := 4, 8, 400
	if goruntime.RaceEnabled {
		senders, each = 6, 150
	}
	seed := testenv.Seed(t)
	start(t, 2)
	h := &udpHammer{t: t, seen: map[uint64]bool{}, from: make([]netip.AddrPort, senders)}
	var readers, writers []*testrun.Task
	for i := range sockets {
		at := []*net.UDPAddr{loopback4, loopback6}[i%2]
		c := listenUDP(t, at)
		c.SetReadBuffer(4 << 20)
		if i >= 2 {
			if err := c.SetGRO(true); err != nil {
				t.Log(err)
			}
		}
		h.in = append(h.in, c)
		for j := range 2 {
			rnd := rand.New(rand.NewPCG(seed, uint64(100*i+j)))
			readers = append(readers, someplace(rnd).Go(func() { h.read(c, rnd, i >= 2) }))
		}
	}
	var out []*socket.UDPConn
	for i := range senders {
		rnd := rand.New(rand.NewPCG(seed, uint64(10000+i)))
		if i < senders/2 {
			out = append(out, listenUDP(t, []*net.UDPAddr{loopback4, loopback6}[i%2]))
		}
		c := out[i%len(out)] // which two share
		h.from[i] = portOf(c)
		writers = append(writers, someplace(rnd).Go(func() { h.write(c, rnd, uint32(i), each) }))
	}
	testrun.WaitAll(t, writers...)
	testenv.Until(t, "most to arrive", func() bool { return h.received.Load() >= h.sent.Load()/2 })
	for _, c := range h.in {
		c.Close()
	}
	testrun.WaitAll(t, readers...)
}

type udpHammer struct {
	t              *testing.T
	in             []*socket.UDPConn
	from           []netip.AddrPort // of the senders
	sent, received atomic.Int64
	lost           atomic.Int64 // so many at most

	mu   sync.Mutex // held for a moment
	seen map[uint64]bool
}

func (h *udpHammer) read(c *socket.UDPConn, rnd *rand.Rand, gro bool) {
	ms := room(9, 1<<16, 32)
	for {
		if rnd.IntN(8) == 0 {
			c.SetReadDeadline(someTime(rnd))
		}
		n, err := 1, error(nil)
		way := rnd.IntN(4)
		if gro {
			way = 3 // the only one that shows what was joined
		}
		m := &ms[0]
		m.SegmentSize = 0
		switch way {
		case 0:
			m.N, m.Addr, err = c.ReadFromUDPAddrPort(m.Buf)
		case 1:
			var from *net.UDPAddr
			m.N, from, err = c.ReadFromUDP(m.Buf)
			m.Addr = from.AddrPort()
			if from != nil && from.IP.To4() != nil {
				m.Addr = netip.AddrPortFrom(m.Addr.Addr().Unmap(), m.Addr.Port())
			}
		case 2:
			m.N, _, m.Flags, m.Addr, err = c.ReadMsgUDPAddrPort(m.Buf, m.OOB)
		case 3:
			n, err = c.ReadBatch(ms[:1+rnd.IntN(len(ms))])
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			netco.Yield()
		case err != nil:
			failsIn(h.t, "read", err, net.ErrClosed)
			return
		default:
			for i := range n {
				h.take(&ms[i])
			}
		}
	}
}

func (h *udpHammer) take(m *socket.Message) {
	for p := m.Buf[:m.N]; len(p) > 0; {
		one := p
		if m.SegmentSize != 0 {
			one = p[:min(m.SegmentSize, len(p))]
		}
		p = p[len(one):]
		sender, number, err := checkHammerDatagram(one)
		if err == nil && (int(sender) >= len(h.from) || h.from[sender] != m.Addr) {
			err = fmt.Errorf("a datagram of %d from %v", sender, m.Addr)
		}
		h.mu.Lock()
		key := uint64(sender)<<32 | uint64(number)
		if err == nil && h.seen[key] {
			err = fmt.Errorf("datagram %d of %d came twice", number, sender)
		}
		h.seen[key] = true
		h.mu.Unlock()
		if err != nil {
			h.t.Errorf("%v (%d bytes, segment size %d, flags %#x)", err, m.N, m.SegmentSize,
				m.Flags)
		}
		h.received.Add(1)
	}
}

// keepPace waits until the readers, which may be held up, have most of what was
// sent: else the kernel drops it. What does not come within a second is lost.
func (h *udpHammer) keepPace() {
	for end := time.Now().Add(time.Second); h.sent.Load()-h.received.Load()-h.lost.Load() > 32; {
		if time.Now().After(end) {
			h.lost.Store(h.sent.Load() - h.received.Load())
			return
		}
		netco.Sleep(100 * time.Microsecond)
	}
}

func (h *udpHammer) write(c *socket.UDPConn, rnd *rand.Rand, sender uint32, total int) {
	is4 := portOf(c).Addr().Is4()
	number := uint32(0)
	next := func(size int) []byte {
		number++
		h.sent.Add(1)
		return hammerDatagram(sender, number, size)
	}
	for int(number) < total {
		h.keepPace()
		to := portOf(h.in[rnd.IntN(len(h.in))])
		if to.Addr().Is4() != is4 {
			continue
		}
		if rnd.IntN(8) == 0 {
			c.SetWriteDeadline(someTime(rnd))
		}
		var ms []socket.Message
		var err error
		for range 1 + rnd.IntN(40)*rnd.IntN(2) {
			m := socket.Message{Addr: to, Buf: next(hammerSize(rnd))}
			if rnd.IntN(4) == 0 && len(m.Buf) < 1400 {
				m.SegmentSize = len(m.Buf)
				for range rnd.IntN(10) {
					m.Buf = append(m.Buf, next(m.SegmentSize-16)...)
				}
			}
			ms = append(ms, m)
		}
		for len(ms) > 0 {
			n := 0
			switch m := &ms[0]; {
			case rnd.IntN(2) == 0 || m.SegmentSize != 0:
				n, err = c.WriteBatch(ms)
			case rnd.IntN(2) == 0:
				_, err = c.WriteToUDPAddrPort(m.Buf, to)
			default:
				_, _, err = c.WriteMsgUDPAddrPort(m.Buf, nil, to)
			}
			switch {
			case errors.Is(err, os.ErrDeadlineExceeded): // after n, if there was no room
				c.SetWriteDeadline(time.Time{})
			case err != nil:
				h.t.Errorf("sender %d: %v", sender, err)
				return
			default:
				n = max(n, 1)
			}
			ms = ms[n:]
		}
		netco.Yield()
	}
}
