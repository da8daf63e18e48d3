package socket_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

// udpConn has the methods that net's UDP sockets and netco's share.
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
}

var (
	ourUDP = udpMaker{"netco", ofAny[udpConn](conet.ListenUDP), ofAny2[udpConn](conet.DialUDP)}
	netUDP = udpMaker{"net", ofAny[udpConn](net.ListenUDP), ofAny2[udpConn](net.DialUDP)}
)

var (
	loopback4 = &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}
	loopback6 = &net.UDPAddr{IP: net.IPv6loopback}
)

func listenUDP(t testing.TB, at *net.UDPAddr) *socket.UDPConn {
	t.Helper()
	needIPv6(t, at.String())
	return testenv.Closing(t, testenv.Must(conet.ListenUDP("udp", at)))
}

// netPeer is a socket of net's that gives up after a while.
func netPeer(t testing.TB, at *net.UDPAddr) *net.UDPConn {
	t.Helper()
	needIPv6(t, at.String())
	c := testenv.Closing(t, testenv.Must(net.ListenUDP("udp", at)))
	c.SetDeadline(time.Now().Add(limit))
	return c
}

// udpAddr returns a copy of c's address, which the caller may change.
func udpAddr(c interface{ LocalAddr() net.Addr }) *net.UDPAddr {
	a := *c.LocalAddr().(*net.UDPAddr)
	return &a
}

func portOf(c interface{ LocalAddr() net.Addr }) netip.AddrPort { return udpAddr(c).AddrPort() }

// dialTo returns a connected socket to a peer.
func dialTo(t testing.TB, to interface{ LocalAddr() net.Addr }) *socket.UDPConn {
	t.Helper()
	return testenv.Closing(t, testenv.Must(conet.DialUDP("udp", nil, udpAddr(to))))
}

// sizes of datagrams: empty, small, larger than a page, the largest.
var sizes = []int{0, 1, 64, 1472, 9000, 65507}

// udpReads are all ways to receive a datagram.
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

// udpWrites are all ways to send a datagram to an address.
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

// udpPeerWrites are all ways to send a datagram to the peer of a connected
// socket.
var udpPeerWrites = []func(c *socket.UDPConn, p []byte) (n int, err error){
	(*socket.UDPConn).Write,
	func(c *socket.UDPConn, p []byte) (int, error) {
		n, _, err := c.WriteMsgUDP(p, nil, nil)
		return n, err
	},
	func(c *socket.UDPConn, p []byte) (int, error) {
		n, _, err := c.WriteMsgUDPAddrPort(p, nil, netip.AddrPort{})
		return n, err
	},
	func(c *socket.UDPConn, p []byte) (int, error) {
		ms := []socket.Message{{Buf: p}}
		_, err := c.WriteBatch(ms)
		return ms[0].N, err
	},
}

// TestUDPEcho sends datagrams of all sizes from a connected socket by every way
// to write to the peer, and takes them back by every pair of a read and a write
// to an address, between all kinds of place and over both families.
func TestUDPEcho(t *testing.T) {
	for i, server := range testrun.Places {
		for j, client := range testrun.Places {
			t.Run(client.Name+" to "+server.Name, func(t *testing.T) {
				start(t, 2)
				b := listenUDP(t, []*net.UDPAddr{loopback4, loopback6}[(i+j)%2])
				a := dialTo(t, b)
				testenv.Equal(t, a.RemoteAddr().String(), b.LocalAddr().String())
				s := server.Go(func() { udpEcho(t, b, a.LocalAddr().String()) })
				c := client.Go(func() {
					buf := make([]byte, 65536)
					for i := range len(udpReads) * len(udpWrites) {
						for _, size := range sizes {
							w := udpPeerWrites[i%len(udpPeerWrites)]
							testenv.Gives(t, size, nil, i)(w(a, pattern(size)))
							testenv.Gives(t, size, nil, i)(a.Read(buf))
							testenv.Equal(t, differs(buf[:size], 0), "")
						}
					}
				})
				c.Wait(t)
				s.Wait(t)
			})
		}
	}
}

