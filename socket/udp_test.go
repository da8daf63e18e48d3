package socket_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// udpConn is what net's UDP sockets and ours have in common.
type udpConn interface {
	net.Conn
	net.PacketConn
	ReadFromUDP(b []byte) (int, *net.UDPAddr, error)
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
	ReadMsgUDP(b, oob []byte) (n, oobn, flags int, addr *net.UDPAddr, err error)
	ReadMsgUDPAddrPort(b, oob []byte) (n, oobn, flags int, addr netip.AddrPort, err error)
	WriteToUDP(b []byte, addr *net.UDPAddr) (int, error)
	WriteToUDPAddrPort(b []byte, addr netip.AddrPort) (int, error)
	WriteMsgUDP(b, oob []byte, addr *net.UDPAddr) (n, oobn int, err error)
	WriteMsgUDPAddrPort(b, oob []byte, addr netip.AddrPort) (n, oobn int, err error)
	SetReadBuffer(int) error
	SetWriteBuffer(int) error
}

var (
	_ udpConn = (*net.UDPConn)(nil)
	_ udpConn = (*socket.UDPConn)(nil)
)

// udpMaker makes sockets: net's or ours.
type udpMaker struct {
	name   string
	listen func(network string, laddr *net.UDPAddr) (udpConn, error)
	dial   func(network string, laddr, raddr *net.UDPAddr) (udpConn, error)
	multi  func(network string, ifi *net.Interface, group *net.UDPAddr) (udpConn, error)
	packet func(network, address string) (net.PacketConn, error)
}

// orNil avoids an interface that is not nil and holds nil.
func orNil[C udpConn](c C, err error) (udpConn, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

var (
	ourUDP = udpMaker{"netco",
		func(n string, l *net.UDPAddr) (udpConn, error) { return orNil(socket.ListenUDP(n, l)) },
		func(n string, l, r *net.UDPAddr) (udpConn, error) {
			return orNil(socket.DialUDP(n, l, r))
		},
		func(n string, i *net.Interface, g *net.UDPAddr) (udpConn, error) {
			return orNil(socket.ListenMulticastUDP(n, i, g))
		},
		socket.ListenPacket,
	}
	netUDP = udpMaker{"net",
		func(n string, l *net.UDPAddr) (udpConn, error) { return orNil(net.ListenUDP(n, l)) },
		func(n string, l, r *net.UDPAddr) (udpConn, error) { return orNil(net.DialUDP(n, l, r)) },
		func(n string, i *net.Interface, g *net.UDPAddr) (udpConn, error) {
			return orNil(net.ListenMulticastUDP(n, i, g))
		},
		net.ListenPacket,
	}
)

var (
	loopback4 = &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}
	loopback6 = &net.UDPAddr{IP: net.IPv6loopback}
)

func listenUDP(t testing.TB, at *net.UDPAddr) *socket.UDPConn {
	t.Helper()
	return testenv.Closing(t, testenv.Must(socket.ListenUDP("udp", at)))
}

// netPeer is a socket of net's that gives up after a while.
func netPeer(t testing.TB, at *net.UDPAddr) *net.UDPConn {
	t.Helper()
	c := testenv.Closing(t, testenv.Must(net.ListenUDP("udp", at)))
	c.SetDeadline(time.Now().Add(limit))
	return c
}

// udpAddr is a copy of where c is, to be changed as need be.
func udpAddr(c interface{ LocalAddr() net.Addr }) *net.UDPAddr {
	a := *c.LocalAddr().(*net.UDPAddr)
	return &a
}

func portOf(c interface{ LocalAddr() net.Addr }) netip.AddrPort { return udpAddr(c).AddrPort() }

// dialTo returns a connected socket to a peer.
func dialTo(t testing.TB, to interface{ LocalAddr() net.Addr }) *socket.UDPConn {
	t.Helper()
	return testenv.Closing(t, testenv.Must(socket.DialUDP("udp", nil, udpAddr(to))))
}

// sizes of datagrams: empty, small, larger than a page, the largest.
var sizes = []int{0, 1, 64, 1472, 9000, 65507}

