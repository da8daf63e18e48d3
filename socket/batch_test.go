package socket_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// room makes messages to receive into.
func room(n, size, oob int) []socket.Message {
	ms := make([]socket.Message, n)
	for i := range ms {
		ms[i] = socket.Message{Buf: make([]byte, size), OOB: make([]byte, oob)}
	}
	return ms
}

// numbered makes n messages to send. Each has its number in every pair of
// bytes, and a length of its own.
func numbered(first, n int, to netip.AddrPort) []socket.Message {
	ms := make([]socket.Message, n)
	for i := range ms {
		ms[i] = socket.Message{Buf: numberedPayload(first + i), Addr: to}
	}
	return ms
}

func numberedPayload(i int) []byte {
	p := make([]byte, 4+2*(i%97))
	for j := 0; j < len(p); j += 2 {
		p[j], p[j+1] = byte(i>>8), byte(i)
	}
	return p
}

// checkNumbered checks that p is datagram i, whole.
func checkNumbered(p []byte, i int) error {
	if want := numberedPayload(i); string(p) != string(want) {
		return fmt.Errorf("datagram %d is %x, want %x", i, p, want)
	}
	return nil
}

// receive reads batches until n datagrams have come, which must be numbered
// from first on.
func receive(c *socket.UDPConn, in []socket.Message, first, n int, from netip.AddrPort) error {
	for got := 0; got < n; {
		k, err := c.ReadBatch(in[:min(len(in), n-got)])
		if err != nil || k < 1 || k > n-got {
			return fmt.Errorf("after %d: %d, %w", got, k, err)
		}
		for i := range k {
			if err := checkNumbered(in[i].Buf[:in[i].N], first+got+i); err != nil {
				return err
			}
			if in[i].Addr != from || in[i].Flags != 0 || in[i].NN != 0 || in[i].SegmentSize != 0 {
				return fmt.Errorf("datagram %d: %+v", got+i, in[i])
			}
		}
		got += k
	}
	return nil
}

// batchPair returns two sockets, the second with room for all that is sent.
func batchPair(t *testing.T, at *net.UDPAddr) (a, b *socket.UDPConn) {
	t.Helper()
	a, b = listenUDP(t, at), listenUDP(t, at)
	b.SetReadBuffer(4 << 20)
	return a, b
}

// TestBatch: batches of all sizes arrive whole, in order, with their addresses,
// on either family and from every place.
func TestBatch(t *testing.T) {
	sizes := []int{1, 2, 31, 32, 33, 100}
	for _, at := range []*net.UDPAddr{loopback4, loopback6} {
		inPlacesOf(t, at.IP.String(), func(t *testing.T, p testrun.Place) {
			a, b := batchPair(t, at)
			reader := testrun.Second.Go(func() {
				want := 0
				for _, n := range sizes {
					testenv.NoError(t, receive(b, room(n, 300, 0), want, n, portOf(a)))
					want += n
				}
			})
			p.Do(t, func() {
				sent := 0
				for _, n := range sizes {
					ms := numbered(sent, n, portOf(b))
					testenv.Gives(t, n, nil)(a.WriteBatch(ms))
					for i := range ms {
						testenv.Equal(t, ms[i].N, len(ms[i].Buf), "message", i, "of", n)
					}
					sent += n
				}
				testenv.Gives(t, 0, nil)(a.WriteBatch(nil))
			})
			reader.Wait(t)
		})
	}
}

// TestBatchConnected: messages without an address go to the peer; messages with
// an address are refused.
func TestBatchConnected(t *testing.T) {
	start(t, 1)
	b := listenUDP(t, loopback4)
	a := dialTo(t, b)
	if n, err := a.WriteBatch(numbered(0, 40, netip.AddrPort{})); n != 40 || err != nil {
		t.Fatal(n, err)
	}
	testenv.NoError(t, receive(b, room(8, 300, 0), 0, 40, portOf(a)))
	ms := numbered(40, 3, netip.AddrPort{})
	ms[2].Addr = portOf(b)
	testenv.Gives(t, 2, net.ErrWriteToConnected)(a.WriteBatch(ms))
}