// udpEcho sends the datagrams of a peer back, by all pairs of a read and a
// write.
func udpEcho(t *testing.T, c *socket.UDPConn, peer string) {
	buf := make([]byte, 65536)
	for _, r := range udpReads {
		for _, w := range udpWrites {
			for _, size := range sizes {
				n, from, err := r.read(c, buf)
				if n != size || err != nil || from != peer || differs(buf[:n], 0) != "" {
					t.Errorf("%s: %d from %s, %v, want %d; %s", r.name, n, from, err, size,
						differs(buf[:n], 0))
				}
				to := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(peer))
				testenv.Gives(t, size, nil, w.name)(w.write(c, buf[:n], to))
			}
		}
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
		{"udp4", nil, []*net.UDPAddr{loopback4}},
		{"udp", loopback6, []*net.UDPAddr{loopback6}},
		{"udp", nil, []*net.UDPAddr{loopback4, loopback6}},
		{"udp6", nil, []*net.UDPAddr{loopback6}},
		{"udp", &net.UDPAddr{IP: net.IPv4zero}, []*net.UDPAddr{loopback4, loopback6}},
	} {
		for _, from := range k.froms {
			needIPv6(t, from.String())
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
	a, err := conet.ListenUDP("udp6", at)
	if err != nil {
		if theirs, nerr := net.ListenUDP("udp6", at); nerr != nil {
			t.Skipf("net cannot bind %v either: %v", at, nerr)
		} else {
			theirs.Close()
		}
		t.Fatal(err)
	}
	defer a.Close()
	b := testenv.Closing(t, testenv.Must(conet.DialUDP("udp6", nil, udpAddr(a))))
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
		readsText(t, b, "hello")
		readsText(t, b, "by number")
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

// TestUDPTruncated: the part of a datagram that does not fit is lost, which the
// flags show where there are any, and the next datagram is whole.
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
	readsText(t, c, "two", "the next")
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
			n, oobn, err := a.WriteMsgUDPAddrPort([]byte("x"), oob, portOf(b))
			testenv.True(t, n == 1 && oobn == len(oob) && err == nil, "%v %v %v", n, oobn, err)
			n, oobn, flags, from, err := b.ReadMsgUDP(buf, room)
			testenv.True(t, n == 1 && flags == 0 && from.String() == a.LocalAddr().String() &&
				err == nil, "%v %v %v %v %v", n, oobn, flags, from, err)
			check("ReadMsgUDP", room[:oobn])

			ms := []socket.Message{{Buf: []byte("y"), OOB: oob, Addr: portOf(b)}}
			testenv.Gives(t, 1, nil)(a.WriteBatch(ms))
			testenv.Equal(t, ms[0].NN, len(oob))
			in := []socket.Message{{Buf: buf, OOB: room}}
			testenv.Gives(t, 1, nil)(b.ReadBatch(in))
			check("ReadBatch", room[:in[0].NN])

			a.WriteBatch(ms)
			in[0].OOB = room[:8]
			testenv.Gives(t, 1, nil)(b.ReadBatch(in))
			testenv.True(t, in[0].Flags&unix.MSG_CTRUNC != 0, "without room: %#x", in[0].Flags)
		})
	})
}

func controlMessage(level, kind int, data []byte) []byte {
	p := make([]byte, unix.CmsgSpace(len(data)))
	socket.PutControl(p, level, kind, len(data))
	copy(p[unix.SizeofCmsghdr:], data)
	return p
}

// TestUDPRefused: a connected socket learns that nothing listens, as net's
// does, and can be used on. A read that has taken the error leaves nothing to
// read: after it every wait for something to read returned at once.
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
		reader := p.Park(t, coroutine.ReasonRead, func() { refused("read", "read", readOne(c)) })
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

// refusals has the calls but Read be refused, and then answered.
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
	readsText(t, c, "back", "after that")
}