// udpReads are all ways to take a datagram.
var udpReads = []struct {
	name string
	read func(c udpConn, p []byte) (n int, from string, err error)
}{
	{"ReadFrom", func(c udpConn, p []byte) (int, string, error) {
		n, a, err := c.ReadFrom(p)
		return n, fmt.Sprint(a), err
	}},
	{"ReadFromUDP", func(c udpConn, p []byte) (int, string, error) {
		n, a, err := c.ReadFromUDP(p)
		return n, a.String(), err
	}},
	{"ReadFromUDPAddrPort", func(c udpConn, p []byte) (int, string, error) {
		n, a, err := c.ReadFromUDPAddrPort(p)
		return n, a.String(), err
	}},
	{"ReadMsgUDP", func(c udpConn, p []byte) (int, string, error) {
		n, _, _, a, err := c.ReadMsgUDP(p, nil)
		return n, a.String(), err
	}},
	{"ReadMsgUDPAddrPort", func(c udpConn, p []byte) (int, string, error) {
		n, _, _, a, err := c.ReadMsgUDPAddrPort(p, nil)
		return n, a.String(), err
	}},
	{"ReadBatch", func(c udpConn, p []byte) (int, string, error) {
		ours, ok := c.(*socket.UDPConn)
		if !ok {
			n, a, err := c.ReadFromUDPAddrPort(p)
			return n, a.String(), err
		}
		ms := []socket.Message{{Buf: p}}
		_, err := ours.ReadBatch(ms)
		return ms[0].N, ms[0].Addr.String(), err
	}},
}

// udpWrites are all ways to send one to an address.
var udpWrites = []struct {
	name  string
	write func(c udpConn, p []byte, to *net.UDPAddr) (n int, err error)
}{
	{"WriteTo", func(c udpConn, p []byte, to *net.UDPAddr) (int, error) {
		return c.WriteTo(p, to)
	}},
	{"WriteToUDP", func(c udpConn, p []byte, to *net.UDPAddr) (int, error) {
		return c.WriteToUDP(p, to)
	}},
	{"WriteToUDPAddrPort", func(c udpConn, p []byte, to *net.UDPAddr) (int, error) {
		return c.WriteToUDPAddrPort(p, to.AddrPort())
	}},
	{"WriteMsgUDP", func(c udpConn, p []byte, to *net.UDPAddr) (int, error) {
		n, _, err := c.WriteMsgUDP(p, nil, to)
		return n, err
	}},
	{"WriteMsgUDPAddrPort", func(c udpConn, p []byte, to *net.UDPAddr) (int, error) {
		n, _, err := c.WriteMsgUDPAddrPort(p, nil, to.AddrPort())
		return n, err
	}},
	{"WriteBatch", func(c udpConn, p []byte, to *net.UDPAddr) (int, error) {
		ms := []socket.Message{{Buf: p, Addr: to.AddrPort()}}
		_, err := c.(*socket.UDPConn).WriteBatch(ms)
		return ms[0].N, err
	}},
}