// TestBatchError: an error of one message, wherever it is found, ends the batch
// there: the messages before it have gone, n is its index, and the rest can be
// sent.
func TestBatchError(t *testing.T) {
	start(t, 1)
	a, b := batchPair(t, loopback4)
	for name, spoil := range map[string]struct {
		f    func(m *socket.Message)
		want error
		text string
	}{
		"too large": {func(m *socket.Message) { m.Buf = make([]byte, 65508) },
			unix.EMSGSIZE, "sendmmsg: message too long"},
		"no address": {func(m *socket.Message) { m.Addr = netip.AddrPort{} },
			nil, "missing address"},
		"wrong family": {func(m *socket.Message) { m.Addr = netip.MustParseAddrPort("[::1]:9") },
			nil, "address ::1: non-IPv4 address"},
		"port 0": {func(m *socket.Message) { m.Addr = netip.MustParseAddrPort("127.0.0.1:0") },
			unix.EINVAL, "sendmmsg: invalid argument"},
		"bad oob": {func(m *socket.Message) {
			m.OOB = controlMessage(unix.IPPROTO_IP, unix.IP_TOS, []byte{0, 0, 0, 0})
			m.OOB[0] = 1 // its length
		}, unix.EINVAL, "sendmmsg: invalid argument"},
		"segments": {func(m *socket.Message) { m.SegmentSize = -1 },
			unix.EINVAL, "sendmmsg: invalid argument"},
		"large segment": {func(m *socket.Message) { m.SegmentSize = 1 << 16 },
			unix.EINVAL, "sendmmsg: invalid argument"},
	} {
		for _, k := range []int{0, 1, 17, 31, 32, 33, 49} {
			ms := numbered(0, 50, portOf(b))
			spoil.f(&ms[k])
			n, err := a.WriteBatch(ms)
			var e *net.OpError
			if n != k || !errors.As(err, &e) || e.Op != "write" || spoil.want != nil &&
				!errors.Is(err, spoil.want) || !strings.HasSuffix(err.Error(), spoil.text) {
				t.Errorf("%s at %d: %d, %v", name, k, n, err)
				continue
			}
			if want := ms[k].Addr.String(); e.Addr.String() != want {
				t.Errorf("%s at %d: the error names %v, want %s", name, k, e.Addr, want)
			}
			ms[k] = numbered(k, 1, portOf(b))[0]
			testenv.Gives(t, 50-k, nil, name, "the rest")(a.WriteBatch(ms[k:]))
			testenv.Fails(t, receive(b, room(50, 300, 0), 0, 50, portOf(a)), nil, name, "at", k)
		}
	}
}

// TestBatchSendFaults: errors of sendmmsg, before the first message and between
// two, are returned with the right n, and a call without room waits for it.
func TestBatchSendFaults(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.ENOBUFS, unix.ENOMEM, unix.EPERM, unix.ECONNREFUSED,
		unix.ENETUNREACH, unix.EIO} {
		t.Run(unix.ErrnoName(errno), func(t *testing.T) {
			inPlaces(t, func(t *testing.T, p testrun.Place) { batchSendFault(t, p, errno) })
		})
	}
}

func batchSendFault(t *testing.T, p testrun.Place, errno syscall.Errno) {
	a, b := batchPair(t, loopback4)
	ms := numbered(0, 40, portOf(b))
	for _, before := range []int{0, 10, 32} {
		calls := 0
		remove := between(t, sysx.Send, a.FD(), func(asked int) (int, syscall.Errno) {
			if calls++; before == 0 || calls > 1 {
				return 0, errno
			}
			return before, 0
		})
		p.Do(t, func() {
			n, err := a.WriteBatch(ms)
			remove()
			testenv.True(t, n == before && errors.Is(err, errno) && strings.Contains(err.Error(),
				"sendmmsg"), "%d, %v, want %d", n, err, before)
			testenv.Gives(t, 40-n, nil, "the rest")(a.WriteBatch(ms[n:]))
			testenv.NoError(t, receive(b, room(32, 300, 0), 0, 40, portOf(a)))
		})
	}
}

// TestBatchRoomComesBack: EAGAIN in the middle of a batch is waited out, and
// the batch goes on where it was.
func TestBatchRoomComesBack(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		a, b := batchPair(t, loopback4)
		calls := 0 // of the only writer
		full := false
		between(t, sysx.Send, a.FD(), func(int) (int, syscall.Errno) {
			calls++
			if full = !full; !full {
				return 7, 0
			}
			// This datagram makes the edge: a socket that is never full gets
			// none.
			b.WriteToUDPAddrPort([]byte("edge"), portOf(a))
			return 0, unix.EAGAIN
		})
		p.Do(t, func() { testenv.Gives(t, 50, nil)(a.WriteBatch(numbered(0, 50, portOf(b)))) })
		testenv.True(t, calls >= 2*50/7, "%d calls", calls)
		testenv.NoError(t, receive(b, room(32, 300, 0), 0, 50, portOf(a)))
	})
}

