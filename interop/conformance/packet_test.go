package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/nettest"

	"github.com/netco-go/netco/interop/internal/place"
	conet "github.com/netco-go/netco/net"
)

// packetNetworks are those on which packet connections are tried, each with a fresh address.
var packetNetworks = []struct {
	name    string
	address func(t *testing.T) string
}{
	{"udp4", func(*testing.T) string { return "127.0.0.1:0" }},
	{"udp6", func(*testing.T) string { return "[::1]:0" }},
	{"unixgram", socketPath},
}

// eachPacketNetwork runs a test on each network in each place, with a function that makes packet connections on it.
func eachPacketNetwork(t *testing.T, body func(t *testing.T, p place.Place,
	listen func(maker) net.PacketConn)) {
	for _, network := range packetNetworks {
		t.Run(network.name, func(t *testing.T) {
			if network.name == "udp6" && !nettest.SupportsIPv6() {
				t.Skip("no IPv6")
			}
			place.Each(t, func(t *testing.T, p place.Place) {
				body(t, p, func(make maker) net.PacketConn {
					c, err := make(network.name, network.address(t))
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { c.Close() })
					return c
				})
			})
		})
	}
}

// maker is net.ListenPacket or conet.ListenPacket.
type maker func(network, address string) (net.PacketConn, error)

// TestPackets: packets go between netco's connections and net's, each whole, with the sender's address.
func TestPackets(t *testing.T) {
	makers := []maker{conet.ListenPacket, net.ListenPacket}
	eachPacketNetwork(t, func(t *testing.T, p place.Place, listen func(maker) net.PacketConn) {
		for i, peer := range makers {
			c1, c2 := listen(conet.ListenPacket), listen(peer)
			wait := place.Goroutine.Go(func() error { return echoPackets(c2) })
			p.Do(t, func() error { return exchange(c1, c2.LocalAddr()) })
			c2.Close()
			if err := wait(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("peer %d: %v", i, err)
			}
		}
	})
}

// echoPackets sends each packet back until the connection is closed.
func echoPackets(c net.PacketConn) error {
	buf := make([]byte, 64<<10)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return err
		}
		if _, err := c.WriteTo(buf[:n], from); err != nil {
			return err
		}
	}
}

// exchange sends packets of several sizes to a peer that sends them back.
func exchange(c net.PacketConn, to net.Addr) error {
	c.SetDeadline(time.Now().Add(place.Limit))
	buf := make([]byte, 64<<10)
	for _, size := range []int{1, 0, 1000, 1472, 30_000} {
		want := bytes.Repeat([]byte{byte(size)}, size)
		if n, err := c.WriteTo(want, to); n != size || err != nil {
			return fmt.Errorf("WriteTo of %d bytes: %d, %w", size, n, err)
		}
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return err
		}
		if !bytes.Equal(buf[:n], want) || from.String() != to.String() {
			return fmt.Errorf("%d bytes from %v for %d sent to %v", n, from, size, to)
		}
	}
	return nil
}

// TestPacketTruncation: what does not fit the buffer is lost, without an error, as with net.
func TestPacketTruncation(t *testing.T) {
	eachPacketNetwork(t, func(t *testing.T, p place.Place, listen func(maker) net.PacketConn) {
		c1, c2 := listen(conet.ListenPacket), listen(conet.ListenPacket)
		p.Do(t, func() error {
			for _, packet := range []string{"abcdef", "gh"} {
				if _, err := c1.WriteTo([]byte(packet), c2.LocalAddr()); err != nil {
					return err
				}
			}
			buf := make([]byte, 3)
			for _, want := range []string{"abc", "gh"} {
				n, _, err := c2.ReadFrom(buf)
				if err != nil || string(buf[:n]) != want {
					return fmt.Errorf("read %q, %w; want %q", buf[:n], err, want)
				}
			}
			return nil
		})
	})
}

// TestPacketDeadlines: a deadline in the past, one that comes while a read waits, and one set by someone else meanwhile.
func TestPacketDeadlines(t *testing.T) {
	eachPacketNetwork(t, func(t *testing.T, p place.Place, listen func(maker) net.PacketConn) {
		c := listen(conet.ListenPacket)
		for name, deadline := range map[string]time.Time{"past": time.Unix(1, 0),
			"future": time.Now().Add(20 * time.Millisecond)} {
			if err := c.SetReadDeadline(deadline); err != nil {
				t.Fatal(err)
			}
			if err := p.Run(func() error { return timesOut(c) }); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		c.SetReadDeadline(time.Time{})
		wait := p.Go(func() error { return timesOut(c) })
		p.Do(t, func() error { return c.SetReadDeadline(time.Unix(1, 0)) })
		if err := wait(); err != nil {
			t.Errorf("set meanwhile: %v", err)
		}
	})
}

func timesOut(c net.PacketConn) error {
	ne := net.Error(nil)
	n, from, err := c.ReadFrom(make([]byte, 10))
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &ne) || !ne.Timeout() {
		return fmt.Errorf("read %d bytes from %v, %w", n, from, err)
	}
	return nil
}

// TestPacketClose: Close ends reads under way, and every later call, with net.ErrClosed.
func TestPacketClose(t *testing.T) {
	eachPacketNetwork(t, func(t *testing.T, p place.Place, listen func(maker) net.PacketConn) {
		c := listen(conet.ListenPacket)
		to := c.LocalAddr()
		read := func() error { _, _, err := c.ReadFrom(make([]byte, 10)); return err }
		wait := p.Go(read)
		p.Do(t, c.Close)
		for name, err := range map[string]error{
			"read under way": wait(),
			"read":           p.Run(read),
			"write": p.Run(func() error {
				_, err := c.WriteTo([]byte("x"), to)
				return err
			}),
			"deadline": p.Run(func() error { return c.SetDeadline(time.Now()) }),
			"close":    p.Run(c.Close),
		} {
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestPacketConcurrentMethods: all methods at once, for the race detector.
func TestPacketConcurrentMethods(t *testing.T) {
	eachPacketNetwork(t, func(t *testing.T, p place.Place, listen func(maker) net.PacketConn) {
		c := listen(conet.ListenPacket)
		to := c.LocalAddr()
		var wg sync.WaitGroup
		for range 50 {
			for _, call := range []func(){
				func() { c.ReadFrom(make([]byte, 100)) },
				func() { c.WriteTo(make([]byte, 100), to) },
				func() { c.SetDeadline(time.Now().Add(10 * time.Millisecond)) },
				func() { c.SetReadDeadline(time.Unix(1, 0)) },
				func() { c.SetWriteDeadline(time.Unix(1, 0)) },
				func() { _ = c.LocalAddr() },
			} {
				wg.Add(1)
				p.Go(func() error { defer wg.Done(); call(); return nil })
			}
		}
		wg.Add(1)
		p.Go(func() error { defer wg.Done(); return c.SetDeadline(time.Unix(1, 0)) }) // nobody waits for ever
		wg.Wait()
	})
}