// TestUDPEcho sends datagrams of all sizes by every pair of a write and a read,
// between all kinds of place.
func TestUDPEcho(t *testing.T) {
	for _, server := range testrun.Places {
		for _, client := range testrun.Places {
			t.Run(client.Name+" to "+server.Name, func(t *testing.T) {
				start(t, 2)
				a, b := listenUDP(t, loopback4), listenUDP(t, loopback4)
				trips := len(udpReads) * len(udpWrites) * len(sizes)
				s := server.Go(func() {
					buf := make([]byte, 65536)
					for range trips {
						n, from, err := b.ReadFromUDPAddrPort(buf)
						if err == nil {
							_, err = b.WriteToUDPAddrPort(buf[:n], from)
						}
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
				c := client.Go(func() {
					buf := make([]byte, 65536)
					for _, r := range udpReads {
						for _, w := range udpWrites {
							for _, size := range sizes {
								n, err := w.write(a, pattern(size), udpAddr(b))
								if n != size || err != nil {
									t.Errorf("%s: %d, %v, want %d", w.name, n, err, size)
									return
								}
								n, from, err := r.read(a, buf)
								if n != size || err != nil || from != b.LocalAddr().String() ||
									differs(buf[:n], 0) != "" {
									t.Errorf("%s: %d from %s, %v, want %d; %s", r.name, n, from,
										err, size, differs(buf[:n], 0))
									return
								}
							}
						}
					}
				})
				c.Wait(t)
				s.Wait(t)
			})
		}
	}
}

// TestUDPConnected: both ends know each other; Read and Write, and the message
// methods without an address, work.
func TestUDPConnected(t *testing.T) {
	for _, at := range []*net.UDPAddr{loopback4, loopback6} {
		t.Run(at.IP.String(), func(t *testing.T) {
			inPlaces(t, func(t *testing.T, p testrun.Place) {
				peer := netPeer(t, at)
				c := dialTo(t, peer)
				testenv.Equal(t, c.RemoteAddr().String(), peer.LocalAddr().String())
				p.Do(t, func() {
					buf := make([]byte, 65536)
					for _, size := range sizes {
						for name, write := range map[string]func(b []byte) (int, error){
							"Write": c.Write,
							"WriteMsgUDP": func(b []byte) (int, error) {
								n, _, err := c.WriteMsgUDP(b, nil, nil)
								return n, err
							},
							"WriteMsgUDPAddrPort": func(b []byte) (int, error) {
								n, _, err := c.WriteMsgUDPAddrPort(b, nil, netip.AddrPort{})
								return n, err
							},
							"WriteBatch": func(b []byte) (int, error) {
								ms := []socket.Message{{Buf: b}}
								_, err := c.WriteBatch(ms)
								return ms[0].N, err
							},
						} {
							if n, err := write(pattern(size)); n != size || err != nil {
								t.Errorf("%s of %d: %d, %v", name, size, n, err)
								return
							}
							n, from, err := peer.ReadFromUDP(buf)
							if n != size || err != nil || differs(buf[:n], 0) != "" ||
								from.String() != c.LocalAddr().String() {
								t.Errorf("%s: the peer got %d from %v, %v, want %d", name, n, from,
									err, size)
								return
							}
						}
						peer.WriteToUDP(pattern(size), udpAddr(c))
						if n, err := c.Read(buf); n != size || err != nil ||
							differs(buf[:n], 0) != "" {
							t.Errorf("Read: %d, %v, want %d", n, err, size)
						}
					}
				})
			})
		})
	}
}

// TestUDPFamilies: on sockets of either family and of both, addresses look as
// net shows them, mapped ones too.
func TestUDPFamilies(t *testing.T) {
	start(t, 2)
	for _, k := range []struct {
		network string
		at      *net.UDPAddr
		froms   []*net.UDPAddr // of the peers
	}{
		{"udp", loopback4, []*net.UDPAddr{loopback4}},
		{"udp", loopback6, []*net.UDPAddr{loopback6}},
		{"udp", nil, []*net.UDPAddr{loopback4, loopback6}},
		{"udp4", nil, []*net.UDPAddr{loopback4}},
		{"udp6", nil, []*net.UDPAddr{loopback6}},
		{"udp", &net.UDPAddr{IP: net.IPv4zero}, []*net.UDPAddr{loopback4, loopback6}},
	} {
		for _, from := range k.froms {
			see := func(m udpMaker) string {
				c := testenv.Must(m.listen(k.network, k.at))
				defer c.Close()
				c.SetDeadline(time.Now().Add(limit))
				peer := netPeer(t, from)
				defer peer.Close()
				hide := func(s string) string {
					s = strings.ReplaceAll(s, fmt.Sprint(udpAddr(peer).Port), "PEER")
					return strings.ReplaceAll(s, fmt.Sprint(udpAddr(c).Port), "OWN")
				}
				var b strings.Builder
				fmt.Fprintln(&b, hide(c.LocalAddr().String()), c.RemoteAddr(),
					c.LocalAddr().Network())
				to := &net.UDPAddr{IP: from.IP, Port: udpAddr(c).Port}
				buf := make([]byte, 10)
				for _, r := range udpReads {
					testenv.Must(peer.WriteToUDP([]byte("x"), to))
					n, who, err := r.read(c, buf)
					fmt.Fprintln(&b, r.name, n, hide(who), err)
				}
				peer.WriteToUDP([]byte("x"), to)
				_, addr, _ := c.ReadFromUDP(buf)
				fmt.Fprintln(&b, len(addr.IP), hide(addr.AddrPort().String()))
				peer.WriteToUDP([]byte("x"), to)
				_, ap, _ := c.ReadFromUDPAddrPort(buf)
				fmt.Fprintln(&b, ap.Addr().Is4(), ap.Addr().Is4In6(), ap.Addr().Zone())
				for _, ap := range []netip.AddrPort{ap, netip.AddrPortFrom(ap.Addr().Unmap(),
					ap.Port())} {
					_, err := c.WriteToUDPAddrPort([]byte("y"), ap)
					fmt.Fprintln(&b, err)
					n, who, err := peer.ReadFromUDP(buf)
					fmt.Fprintln(&b, n, hide(who.String()), err)
				}
				return b.String()
			}
			if got, want := see(ourUDP), see(netUDP); got != want {
				t.Errorf("%s %v from %v:\ngot\n%s\nwant\n%s", k.network, k.at, from, got, want)
			}
		}
	}
}

// TestUDPZone: the zone of a link-local address comes and goes by name.
func TestUDPZone(t *testing.T) {
	start(t, 2)
	at := linkLocal(t)
	a, err := socket.ListenUDP("udp6", at)
	if err != nil {
		if theirs, nerr := net.ListenUDP("udp6", at); nerr != nil {
			t.Skipf("net cannot bind %v either: %v", at, nerr)
		} else {
			theirs.Close()
		}
		t.Fatal(err)
	}
	defer a.Close()
	b := testenv.Closing(t, testenv.Must(socket.DialUDP("udp6", nil, udpAddr(a))))
	if got := udpAddr(b); got.Zone != at.Zone {
		t.Errorf("connected from %v, want zone %s", got, at.Zone)
	}
	buf := make([]byte, 10)
	for range 2 {
		testenv.Must(b.Write([]byte("hello")))
		n, from, err := a.ReadFromUDPAddrPort(buf)
		if n != 5 || err != nil || from.String() != b.LocalAddr().String() ||
			from.Addr().Zone() != at.Zone {
			t.Fatalf("%d from %v, %v, want %v", n, from, err, b.LocalAddr())
		}
		testenv.Must(a.WriteToUDPAddrPort([]byte("hello"), from))
		ifi := testenv.Must(net.InterfaceByName(at.Zone))
		number := udpAddr(b)
		number.Zone = fmt.Sprint(ifi.Index)
		if _, err := a.WriteToUDP([]byte("by number"), number); err != nil {
			t.Errorf("to %v: %v", number, err)
		}
		for _, want := range []string{"hello", "by number"} {
			if n, err := b.Read(buf); err != nil || string(buf[:n]) != want {
				t.Errorf("%q, %v, want %q", buf[:n], err, want)
			}
		}
	}
}

// linkLocal finds a link-local address of this host.
func linkLocal(t *testing.T) *net.UDPAddr {
	all := testenv.Must(net.Interfaces())
	for _, ifi := range all {
		addrs, _ := ifi.Addrs()
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && n.IP.To4() == nil && n.IP.IsLinkLocalUnicast() &&
				ifi.Flags&net.FlagUp != 0 {
				return &net.UDPAddr{IP: n.IP, Zone: ifi.Name}
			}
		}
	}
	t.Skip("no interface has a link-local address")
	return nil
}

// TestUDPTruncated: what does not fit is lost, shown by the flags where there
// are any, and the next datagram is whole.
func TestUDPTruncated(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := listenUDP(t, loopback4), netPeer(t, loopback4)
		p.Do(t, func() {
			for _, r := range udpReads {
				for range 2 {
					peer.WriteToUDP(pattern(100), udpAddr(c))
				}
				short, long := make([]byte, 60), make([]byte, 200)
				n, _, err := r.read(c, short)
				testenv.True(t, n == 60 && err == nil && differs(short, 0) == "",
					"%s of 100 bytes into 60: %d, %v", r.name, n, err)
				if n, _, err = r.read(c, long); n != 100 || err != nil {
					t.Errorf("%s, the next: %d, %v", r.name, n, err)
				}
			}
			for size, want := range map[int]int{100: 0, 99: unix.MSG_TRUNC, 0: unix.MSG_TRUNC} {
				peer.WriteToUDP(pattern(100), udpAddr(c))
				if n, _, flags, _, err := c.ReadMsgUDPAddrPort(make([]byte, size),
					nil); n != size || flags != want || err != nil {
					t.Errorf("ReadMsgUDP into %d: %d, flags %#x, %v", size, n, flags, err)
				}
				peer.WriteToUDP(pattern(100), udpAddr(c))
				ms := []socket.Message{{Buf: make([]byte, size)}}
				if n, err := c.ReadBatch(ms); n != 1 || ms[0].N != size || ms[0].Flags != want ||
					err != nil {
					t.Errorf("ReadBatch into %d: %+v, %v", size, ms, err)
				}
			}
		})
	})
}

