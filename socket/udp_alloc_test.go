package socket_test

import (
	"errors"
	"net"
	"net/netip"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestUDPNoAllocation: none of the methods that promise it allocates, whether
// it waits or not.
func TestUDPNoAllocation(t *testing.T) {
	testenv.NoRace(t)
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		for name, make := range allocFree {
			t.Run(at+" "+name, func(t *testing.T) {
				start(t, 1)
				x := newAllocSockets(t, at)
				f := make(x)
				want := 0.0
				if name == "UDPAddr" {
					want = 1 // the address' bytes, as with net
				}
				testrun.First.Do(t, func() {
					defer debug.SetGCPercent(debug.SetGCPercent(-1))
					if n := testing.AllocsPerRun(200, f); n > want || x.failed != nil {
						t.Errorf("%v allocations, %v", n, x.failed)
					}
				})
			})
		}
	}
}

// allocSockets are two sockets, d connected to c, and what they send.
type allocSockets struct {
	c, d     *socket.UDPConn
	self     *net.UDPAddr   // where c is
	to, peer netip.AddrPort // where c and d are
	buf, oob []byte
	failed   error
}

func newAllocSockets(t *testing.T, at string) *allocSockets {
	pc, err := socket.ListenPacket("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	x := &allocSockets{c: pc.(*socket.UDPConn), buf: make([]byte, 100), oob: make([]byte, 100)}
	t.Cleanup(func() { x.c.Close() })
	x.self = udpAddr(x.c)
	if x.self.IP.IsUnspecified() {
		x.self.IP = loopback4.IP
	}
	if x.d, err = socket.DialUDP("udp", nil, x.self); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.d.Close() })
	x.to, x.peer = x.self.AddrPort(), portOf(x.d)
	return x
}

func (x *allocSockets) must(err error) {
	if err != nil {
		x.failed = err
	}
}

// allocFree make functions that send and receive one way or another.
var allocFree = map[string]func(x *allocSockets) func(){
	"AddrPort": func(x *allocSockets) func() {
		return func() {
			_, err := x.c.WriteToUDPAddrPort(x.buf, x.to)
			x.must(err)
			_, _, err = x.c.ReadFromUDPAddrPort(x.buf)
			x.must(err)
		}
	},
	"UDPAddr": func(x *allocSockets) func() {
		return func() {
			_, err := x.c.WriteToUDP(x.buf, x.self)
			x.must(err)
			_, from, err := x.c.ReadFromUDP(x.buf)
			x.must(err)
			if from != nil && from.Port != x.self.Port {
				x.must(errors.New("another's"))
			}
		}
	},
	"connected": func(x *allocSockets) func() {
		return func() {
			_, err := x.d.Write(x.buf)
			x.must(err)
			_, err = x.c.Read(x.buf)
			x.must(err)
		}
	},
	"msg": func(x *allocSockets) func() {
		return func() {
			_, _, err := x.c.WriteMsgUDPAddrPort(x.buf, nil, x.to)
			x.must(err)
			_, _, _, _, err = x.c.ReadMsgUDPAddrPort(x.buf, x.oob)
			x.must(err)
		}
	},
	"msg connected": func(x *allocSockets) func() {
		return func() {
			_, _, err := x.d.WriteMsgUDP(x.buf, nil, nil)
			x.must(err)
			_, _, _, _, err = x.c.ReadMsgUDPAddrPort(x.buf, x.oob)
			x.must(err)
		}
	},
	"under a deadline": func(x *allocSockets) func() {
		return func() {
			x.d.SetReadDeadline(time.Now().Add(time.Minute))
			_, err := x.c.WriteToUDPAddrPort(x.buf, x.peer)
			x.must(err)
			_, err = x.d.Read(x.buf)
			x.must(err)
		}
	},
	"batch": func(x *allocSockets) func() {
		x.c.SetGRO(true)
		var out, in [4]socket.Message
		for i := range out {
			out[i] = socket.Message{Buf: make([]byte, 60), SegmentSize: 30 * (i % 2), Addr: x.to}
			in[i] = socket.Message{Buf: make([]byte, 2000), OOB: make([]byte, 40)}
		}
		return func() {
			_, err := x.c.WriteBatch(out[:])
			x.must(err)
			for got := 0; got < 4*60 && x.failed == nil; {
				n, err := x.c.ReadBatch(in[:])
				x.must(err)
				for i := range n {
					got += in[i].N
				}
			}
		}
	},
}

// TestUDPNoAllocationWaiting: a datagram that is waited for, answered and
// waited for again allocates nothing.
func TestUDPNoAllocationWaiting(t *testing.T) {
	testenv.NoRace(t)
	start(t, 2)
	a, b := listenUDP(t, loopback4), listenUDP(t, loopback4)
	server := testrun.First.Go(func() {
		ms := make([]socket.Message, 8)
		for i := range ms {
			ms[i].Buf = make([]byte, 64)
		}
		for {
			n, err := b.ReadBatch(ms)
			if err != nil {
				return
			}
			if _, err := b.WriteBatch(ms[:n]); err != nil {
				t.Error(err)
			}
		}
	})
	to := portOf(b)
	client := func(trips int) {
		testrun.Second.Do(t, func() {
			buf := make([]byte, 64)
			for range trips {
				if _, err := a.WriteToUDPAddrPort(buf, to); err != nil {
					t.Error(err)
				}
				if _, _, err := a.ReadFromUDPAddrPort(buf); err != nil {
					t.Error(err)
				}
			}
		})
	}
	client(200)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	client(200)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	client(2000)
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > 60 {
		t.Errorf("%d allocations for 2000 round trips", n)
	}
	b.Close()
	server.Wait(t)
}