// TestBatchFew: a batch larger than one system call may move takes several
// calls, and large buffers limit how many messages one call takes.
func TestBatchFew(t *testing.T) {
	start(t, 1)
	a, b := batchPair(t, loopback4)
	var asked []int
	remove := sysx.Inject(func(op sysx.Op, fd, n int) (int, syscall.Errno) {
		if op == sysx.Send { // a Processor may be about to wait meanwhile
			asked = append(asked, n)
		}
		return n, 0
	})
	n, err := a.WriteBatch(numbered(0, 70, portOf(b)))
	remove()
	testenv.True(t, n == 70 && err == nil && fmt.Sprint(asked) == "[32 32 6]",
		"%d, %v, in calls of %v", n, err, asked)
	// What has been sent need not have arrived.
	large, small := room(40, 64<<10, 0), room(40, 300, 0)
	testenv.Until(t, "full calls", func() bool {
		n, err := b.ReadBatch(large)
		if n > 4 || err != nil {
			t.Fatalf("into buffers of 64 KiB: %d, %v", n, err)
		}
		m, err := b.ReadBatch(small)
		if m > 32 || err != nil {
			t.Fatalf("into small ones: %d, %v", m, err)
		}
		testenv.OK(t, receive(b, small, n+m, 70-n-m, portOf(a)))
		if n == 4 && m == 32 {
			return true
		}
		if k, err := a.WriteBatch(numbered(0, 70, portOf(b))); k != 70 || err != nil {
			t.Fatal(k, err)
		}
		return false
	})
}

// TestBatchSegments: one message is cut into datagrams; other control messages
// go along.
func TestBatchSegments(t *testing.T) {
	start(t, 1)
	for _, at := range []*net.UDPAddr{loopback4, loopback6} {
		t.Run(at.IP.String(), func(t *testing.T) {
			a, b := batchPair(t, at)
			level, kind, want := unix.IPPROTO_IP, unix.IP_TOS, unix.IP_RECVTOS
			if at == loopback6 {
				level, kind, want = unix.IPPROTO_IPV6, unix.IPV6_TCLASS, unix.IPV6_RECVTCLASS
			}
			testenv.OK(t, unix.SetsockoptInt(b.FD(), level, want, 1))
			const size, total = 100, 1050
			ms := []socket.Message{
				{Buf: pattern(total), Addr: portOf(b), SegmentSize: size},
				{Buf: pattern(total), Addr: portOf(b), SegmentSize: size,
					OOB: controlMessage(level, kind, []byte{0x48, 0, 0, 0})},
				{Buf: pattern(size), Addr: portOf(b), SegmentSize: size},
			}
			n, err := a.WriteBatch(ms)
			if errors.Is(err, errors.ErrUnsupported) {
				needUDPOption(t, unix.UDP_SEGMENT)
			}
			if n != 3 || err != nil || ms[0].N != total || ms[1].N != total {
				t.Fatal(n, err, ms[0].N, ms[1].N)
			}
			in := room(32, 2000, 100)
			got := 0
			for got < 23 {
				n := testenv.Must(b.ReadBatch(in))
				for i := range n {
					m, at := &in[i], (got+i)%11
					if m.N != min(size, total-at*size) || differs(m.Buf[:m.N], at*size) != "" ||
						m.SegmentSize != 0 {
						t.Errorf("segment %d: %d bytes, size %d, %s", got+i, m.N, m.SegmentSize,
							differs(m.Buf[:m.N], at*size))
					}
					list, err := unix.ParseSocketControlMessage(m.OOB[:m.NN])
					if marked := got+i >= 11 && got+i < 22; err != nil || len(list) != 1 ||
						(list[0].Data[0] == 0x48) != marked {
						t.Errorf("segment %d: %v, %v", got+i, list, err)
					}
				}
				got += n
			}
		})
	}
}