// TestUDPEmptyRead: Read of nothing takes no datagram and does not wait, as
// net's; ReadFrom does.
func TestUDPEmptyRead(t *testing.T) {
	start(t, 1)
	c, peer := listenUDP(t, loopback4), netPeer(t, loopback4)
	testenv.Gives(t, 0, nil, "Read(nil)")(c.Read(nil))
	testenv.Gives(t, 0, nil, "ReadBatch(nil)")(c.ReadBatch(nil))
	peer.WriteToUDP([]byte("one"), udpAddr(c))
	peer.WriteToUDP([]byte("two"), udpAddr(c))
	c.WaitReadable()
	c.Read(nil)
	if n, from, err := c.ReadFromUDPAddrPort(nil); n != 0 || err != nil || from != portOf(peer) {
		t.Errorf("ReadFrom(nil): %d, %v, %v", n, from, err)
	}
	buf := make([]byte, 10)
	if n, err := c.Read(buf); string(buf[:n]) != "two" || err != nil {
		t.Errorf("the next: %q, %v", buf[:n], err)
	}
}

// TestUDPControl: control messages go with datagrams both ways, in single
// messages and in batches.
func TestUDPControl(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		a, b := listenUDP(t, loopback4), listenUDP(t, loopback4)
		testenv.OK(t, unix.SetsockoptInt(b.FD(), unix.IPPROTO_IP, unix.IP_RECVTOS, 1))
		const tos = 0x48
		oob := controlMessage(unix.IPPROTO_IP, unix.IP_TOS, []byte{tos, 0, 0, 0})
		check := func(what string, got []byte) {
			t.Helper()
			list, err := unix.ParseSocketControlMessage(got)
			testenv.True(t, err == nil && len(list) == 1 && list[0].Header.Type == unix.IP_TOS &&
				list[0].Data[0] == tos, "%s: %+v, %v", what, list, err)
		}
		p.Do(t, func() {
			buf, room := make([]byte, 10), make([]byte, 100)
			if n, oobn, err := a.WriteMsgUDPAddrPort([]byte("x"), oob, portOf(b)); n != 1 ||
				oobn != len(oob) || err != nil {
				t.Error(n, oobn, err)
			}
			n, oobn, flags, from, err := b.ReadMsgUDP(buf, room)
			testenv.True(t, n == 1 && flags == 0 && from.String() == a.LocalAddr().String() &&
				err == nil, "%v %v %v %v %v", n, oobn, flags, from, err)
			check("ReadMsgUDP", room[:oobn])

			ms := []socket.Message{{Buf: []byte("y"), OOB: oob, Addr: portOf(b)}}
			if n, err := a.WriteBatch(ms); n != 1 || err != nil || ms[0].NN != len(oob) {
				t.Error(n, err, ms)
			}
			in := []socket.Message{{Buf: buf, OOB: room}}
			testenv.Gives(t, 1, nil)(b.ReadBatch(in))
			check("ReadBatch", room[:in[0].NN])

			a.WriteBatch(ms)
			in[0].OOB = room[:8]
			if n, err := b.ReadBatch(in); n != 1 || err != nil || in[0].Flags&unix.MSG_CTRUNC == 0 {
				t.Errorf("without room: %d, %v, flags %#x", n, err, in[0].Flags)
			}
		})
	})
}

