package socket_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

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
			for _, errno := range []syscall.Errno{unix.ENOBUFS, unix.ENOMEM, unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.EPERM} {
				check := func(name, op string, n int, err error) {
					var e *net.OpError
					if n != 0 || !errors.Is(err, errno) || !errors.As(err, &e) || e.Op != op || !strings.Contains(err.Error(), ": "+calls[name]+": ") {
						t.Errorf("%s: %d, %v", name, n, err)
					}
				}
				for _, w := range udpWrites {
					remove := (&script{first: map[sysx.Op][]syscall.Errno{sysx.Send: {unix.EINTR, unix.EINTR, errno}}}).install(t)
					n, err := w.write(a, []byte("x"), udpAddr(b))
					check(w.name, "write", n, err)
					n, err = w.write(a, []byte("y"), udpAddr(b))
					remove()
					if n != 1 || err != nil {
						t.Errorf("%s after the error: %d, %v", w.name, n, err)
					}
					if n, err := b.Read(buf); string(buf[:n]) != "y" {
						t.Errorf("%s: %q arrived, %v", w.name, buf[:n], err)
					}
				}
				for _, r := range udpReads {
					a.WriteToUDP([]byte("z"), udpAddr(b))
					remove := (&script{first: map[sysx.Op][]syscall.Errno{sysx.Recv: {unix.EINTR, unix.EINTR, errno}}}).install(t)
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

// TestUDPFalseAlarms: reads that find nothing although they were told that
// there is something, over and over, go back to waiting and miss nothing.
func TestUDPFalseAlarms(t *testing.T) {
	for _, r := range udpReads {
		for _, p := range testrun.Places {
			t.Run(r.name+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				c, peer := listenUDP(t, loopback4), netPeer(t, loopback4)
				s := &script{every: map[sysx.Op]syscall.Errno{sysx.Recv: unix.EAGAIN}}
				remove := s.install(t)
				defer remove()
				const datagrams = 40
				var got atomic.Int64
				reader := p.Go(func() {
					buf := make([]byte, 300)
					for i := range datagrams {
						n, _, err := r.read(c, buf)
						if err == nil {
							err = checkNumbered(buf[:n], i)
						}
						if err != nil {
							t.Error(err)
							return
						}
						got.Add(1)
					}
				})
				reader.UntilParked(t, coroutine.ReasonRead)
				for i := range datagrams {
					if i == datagrams-1 {
						remove() // nothing comes after the last
					}
					tried := s.called[sysx.Recv].Load()
					peer.WriteToUDP(numberedPayload(i), udpAddr(c))
					testenv.Until(t, "a read", func() bool {
						return i == datagrams-1 || got.Load() > int64(i) || s.called[sysx.Recv].Load() > tried
					})
				}
				reader.Wait(t)
			})
		}
	}
}

// TestUDPDialFaults: what keeps a socket from being made or connected is
// returned as by net, and leaves no fd.
func TestUDPDialFaults(t *testing.T) {
	start(t, 1)
	peer := netPeer(t, loopback4)
	for _, c := range []struct {
		op    sysx.Op
		errno syscall.Errno
		call  string
	}{
		{sysx.Socket, unix.EMFILE, "socket"},
		{sysx.Socket, unix.ENFILE, "socket"},
		{sysx.Socket, unix.ENOBUFS, "socket"},
		{sysx.Connect, unix.EADDRNOTAVAIL, "connect"},
		{sysx.Connect, unix.ENETUNREACH, "connect"},
		{sysx.Connect, unix.EACCES, "connect"},
	} {
		fds := openFDCount()
		remove := (&script{first: map[sysx.Op][]syscall.Errno{c.op: {c.errno}}}).install(t)
		conn, err := socket.DialUDP("udp", nil, udpAddr(peer))
		remove()
		if want := "dial udp " + peer.LocalAddr().String() + ": " + c.call + ": " + c.errno.Error(); conn != nil || err == nil || err.Error() != want {
			t.Errorf("%v, %v, want %s", conn, err, want)
		}
		// fewer, if a collection has closed what an earlier test lost
		if n := openFDCount(); n > fds || socket.Open() != 0 {
			t.Errorf("%d fds open, before %d", n, fds)
		}
	}
	for _, refused := range []struct{ laddr, raddr *net.UDPAddr }{
		{udpAddr(peer), udpAddr(peer)},                                                       // bind
		{nil, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 70000}},                         // before connect
		{loopback4, loopback6},                                                               // the families do not fit
		{nil, &net.UDPAddr{IP: net.IP{1, 2}, Port: 1}},                                       // no address
		{&net.UDPAddr{IP: net.IPv4(192, 0, 2, 77)}, &net.UDPAddr{IP: net.IPv4zero, Port: 1}}, // not of this host
	} {
		fds := openFDCount()
		for range 10 {
			if c, err := socket.DialUDP("udp", refused.laddr, refused.raddr); c != nil || err == nil {
				t.Errorf("%v to %v: %v, %v", refused.laddr, refused.raddr, c, err)
				c.Close()
			}
		}
		if n := openFDCount(); n > fds {
			t.Errorf("%d fds open, before %d", n, fds)
		}
	}
}