// TestUDPMulticast: two sockets join a group on one port; both get the
// datagrams to the group.
func TestUDPMulticast(t *testing.T) {
	for _, group := range []net.IP{net.IPv4(224, 0, 0, 254), net.ParseIP("ff02::114")} {
		inPlacesOf(t, group.String(), func(t *testing.T, p testrun.Place) {
			ifi := multicastInterface(t)
			a, err := conet.ListenMulticastUDP("udp", ifi, &net.UDPAddr{IP: group})
			if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EAFNOSUPPORT) ||
				errors.Is(err, unix.EADDRNOTAVAIL) {
				t.Skipf("%s has no multicast for %v: %v", ifi.Name, group, err)
			}
			testenv.OK(t, err)
			defer a.Close()
			to := &net.UDPAddr{IP: group, Port: udpAddr(a).Port}
			b := testenv.Closing(t, testenv.Must(conet.ListenMulticastUDP("udp", ifi, to)))
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
	}
}

// multicastInterface returns an interface that is up and loops datagrams to a
// group back to this host.
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
	c, err := conet.ListenUDP(network, nil)
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

// errorText describes an error, without the text that differs from one socket
// to the next.
func errorText(err error, hide *strings.Replacer) string {
	return hide.Replace(fmt.Sprint(describeError(err), " ", errors.Is(err, os.ErrDeadlineExceeded)))
}

// udpTargets are addresses, good ones and others.
var udpTargets = []*net.UDPAddr{
	nil,
	{},
	{Port: 9},
	{IP: net.IPv4(127, 0, 0, 1), Port: 0},
	{IP: net.IPv4(127, 0, 0, 1), Port: -1},
	{IP: net.IPv4(127, 0, 0, 1), Port: 65536},
	{IP: net.IP{1, 2, 3}, Port: 9},
	{IP: net.IP{1, 2, 3, 4, 5}, Port: 9},
	{IP: net.IPv6loopback, Port: 0},
	{IP: net.IPv6loopback, Port: 9, Zone: "no-such-interface"},
	{IP: net.IPv6loopback, Port: 9, Zone: "no-such-interface-with-so-long-a-name"},
	{IP: net.IPv6loopback, Port: 70000},
	{IP: net.ParseIP("fe80::1"), Port: 9},
	{IP: net.IPv6unspecified, Port: 0},
	{IP: net.IPv4zero, Port: 0},
	{IP: net.IP{}, Port: -1},
	{IP: make(net.IP, 15)},
	{IP: make(net.IP, 17), Port: 1 << 40},
}

// udpOp is an operation on a socket, with a target.
type udpOp = func(c udpConn, to *net.UDPAddr) error

// udpOps are operations that fail in some state.
var udpOps = func() map[string]udpOp {
	write := func(p []byte) udpOp {
		return func(c udpConn, _ *net.UDPAddr) error { return testenv.Err(c.Write(p)) }
	}
	read := func(p []byte) udpOp {
		return func(c udpConn, _ *net.UDPAddr) error { return testenv.Err(c.Read(p)) }
	}
	late := func(op udpOp) udpOp {
		return func(c udpConn, to *net.UDPAddr) error {
			c.SetDeadline(past)
			return op(c, to)
		}
	}
	ops := map[string]udpOp{
		"Write": write([]byte("x")), "Write large": write(make([]byte, 65536)),
		"Write late": late(write([]byte("x"))), "Read late": late(read(make([]byte, 1))),
		"Read nothing late": late(read(nil)),
		"WriteTo another": func(c udpConn, _ *net.UDPAddr) error {
			return testenv.Err(c.WriteTo([]byte("x"), &net.TCPAddr{Port: 1}))
		},
		"WriteTo nil": func(c udpConn, _ *net.UDPAddr) error {
			return testenv.Err(c.WriteTo([]byte("x"), nil))
		},
		"WriteToUDP large": func(c udpConn, to *net.UDPAddr) error {
			return testenv.Err(c.WriteToUDP(make([]byte, 65508), to))
		},
		"WriteMsgUDP bad oob": func(c udpConn, to *net.UDPAddr) error {
			return err3(c.WriteMsgUDP([]byte("x"), []byte{1, 2, 3}, to))
		},
		"mapped": func(c udpConn, _ *net.UDPAddr) error {
			return testenv.Err(c.WriteToUDPAddrPort([]byte("x"),
				netip.MustParseAddrPort("[::ffff:127.0.0.1]:0")))
		},
		"SetReadBuffer": func(c udpConn, _ *net.UDPAddr) error { return c.SetReadBuffer(10000) },
	}
	for _, w := range udpWrites[:5] { // net has no WriteBatch
		ops[w.name] = func(c udpConn, to *net.UDPAddr) error {
			return testenv.Err(w.write(c, []byte("x"), to))
		}
		ops[w.name+" late"] = late(ops[w.name])
	}
	for _, r := range udpReads[:5] {
		ops[r.name+" late"] = late(func(c udpConn, _ *net.UDPAddr) error {
			return err3(r.read(c, nil))
		})
	}
	return ops
}()

// udpAfterClose are operations for closed sockets only: on an open one they
// would wait.
var udpAfterClose = func() map[string]udpOp {
	ops := map[string]udpOp{}
	for name, op := range map[string]func(udpConn) error{
		"Read":             func(c udpConn) error { return testenv.Err(c.Read(make([]byte, 1))) },
		"Read nothing":     func(c udpConn) error { return testenv.Err(c.Read(nil)) },
		"Close":            udpConn.Close,
		"SetDeadline":      func(c udpConn) error { return c.SetDeadline(future) },
		"SetReadDeadline":  func(c udpConn) error { return c.SetReadDeadline(future) },
		"SetWriteDeadline": func(c udpConn) error { return c.SetWriteDeadline(future) },
		"SetWriteBuffer":   func(c udpConn) error { return c.SetWriteBuffer(10000) },
	} {
		ops[name] = func(c udpConn, _ *net.UDPAddr) error { return op(c) }
	}
	for _, r := range udpReads[:5] {
		ops[r.name] = func(c udpConn, _ *net.UDPAddr) error { return err3(r.read(c, nil)) }
	}
	return ops
}()

// TestUDPErrorsAsNet runs operations that fail on sockets of net's and ours,
// connected and not, open and closed, and compares.
func TestUDPErrorsAsNet(t *testing.T) {
	start(t, 1)
	sink, sink6 := netPeer(t, loopback4), netPeer(t, loopback6)
	kinds := map[string]func(m udpMaker) (udpConn, error){
		"udp4":      func(m udpMaker) (udpConn, error) { return m.listen("udp4", loopback4) },
		"udp":       func(m udpMaker) (udpConn, error) { return m.listen("udp", nil) },
		"udp6":      func(m udpMaker) (udpConn, error) { return m.listen("udp6", loopback6) },
		"connected": func(m udpMaker) (udpConn, error) { return m.dial("udp", nil, udpAddr(sink)) },
		"connected6": func(m udpMaker) (udpConn, error) {
			return m.dial("udp6", nil, udpAddr(sink6))
		},
		"both": func(m udpMaker) (udpConn, error) {
			return m.dial("udp", &net.UDPAddr{IP: net.IPv6unspecified}, udpAddr(sink))
		},
	}
	for kind, make := range kinds {
		var seen [2]map[string]string
		for i, m := range []udpMaker{netUDP, ourUDP} {
			seen[i] = map[string]string{}
			c, err := make(m)
			if err != nil {
				t.Fatal(kind, err)
			}
			hide := strings.NewReplacer(fmt.Sprint(":", udpAddr(c).Port), ":OWN")
			for name, f := range udpOps {
				for j, to := range udpTargets {
					if strings.HasPrefix(name, "WriteMsgUDPAddrPort") &&
						to.AddrPort().Addr() == (netip.Addr{}) &&
						strings.HasPrefix(runtime.Version(), "go1.25") {
						continue // net took no invalid address for no address yet
					}
					seen[i][fmt.Sprint(kind, " ", name, " ", j, to)] = errorText(f(c, to), hide)
					c.SetDeadline(time.Time{})
				}
			}
			c.Close()
			for _, ops := range []map[string]udpOp{udpOps, udpAfterClose} {
				for name, f := range ops {
					seen[i][fmt.Sprint(kind, " closed ", name)] = errorText(f(c, udpAddr(sink)),
						hide)
				}
			}
		}
		for what, want := range seen[0] {
			testenv.Equal(t, seen[1][what], want, "\ngot \nwant", what)
		}
	}
}

// TestMakingAsNet compares the functions that take addresses with package
// net's: the sockets they make, and their errors. A refused call leaves no fd.
// The oldest Go that netco builds with has no net.Dialer.DialTCP.
func TestMakingAsNet(t *testing.T) {
	askNames(t, nil)
	start(t, 2)
	taken, closed := netPeer(t, loopback4), netip.MustParseAddrPort(testenv.ClosedPort(t))
	froms := append(udpTargets[:len(udpTargets):len(udpTargets)], udpAddr(taken), loopback4,
		loopback6, &net.UDPAddr{IP: net.IPv4(192, 0, 2, 77)},
		&net.UDPAddr{IP: net.ParseIP("2001:db8::1"), Port: 5})
	tos := append(froms[:len(froms):len(froms)], net.UDPAddrFromAddrPort(closed),
		&net.UDPAddr{IP: net.IPv4bcast, Port: 9})
	inUse := (*net.UDPAddr)(listen(t).Addr().(*net.TCPAddr))
	unixes := unixTargets(t)
	before := testenv.Files()
	for i, n := range []string{"tcp", "tcp4", "tcp6", "udp", "udp4", "udp6", "unix", "unixgram",
		"unixpacket", "", "bogus", "ip4:1"} {
		place(i).Do(t, func() {
			for _, to := range tos {
				makingAsNet(t, n, to)
				for _, from := range froms {
					if from == nil || from.Port != 9 {
						dialingAsNet(t, n, from, to)
					}
				}
			}
			for _, ip := range []net.IP{inUse.IP, net.IPv6zero, net.IPv4zero} {
				makingAsNet(t, n, &net.UDPAddr{IP: ip, Port: inUse.Port})
			}
			for _, at := range unixes {
				d, ctx := new(socket.Dialer), context.Background()
				testenv.Equal(t, made(d.DialUnix(ctx, n, nil, at)), made(net.DialUnix(n, nil, at)),
					n, at)
				testenv.Equal(t, fmt.Sprint(ourUnix.makes(n, at)),
					fmt.Sprint(netsUnix.makes(n, at)), n, at)
			}
		})
	}
	testenv.Until(t, "no more fds than before", func() bool { return testenv.Files() <= before })
}

func makingAsNet(t *testing.T, n string, at *net.UDPAddr) {
	tcp := (*net.TCPAddr)(at)
	testenv.Equal(t, made(conet.ListenTCP(n, tcp)), made(net.ListenTCP(n, tcp)), n, at)
	testenv.Equal(t, made(conet.ListenUDP(n, at)), made(net.ListenUDP(n, at)), n, at)
	testenv.Equal(t, made(conet.ListenMulticastUDP(n, nil, at)),
		made(net.ListenMulticastUDP(n, nil, at)), n, at)
}

func dialingAsNet(t *testing.T, n string, from, to *net.UDPAddr) {
	d, ctx := new(socket.Dialer), context.Background()
	testenv.Equal(t, made(conet.DialUDP(n, from, to)), made(net.DialUDP(n, from, to)), n, from, to)
	fromPort, toPort := from.AddrPort(), to.AddrPort()
	valid := (from == nil || from.Port == int(fromPort.Port())) && to != nil &&
		to.Port == int(toPort.Port()) && toPort.Addr().Zone() == ""
	if valid {
		testenv.Equal(t, made(d.DialUDP(ctx, n, fromPort, toPort)), made(net.DialUDP(n,
			net.UDPAddrFromAddrPort(fromPort), net.UDPAddrFromAddrPort(toPort))), n, from, to)
	}
	if from == to || to != nil &&
		(to.Port == 5 || to.Port == 9 || to.IP.Equal(net.IPv4(192, 0, 2, 77))) {
		return // it may connect to itself, or takes long
	}
	fromTCP, toTCP := (*net.TCPAddr)(from), (*net.TCPAddr)(to)
	testenv.Equal(t, made(conet.DialTCP(n, fromTCP, toTCP)), made(net.DialTCP(n, fromTCP, toTCP)),
		n, from, to)
	if valid {
		testenv.Equal(t, made(d.DialTCP(ctx, n, fromPort, toPort)), made(net.DialTCP(n,
			net.TCPAddrFromAddrPort(fromPort), net.TCPAddrFromAddrPort(toPort))), n, from, to)
	}
}

// TestListenUDPReusePort: sockets on one port, each of which gets all datagrams
// of a peer or none.
func TestListenUDPReusePort(t *testing.T) {
	start(t, 2)
	all := testenv.Must(socket.ListenUDPReusePort("udp", "127.0.0.1:0", 2))
	if len(all) != 2 || portOf(all[0]) != portOf(all[1]) {
		t.Fatal(all)
	}
	var tasks []*testrun.Task
	for i, c := range all {
		tasks = append(tasks, testrun.Places[i].Go(func() {
			buf := make([]byte, 10)
			for {
				_, from, err := c.ReadFromUDPAddrPort(buf)
				if err != nil {
					failsIn(t, "read", err, net.ErrClosed)
					return
				}
				c.WriteToUDPAddrPort([]byte{byte(i)}, from)
			}
		}))
	}
	served := [2]int{}
	for range 64 {
		peer := netPeer(t, loopback4)
		buf := make([]byte, 10)
		for range 3 {
			peer.WriteToUDP([]byte("x"), udpAddr(all[0]))
			testenv.Must(peer.Read(buf[1:]))
			if buf[0] == 0 {
				buf[0] = 10 + buf[1]
				served[buf[1]]++
			} else if buf[0] != 10+buf[1] {
				t.Errorf("one peer's datagrams came to both")
			}
		}
		peer.Close()
	}
	testenv.True(t, served[0] != 0 && served[1] != 0, "served %v", served)
	for i, c := range all {
		c.Close()
		tasks[i].Wait(t)
	}
}

// TestUDPFaults: errors of every read and write are returned as net returns
// them, with the name of the call, interrupted calls are repeated, and the
// socket can be used on.
func TestUDPFaults(t *testing.T) {
	calls := map[string]string{
		"ReadFrom": "recvfrom", "ReadFromUDP": "recvfrom", "ReadFromUDPAddrPort": "recvfrom",
		"ReadMsgUDP": "recvmsg", "ReadMsgUDPAddrPort": "recvmsg", "ReadBatch": "recvmmsg",
		"WriteTo": "sendto", "WriteToUDP": "sendto", "WriteToUDPAddrPort": "sendto",
		"WriteMsgUDP": "sendmsg", "WriteMsgUDPAddrPort": "sendmsg", "WriteBatch": "sendmmsg",
	}
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		a, b := listenUDP(t, loopback4), listenUDP(t, loopback4)
		p.Do(t, func() {
			buf := make([]byte, 10)
			for _, errno := range []syscall.Errno{unix.ENOBUFS, unix.ENOMEM, unix.ECONNREFUSED,
				unix.EHOSTUNREACH, unix.EPERM} {
				check := func(name, op string, n int, err error) {
					var e *net.OpError
					testenv.True(t, n == 0 && errors.Is(err, errno) && errors.As(err, &e) &&
						e.Op == op && strings.Contains(err.Error(), ": "+calls[name]+": "),
						"%s: %d, %v", name, n, err)
				}
				for _, w := range udpWrites {
					first := errnos{sysx.Send: {unix.EINTR, unix.EINTR, errno}}
					remove := (&script{first: first}).install(t)
					n, err := w.write(a, []byte("x"), udpAddr(b))
					check(w.name, "write", n, err)
					n, err = w.write(a, []byte("y"), udpAddr(b))
					remove()
					testenv.True(t, n == 1 && err == nil, "%s after the error: %d, %v", w.name, n,
						err)
					if n, err := b.Read(buf); string(buf[:n]) != "y" {
						t.Errorf("%s: %q arrived, %v", w.name, buf[:n], err)
					}
				}
				for _, r := range udpReads {
					a.WriteToUDP([]byte("z"), udpAddr(b))
					first := errnos{sysx.Recv: {unix.EINTR, unix.EINTR, errno}}
					remove := (&script{first: first}).install(t)
					n, _, err := r.read(b, buf)
					check(r.name, "read", n, err)
					n, from, err := r.read(b, buf)
					remove()
					if string(buf[:n]) != "z" || err != nil || from != a.LocalAddr().String() {
						t.Errorf("%s after the error: %q from %s, %v", r.name, buf[:n], from, err)
					}
				}
			}
		})
	})
}