func controlMessage(level, kind int, data []byte) []byte {
	p := make([]byte, unix.CmsgSpace(len(data)))
	socket.PutControl(p, level, kind, len(data))
	copy(p[unix.SizeofCmsghdr:], data)
	return p
}

// TestUDPRefused: a connected socket learns that nothing listens, as net's is,
// and can be used on. What a read has taken leaves nothing to read: after it
// every wait for something to read returned at once.
func TestUDPRefused(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		peer := netPeer(t, loopback4)
		at := udpAddr(peer)
		c := dialTo(t, peer)
		peer.Close()
		refused := func(op, call string, err error) {
			t.Helper()
			failsIn(t, op, err, unix.ECONNREFUSED)
			testenv.True(t, strings.Contains(err.Error(), ": "+call+": "), "%s: %v", call, err)
		}
		reader := p.Go(func() { refused("read", "read", readOne(c)) })
		reader.UntilParked(t, coroutine.ReasonRead)
		testenv.NoError(t, testenv.Err(c.Write([]byte("x"))))
		reader.Wait(t)
		p.Do(t, func() { refusals(t, c, at, refused) })
		for _, wait := range []func() error{c.WaitReadable, func() error { return readOne(c) }} {
			k := p.Go(func() { testenv.Fails(t, wait(), os.ErrDeadlineExceeded) })
			k.UntilParked(t, coroutine.ReasonRead)
			if p.Name != testrun.Goroutine.Name {
				staysParked(t, k)
			}
			c.SetReadDeadline(past)
			k.Wait(t)
			c.SetReadDeadline(time.Time{})
		}
	})
}

