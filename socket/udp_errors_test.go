package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// errorText describes an error. What differs from one socket to the next is
// replaced.
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

// udpAfterClose are those that are only tried on a closed socket, where they do
// not wait.
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
	sink := netPeer(t, loopback4)
	sink6 := netPeer(t, loopback6)
	kinds := map[string]func(m udpMaker) (udpConn, error){
		"udp4": func(m udpMaker) (udpConn, error) { return m.listen("udp4", loopback4) },
		"udp":  func(m udpMaker) (udpConn, error) { return m.listen("udp", nil) },
		"udp6": func(m udpMaker) (udpConn, error) { return m.listen("udp6", loopback6) },
		"connected": func(m udpMaker) (udpConn, error) {
			return m.dial("udp", nil, udpAddr(sink))
		},
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

// TestUDPMakingAsNet holds what DialUDP, ListenUDP, ListenMulticastUDP and
// ListenPacket make and refuse against net. What is refused leaves no fd.
func TestUDPMakingAsNet(t *testing.T) {
	noSuchHost(t)
	start(t, 2)
	taken := netPeer(t, loopback4)
	hide := strings.NewReplacer(fmt.Sprint(":", udpAddr(taken).Port), ":TAKEN")
	addrs := append(udpTargets[:len(udpTargets):len(udpTargets)], udpAddr(taken), loopback4,
		loopback6,
		&net.UDPAddr{IP: net.IPv4(192, 0, 2, 77)}, &net.UDPAddr{IP: net.ParseIP("2001:db8::1"),
			Port: 5}, &net.UDPAddr{IP: net.IPv4(255, 255, 255, 255), Port: 9})
	closing := func(c net.PacketConn, err error) string {
		if err != nil {
			return fmt.Sprint(c == nil, errorText(err, hide))
		}
		defer c.Close()
		remote := fmt.Sprint(c.(net.Conn).RemoteAddr())
		if remote == ":0" || remote == "0.0.0.0:0" {
			remote = "[::]:0" // any address, however it was written
		}
		return fmt.Sprintf("%T made %v %s", c.LocalAddr(), udpAddr(c).IP, remote)
	}
	same := func(what string, make func(m udpMaker) string) {
		testenv.Equal(t, make(ourUDP), make(netUDP), "\ngot \nwant", what)
	}
	before := testenv.Files()
	for _, network := range []string{"udp", "udp4", "udp6", "tcp", "unixgram", "", "bogus",
		"ip4:1"} {
		for i, a := range addrs {
			what := fmt.Sprintf("%q %d %v", network, i, a)
			same("ListenUDP "+what, func(m udpMaker) string {
				return closing(m.listen(network, a))
			})
			same("ListenMulticastUDP "+what, func(m udpMaker) string {
				return closing(m.multi(network, nil, a))
			})
			for _, l := range append([]*net.UDPAddr{nil}, addrs...) {
				if l == nil || l.Port != 9 {
					same(fmt.Sprintf("DialUDP from %v %s", l, what), func(m udpMaker) string {
						return closing(m.dial(network, l, a))
					})
				}
			}
		}
		for _, a := range []string{"", ":0", "127.0.0.1:0", "[::1]:0", "0.0.0.0:0", "[::]:0",
			"localhost:0", taken.LocalAddr().String(), "192.0.2.77:0", "224.0.0.251:0"} {
			if strings.HasPrefix(network, "udp") { // others: TestBadInputOpening
				same("ListenPacket "+a, func(m udpMaker) string {
					return closing(m.packet(network, a))
				})
			}
		}
	}
	testenv.Until(t, "no more fds than before", func() bool { return testenv.Files() <= before })
}

// TestListenPacketControl: Control is called with net's arguments before the
// bind, and its error is the result.
func TestListenPacketControl(t *testing.T) {
	start(t, 1)
	var calls []string
	lc := socket.ListenConfig{Control: func(network, address string, c syscall.RawConn) error {
		calls = append(calls, network+" "+address)
		return c.Control(func(fd uintptr) {
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 12345)
		})
	}}
	c := testenv.Closing(t,
		testenv.Must(lc.ListenPacket(context.Background(), "udp", "127.0.0.1:0")))
	if n, _ := unix.GetsockoptInt(c.(*socket.UDPConn).FD(), unix.SOL_SOCKET,
		unix.SO_RCVBUF); n != 2*12345 || len(calls) != 1 || calls[0] != "udp4 127.0.0.1:0" {
		t.Errorf("called %q, buffer %d", calls, n)
	}
	no := errors.New("no")
	before := socket.OpenCount()
	lc.Control = func(string, string, syscall.RawConn) error { return no }
	testenv.Fails(t, shut(lc.ListenPacket(context.Background(), "udp", "127.0.0.1:0")), no)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if c, err := lc.ListenPacket(ctx, "udp", "localhost:0"); c != nil || err == nil {
		t.Errorf("after its context: %v, %v", c, err)
	}
	testenv.Equal(t, socket.OpenCount(), before, "sockets open, before")
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

func init() { children["udp without fds"] = udpWithoutFDs }

// TestUDPWithoutFDs: with so many fds to spare a socket is made or refused with
// EMFILE, and a refusal leaves none open.
func TestUDPWithoutFDs(t *testing.T) {
	t.Parallel()
	out, err := testenv.Output(children.Command(t, "udp without fds"))
	testenv.True(t, err == nil && strings.HasPrefix(string(out), "ok"), "%v\n%.500s", err, out)
}

func udpWithoutFDs() {
	testenv.MustOK(netco.Start(netco.Options{Processors: 1}))
	first, err := socket.ListenUDP("udp", loopback4) // Go's poller has its fds now
	if err != nil {
		testenv.Fatal(err)
	}
	debug.SetGCPercent(-1) // which would close what package net has lost
	for spare := range 4 {
		before := countFDs()
		free := fillFDs(64, spare)
		var made []io.Closer
		for what, make := range map[string]func() (io.Closer, error){
			"ListenPacket": func() (io.Closer, error) {
				return socket.ListenPacket("udp", "127.0.0.1:0")
			},
			"ListenUDP": func() (io.Closer, error) { return socket.ListenUDP("udp", loopback4) },
			"ListenMulticastUDP": func() (io.Closer, error) {
				return socket.ListenMulticastUDP("udp", nil,
					&net.UDPAddr{IP: net.IPv4(224, 0, 0, 251)})
			},
			"ListenUDPReusePort": func() (io.Closer, error) {
				_, err := socket.ListenUDPReusePort("udp", "127.0.0.1:0", 5)
				if err == nil {
					return nil, errors.New("five sockets with " + strconv.Itoa(spare) + " fds")
				}
				return nil, err
			},
			"DialUDP": func() (io.Closer, error) {
				return socket.DialUDP("udp", nil, udpAddr(first))
			},
		} {
			c, err := make()
			if err == nil {
				made = append(made, c)
			} else if !errors.Is(err, unix.EMFILE) && !errors.Is(err, unix.ENODEV) {
				// ENODEV: there may be no multicast.
				testenv.Fatal(spare, what, err)
			}
			for _, c := range made {
				c.Close()
			}
			made = nil
		}
		free()
		if n := socket.OpenCount(); n != 1 {
			testenv.Fatal(n, "sockets open")
		}
		if n := countFDs(); n != before {
			testenv.Fatal(n, "fds open, before", before)
		}
	}
	fmt.Print("ok")
}