// TestBatchJoined: datagrams that the kernel has joined come with their size,
// beside other control messages, and without the control message that netco
// asks for.
func TestBatchJoined(t *testing.T) {
	start(t, 1)
	a, b := batchPair(t, loopback4)
	if err := b.SetGRO(true); errors.Is(err, errors.ErrUnsupported) {
		needUDPOption(t, unix.UDP_GRO)
	} else if err != nil {
		t.Fatal(err)
	}
	testenv.OK(t, unix.SetsockoptInt(b.FD(), unix.IPPROTO_IP, unix.IP_RECVTOS, 1))
	tos := controlMessage(unix.IPPROTO_IP, unix.IP_TOS, []byte{0x48, 0, 0, 0})
	for _, roomOOB := range []int{0, unix.CmsgSpace(1), 200} {
		ms := []socket.Message{
			{Buf: pattern(1050), Addr: portOf(b), SegmentSize: 100, OOB: tos},
			{Buf: pattern(50), Addr: portOf(b), OOB: tos},
		}
		if n, err := a.WriteBatch(ms); n != 2 || err != nil {
			t.Fatal(n, err)
		}
		total, joined := 0, false
		for total < 1100 {
			in := room(8, 64<<10, roomOOB)
			n := testenv.Must(b.ReadBatch(in))
			for i := range n {
				m := &in[i]
				if m.SegmentSize != 0 && m.SegmentSize != 100 || m.SegmentSize == 0 && m.N > 100 {
					t.Errorf("%d bytes with a segment size of %d", m.N, m.SegmentSize)
				}
				joined = joined || m.SegmentSize != 0
				testenv.Equal(t, differs(m.Buf[:m.N], total%1050), "")
				total += m.N
				list, err := unix.ParseSocketControlMessage(m.OOB[:m.NN])
				if roomOOB == 0 {
					testenv.True(t, m.NN == 0 && m.Flags&unix.MSG_CTRUNC != 0,
						"without room: %d bytes, flags %#x", m.NN, m.Flags)
				} else if err != nil || len(list) != 1 || list[0].Header.Type != unix.IP_TOS ||
					list[0].Data[0] != 0x48 || m.Flags != 0 {
					t.Errorf("room %d: %+v, %v, flags %#x", roomOOB, list, err, m.Flags)
				}
			}
		}
		testenv.True(t, joined, "nothing was joined")
	}
	testenv.NoError(t, b.SetGRO(false))
	if n, err := a.WriteBatch([]socket.Message{{Buf: pattern(1000), Addr: portOf(b),
		SegmentSize: 100}}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	for got := 0; got < 10; {
		in := room(32, 2000, 0)
		n, err := b.ReadBatch(in)
		if err != nil || in[0].N != 100 || in[0].SegmentSize != 0 {
			t.Fatalf("turned off: %d, %v, %d bytes of %d", n, err, in[0].N, in[0].SegmentSize)
		}
		got += n
	}
	b.Close()
	failsIn(t, "set", b.SetGRO(true), net.ErrClosed)
	failsIn(t, "read", testenv.Err(b.ReadBatch(nil)), net.ErrClosed)
	failsIn(t, "write", testenv.Err(b.WriteBatch(nil)), net.ErrClosed)
}

// TestBatchSegmentsMissing: a kernel that would ignore the segment size is not
// given one.
func TestBatchSegmentsMissing(t *testing.T) {
	start(t, 1)
	a, b := batchPair(t, loopback4)
	restore := socket.WithoutGSO()
	ms := numbered(0, 3, portOf(b))
	ms[1].SegmentSize = 2
	n, err := a.WriteBatch(ms)
	testenv.True(t, n == 1 && errors.Is(err, errors.ErrUnsupported) && strings.Contains(err.Error(),
		"UDP_SEGMENT"), "%d, %v", n, err)
	restore()
	if n, err := a.WriteBatch(ms[1:]); errors.Is(err, errors.ErrUnsupported) {
		needUDPOption(t, unix.UDP_SEGMENT)
	} else if n != 2 || err != nil {
		t.Errorf("found again: %d, %v", n, err)
	}
}

// needUDPOption skips the test if the kernel lacks an option of UDP sockets,
// and fails it if the kernel has the option: then netco should have used it.
func needUDPOption(t *testing.T, option int) {
	t.Helper()
	fd := testenv.Must(unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))
	defer unix.Close(fd)
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_UDP, option, 1); err != nil {
		t.Skipf("this kernel has no UDP option %d: %v", option, err)
	}
	t.Fatalf("the kernel has UDP option %d, and ours is unsupported", option)
}