// refusals has the other calls be refused, and then answered.
func refusals(t *testing.T, c *socket.UDPConn, at *net.UDPAddr, refused func(op, call string,
	err error)) {
	ms := []socket.Message{{Buf: make([]byte, 10)}}
	write := func() { // and wait for the answer
		c.Write([]byte("x"))
		untilReadable(t, c.FD())
	}
	write()
	_, err := c.ReadBatch(ms)
	refused("read", "recvmmsg", err)
	write()
	_, err = c.WriteBatch(ms)
	refused("write", "sendmmsg", err)
	write()
	_, err = c.Write([]byte("x"))
	refused("write", "write", err)
	write()
	_, _, err = c.ReadFromUDPAddrPort(nil)
	refused("read", "recvfrom", err)
	again := testenv.Must(net.ListenUDP("udp", at))
	defer again.Close()
	again.WriteToUDP([]byte("back"), udpAddr(c))
	buf := make([]byte, 10)
	if n, err := c.Read(buf); string(buf[:n]) != "back" || err != nil {
		t.Errorf("after that: %q, %v", buf[:n], err)
	}
}

// TestUDPConcurrent: several readers and writers on one socket each get and
// send whole datagrams.
func TestUDPConcurrent(t *testing.T) {
	start(t, 2)
	a, b := listenUDP(t, loopback4), listenUDP(t, loopback4)
	testenv.OK(t, b.SetReadBuffer(4<<20))
	const writers, each, size = 6, 50, 300
	var (
		mu   sync.Mutex
		seen = map[string]int{}
		all  []*testrun.Task
	)
	for i := range 6 {
		all = append(all, testrun.Places[i%len(testrun.Places)].Go(func() {
			buf := make([]byte, 1000)
			for {
				n, err := b.Read(buf)
				if err != nil {
					failsIn(t, "read", err, net.ErrClosed)
					return
				}
				testenv.True(t, n == size && bytes.Equal(buf[:size], bytes.Repeat(buf[:2], size/2)),
					"a mixed datagram of %d", n)
				mu.Lock()
				seen[string(buf[:2])]++
				mu.Unlock()
			}
		}))
	}
	for i := range writers {
		testrun.Places[i%len(testrun.Places)].Do(t, func() {
			for j := range each {
				testenv.Gives(t, size, nil)(a.WriteTo(bytes.Repeat([]byte{byte(i), byte(j)},
					size/2), b.LocalAddr()))
			}
		})
	}
	testenv.Until(t, "all to arrive", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen) == writers*each
	})
	b.Close()
	testrun.WaitAll(t, all...)
	for k, n := range seen {
		testenv.Equal(t, n, 1, "came times", k)
	}
}

// floodBatch is how many datagrams a round of a flood has.
const floodBatch = 32

func fillUDP(c *socket.UDPConn) {
	sa := &unix.SockaddrInet4{Port: udpAddr(c).Port, Addr: [4]byte{127, 0, 0, 1}}
	for range floodBatch {
		unix.Sendto(c.FD(), []byte("x"), unix.MSG_DONTWAIT, sa)
	}
}

func drainUDP(c *socket.UDPConn) {
	for range floodBatch {
		unix.Recvfrom(c.FD(), make([]byte, 10), unix.MSG_DONTWAIT)
	}
}

// floods are rounds of calls that need not wait.
var floods = map[string]func(c *socket.UDPConn, ms []socket.Message) error{
	"read": func(c *socket.UDPConn, ms []socket.Message) (err error) {
		fillUDP(c)
		for i := 0; i < floodBatch && err == nil; i++ {
			_, _, err = c.ReadFromUDPAddrPort(ms[0].Buf)
		}
		return err
	},
	"read batch": func(c *socket.UDPConn, ms []socket.Message) (err error) {
		fillUDP(c)
		for left := floodBatch; left > 0 && err == nil; { // some may come late
			var n int
			n, err = c.ReadBatch(ms[:left])
			left -= n
		}
		return err
	},
	"write": func(c *socket.UDPConn, ms []socket.Message) (err error) {
		drainUDP(c)
		for i := 0; i < floodBatch && err == nil; i++ {
			_, err = c.WriteToUDPAddrPort(ms[0].Buf, ms[0].Addr)
		}
		return err
	},
	"write batch": func(c *socket.UDPConn, ms []socket.Message) error {
		drainUDP(c)
		_, err := c.WriteBatch(ms)
		return err
	},
}