// openFDCount is how many fds are open, that of counting among them.
func openFDCount() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(list)
}

// TestUDPEpollFull: an operation that would wait returns that it cannot; a
// batch that need not wait is read; and once there is room all is well.
func TestUDPEpollFull(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		peer := netPeer(t, loopback4)
		for _, r := range udpReads {
			c := listenUDP(t, loopback4)
			remove := (&script{first: map[sysx.Op][]syscall.Errno{sysx.EpollCtl: repeat(1000, unix.ENOSPC)}}).install(t)
			p.Do(t, func() {
				if _, _, err := r.read(c, make([]byte, 10)); !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "epoll_ctl") {
					t.Errorf("%s: %v", r.name, err)
				}
				peer.WriteToUDP([]byte("x"), udpAddr(c))
				if r.name == "ReadBatch" {
					untilReadable(t, c.FD())
					if n, _, err := r.read(c, make([]byte, 10)); n != 1 || err != nil {
						t.Errorf("%s of what is there: %d, %v", r.name, n, err)
					}
					peer.WriteToUDP([]byte("x"), udpAddr(c))
				}
			})
			remove()
			p.Do(t, func() {
				if n, _, err := r.read(c, make([]byte, 10)); n != 1 || err != nil {
					t.Errorf("%s with room: %d, %v", r.name, n, err)
				}
			})
			k := p.Go(func() { r.read(c, make([]byte, 10)) })
			k.UntilParked(t, coroutine.ReasonRead)
			peer.WriteToUDP([]byte("x"), udpAddr(c))
			k.Wait(t)
		}
	})
}

func init() { children["udp without fds"] = udpWithoutFDs }

// TestUDPWithoutFDs: with so many fds to spare a socket is made or refused with
// EMFILE, and a refusal leaves none open.
func TestUDPWithoutFDs(t *testing.T) {
	t.Parallel()
	out, err := testenv.Output(children.Command(t, "udp without fds"))
	if err != nil || !strings.HasPrefix(string(out), "ok") {
		t.Errorf("%v\n%.500s", err, out)
	}
}

func udpWithoutFDs() {
	testenv.MustOK(netco.Start(netco.Options{Processors: 1}))
	first, err := socket.ListenUDP("udp", loopback4) // Go's poller has its fds now
	if err != nil {
		testenv.Fatal(err)
	}
	debug.SetGCPercent(-1) // which would close what package net has lost
	for spare := range 4 {
		before := openFDCount()
		free := fillFDs(64, spare)
		var made []io.Closer
		for what, make := range map[string]func() (io.Closer, error){
			"ListenPacket": func() (io.Closer, error) { return socket.ListenPacket("udp", "127.0.0.1:0") },
			"ListenUDP":    func() (io.Closer, error) { return socket.ListenUDP("udp", loopback4) },
			"ListenMulticastUDP": func() (io.Closer, error) {
				return socket.ListenMulticastUDP("udp", nil, &net.UDPAddr{IP: net.IPv4(224, 0, 0, 251)})
			},
			"ListenUDPReusePort": func() (io.Closer, error) {
				_, err := socket.ListenUDPReusePort("udp", "127.0.0.1:0", 5)
				if err == nil {
					return nil, errors.New("five sockets with " + strconv.Itoa(spare) + " fds")
				}
				return nil, err
			},
			"DialUDP": func() (io.Closer, error) { return socket.DialUDP("udp", nil, udpAddr(first)) },
		} {
			c, err := make()
			if err == nil {
				made = append(made, c)
			} else if !errors.Is(err, unix.EMFILE) && !errors.Is(err, unix.ENODEV) { // there may be no multicast
				testenv.Fatal(spare, what, err)
			}
			for _, c := range made {
				c.Close()
			}
			made = nil
		}
		free()
		if n := socket.Open(); n != 1 {
			testenv.Fatal(n, "sockets open")
		}
		if n := openFDCount(); n != before {
			testenv.Fatal(n, "fds open, before", before)
		}
	}
	fmt.Print("ok")
}
