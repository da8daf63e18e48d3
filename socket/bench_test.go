package socket_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// BenchmarkPair is a write and a read of one byte that do not wait: two system
// calls, and what is done besides. It shows what counting them costs.
func BenchmarkPair(b *testing.B) {
	start(b, 1)
	from, to := socketPair(b, unix.SOCK_STREAM)
	testrun.First.Do(b, func() {
		p := make([]byte, 1)
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if _, err := from.Write(p); err != nil {
				b.Error(err)
			}
			if _, err := to.Read(p); err != nil {
				b.Error(err)
			}
		}
		b.StopTimer()
	})
}

// BenchmarkCount is what counting adds to a read that waited and a write.
func BenchmarkCount(b *testing.B) {
	start(b, 1)
	testrun.First.Do(b, func() {
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			counts := processor.CurrentIO()
			counts.CountSavedRead()
			counts.CountRead(1, 0)
			processor.CurrentIO().CountWrite(1, 0)
		}
		b.StopTimer()
	})
}

// BenchmarkPoll: one that finds something at once, and one that waits until
// another coroutine of the same Processor rings.
func BenchmarkPoll(b *testing.B) {
	for _, n := range []int{1, 2, 8, 64, 1000} {
		var fds []int
		for range n {
			fds = append(fds, eventfd(b, 0))
		}
		bell := fds[n-1]
		set := in(fds...)
		b.Run(fmt.Sprintf("ready/%d", n), func(b *testing.B) {
			start(b, 1)
			ring(bell)
			testrun.First.Do(b, func() {
				for range b.N {
					socket.Poll(set, -1)
				}
			})
			drain(bell)
		})
		b.Run(fmt.Sprintf("waits/%d", n), func(b *testing.B) {
			start(b, 1)
			testrun.First.Do(b, func() {
				for range b.N {
					netco.GoWith(netco.Spawn{Local: true, Fn: func() { ring(bell) }})
					socket.Poll(set, time.Minute)
					drain(bell)
				}
			})
		})
	}
}

// BenchmarkUDPEcho: a datagram of 64 bytes goes to another coroutine, or
// goroutine, and comes back.
func BenchmarkUDPEcho(b *testing.B) {
	trips := func(b *testing.B, c udpConn, to netip.AddrPort) {
		buf := make([]byte, 64)
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if _, err := c.WriteToUDPAddrPort(buf, to); err != nil {
				b.Error(err)
				return
			}
			if _, _, err := c.ReadFromUDPAddrPort(buf); err != nil {
				b.Error(err)
				return
			}
		}
		b.StopTimer()
	}
	answer := func(c udpConn) {
		buf := make([]byte, 64)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			c.WriteToUDPAddrPort(buf[:n], from)
		}
	}
	pair := func(b *testing.B, m udpMaker) (x, y udpConn) {
		x = testenv.Must(m.listen("udp", loopback4))
		y = testenv.Must(m.listen("udp", loopback4))
		b.Cleanup(func() { x.Close(); y.Close() })
		return x, y
	}
	b.Run("netco", func(b *testing.B) {
		start(b, 1)
		x, y := pair(b, ourUDP)
		testrun.First.Go(func() { answer(y) })
		testrun.First.Go(func() { trips(b, x, portOf(y)) }).Wait(b)
	})
	b.Run("net", func(b *testing.B) {
		x, y := pair(b, netUDP)
		go answer(y)
		trips(b, x, portOf(y))
	})
}

// BenchmarkUDPSend: datagrams of 1200 bytes, one for each iteration, to a
// socket that is never read.
func BenchmarkUDPSend(b *testing.B) {
	const size, batch, segments = 1200, 32, 50
	run := func(name string, send func(b *testing.B, c *socket.UDPConn, to netip.AddrPort)) {
		b.Run(name, func(b *testing.B) {
			netco.Start(netco.Options{Processors: 1})
			defer netco.Shutdown(context.Background())
			sink, c := netPeer(b, loopback4), listenUDP(b, loopback4)
			defer c.Close()
			b.SetBytes(size)
			b.ReportAllocs()
			testrun.First.Go(func() { send(b, c, portOf(sink)) }).Wait(b)
		})
	}
	run("single", func(b *testing.B, c *socket.UDPConn, to netip.AddrPort) {
		p := make([]byte, size)
		for range b.N {
			if _, err := c.WriteToUDPAddrPort(p, to); err != nil {
				b.Error(err)
				return
			}
		}
	})
	run("batch", func(b *testing.B, c *socket.UDPConn, to netip.AddrPort) {
		sendMessages(b, c, socket.Message{Buf: make([]byte, size), Addr: to}, batch, 1)
	})
	run("segments", func(b *testing.B, c *socket.UDPConn, to netip.AddrPort) {
		sendMessages(b, c, socket.Message{Buf: make([]byte, size*segments), Addr: to,
			SegmentSize: size}, 4, segments)
	})
	b.Run("net", func(b *testing.B) {
		sink := netPeer(b, loopback4)
		c := testenv.Closing(b, testenv.Must(net.ListenUDP("udp", loopback4)))
		p, to := make([]byte, size), portOf(sink)
		b.SetBytes(size)
		b.ReportAllocs()
		for range b.N {
			testenv.Must(c.WriteToUDPAddrPort(p, to))
		}
	})
}

// sendMessages sends batches of the same message, which is several datagrams,
// until b.N have gone.
func sendMessages(b *testing.B, c *socket.UDPConn, m socket.Message, batch, datagrams int) {
	ms := make([]socket.Message, batch)
	for i := range ms {
		ms[i] = m
	}
	for sent := 0; sent < b.N; sent += batch * datagrams {
		if _, err := c.WriteBatch(ms); err != nil {
			b.Error(err)
			return
		}
	}
}