// TestUDPFlood: a socket that always has something to read, or room to write,
// does not keep its Processor from others, one datagram at a time or in
// batches. The other end is system calls that netco knows nothing of.
func TestUDPFlood(t *testing.T) {
	for name, round := range floods {
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			c := listenUDP(t, loopback4)
			ms := room(floodBatch, 10, 0)
			for i := range ms {
				ms[i].Addr = portOf(c)
			}
			flood := testrun.First.Go(func() {
				for {
					if err := round(c, ms); err != nil {
						failsIn(t, strings.Fields(name)[0], err, net.ErrClosed)
						return
					}
				}
			})
			testenv.Await(t, flood.Started, "the flood")
			for range 10 {
				testrun.First.Go(func() {}).Wait(t)
			}
			c.Close()
			flood.Wait(t)
		})
	}
}

// TestUDPMulticast: two sockets join a group on one port; both get what is sent
// to it.
func TestUDPMulticast(t *testing.T) {
	for _, group := range []net.IP{net.IPv4(224, 0, 0, 254), net.ParseIP("ff02::114")} {
		t.Run(group.String(), func(t *testing.T) {
			inPlaces(t, func(t *testing.T, p testrun.Place) {
				ifi := multicastInterface(t)
				a, err := socket.ListenMulticastUDP("udp", ifi, &net.UDPAddr{IP: group})
				if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EAFNOSUPPORT) ||
					errors.Is(err, unix.EADDRNOTAVAIL) {
					t.Skipf("%s has no multicast for %v: %v", ifi.Name, group, err)
				}
				testenv.OK(t, err)
				defer a.Close()
				to := &net.UDPAddr{IP: group, Port: udpAddr(a).Port}
				b := testenv.Closing(t, testenv.Must(socket.ListenMulticastUDP("udp", ifi, to)))
				sender := multicastSender(t, ifi, group)
				var readers []*testrun.Task
				for _, c := range []*socket.UDPConn{a, b} {
					readers = append(readers, p.Go(func() {
						buf := make([]byte, 10)
						n, from, err := c.ReadFromUDPAddrPort(buf)
						testenv.True(t, string(buf[:n]) == "to all" && err == nil &&
							from.Port() == portOf(sender).Port(), "%q from %v, %v", buf[:n], from,
							err)
					}))
				}
				for _, k := range readers {
					k.UntilParked(t, coroutine.ReasonRead)
				}
				if group.To4() == nil {
					to.Zone = ifi.Name
				}
				if _, err := sender.WriteToUDP([]byte("to all"), to); err != nil {
					t.Skipf("%s does not carry %v: %v", ifi.Name, group, err)
				}
				testrun.WaitAll(t, readers...)
			})
		})
	}
}

// multicastInterface finds one that is up; what is sent to a group there comes
// back to this host.
func multicastInterface(t *testing.T) *net.Interface {
	all := testenv.Must(net.Interfaces())
	for _, ifi := range all {
		if ifi.Flags&net.FlagUp != 0 && ifi.Flags&net.FlagMulticast != 0 {
			return &ifi
		}
	}
	t.Skip("no interface does multicast")
	return nil
}

// multicastSender is a socket whose datagrams to a group leave by an interface
// and are looped back.
func multicastSender(t *testing.T, ifi *net.Interface, group net.IP) *socket.UDPConn {
	t.Helper()
	network := "udp4"
	if group.To4() == nil {
		network = "udp6"
	}
	c, err := socket.ListenUDP(network, nil)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		t.Skip("no IPv6: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if network == "udp4" {
		err = unix.SetsockoptIPMreqn(c.FD(), unix.IPPROTO_IP, unix.IP_MULTICAST_IF,
			&unix.IPMreqn{Ifindex: int32(ifi.Index)})
	} else {
		err = unix.SetsockoptInt(c.FD(), unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, ifi.Index)
	}
	testenv.OK(t, err)
	return c
}