func init() { children["sockets without fds"] = withoutFDs }

// TestWithoutFDs: every fd that making a socket takes may be the one that is
// not there any more. With so many to spare the socket is made or refused with
// EMFILE, and a refusal leaves no fd open, and no file.
func TestWithoutFDs(t *testing.T) {
	t.Parallel()
	out, err := testenv.Output(children.Command(t, "sockets without fds"))
	testenv.True(t, err == nil && strings.HasPrefix(string(out), "ok"), "%v\n%.500s", err, out)
}

func withoutFDs() {
	testenv.MustOK(netco.Start(netco.Options{Processors: 1}))
	first := testenv.Must(conet.ListenUDP("udp", loopback4)) // Go's poller has its fds now
	dir := testenv.SocketDir()
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	testenv.MustOK(shut(conet.Listen("unix", path))) // what is made once is made
	group := &net.UDPAddr{IP: net.IPv4(224, 0, 0, 251)}
	debug.SetGCPercent(-1) // which would close what package net has lost
	refused := map[string]int{}
	for spare := range 4 {
		before := countFDs()
		free := fillFDs(64, spare)
		for what, make := range map[string]func() error{
			"ListenPacket": func() error {
				return shut(conet.ListenPacket("udp", "127.0.0.1:0"))
			},
			"ListenUDP": func() error { return shut(conet.ListenUDP("udp", loopback4)) },
			"ListenMulticastUDP": func() error {
				return shut(conet.ListenMulticastUDP("udp", nil, group))
			},
			"ListenUDPReusePort": func() error {
				err := testenv.Err(socket.ListenUDPReusePort("udp", "127.0.0.1:0", 5))
				return cmp.Or(err, errors.New("five sockets with too few fds"))
			},
			"DialUDP": func() error { return shut(conet.DialUDP("udp", nil, udpAddr(first))) },
			"ListenUnix": func() error {
				return shut(conet.ListenUnix("unix", unixAt("unix", path)))
			},
			"ListenUnixgram": func() error {
				return shut(conet.ListenUnixgram("unixgram", unixAt("unixgram", path)))
			},
		} {
			err := make()
			if err != nil && !errors.Is(err, unix.EMFILE) && !errors.Is(err, unix.ENODEV) {
				testenv.Fatal(spare, what, err) // ENODEV: there may be no multicast
			}
			if err != nil {
				refused[what]++
			}
			if err != nil && what == "ListenUnix" && exists(path) {
				testenv.Fatal(spare, "the file is left")
			}
			os.Remove(path)
		}
		free()
		if n := sockinfo.OpenCount(); n != 1 {
			testenv.Fatal(n, "sockets open")
		}
		if n := countFDs(); n != before {
			testenv.Fatal(n, "fds open, before", before)
		}
	}
	if refused["ListenUnix"] == 0 || refused["ListenUnixgram"] == 0 || refused["ListenUDP"] == 0 {
		testenv.Fatal("this tests less than it should:", refused)
	}
	fmt.Print("ok")
}
