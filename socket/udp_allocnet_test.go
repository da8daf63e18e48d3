package socket_test

import (
	"net"
	"net/netip"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/socket"
)

// What datagrams leave behind; package variables, so that addresses escape.
var (
	keptAddr net.Addr
	keptUDP  *net.UDPAddr
	keptUnix *net.UnixAddr
	lastPort int
	lastName string
)

// TestDatagramAllocationsBesideNet: no method that moves a datagram allocates
// more often than net's does, nor than the most that stands beside it.
// ReadFrom, ReadFromUDP and ReadMsgUDP allocated an address that was kept and,
// apart from it, its bytes.
func TestDatagramAllocationsBesideNet(t *testing.T) {
	testenv.NoRace(t)
	start(t, 1)
	buf, oob := make([]byte, 64), make([]byte, 64)
	failed := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		if at == "[::1]:0" && !haveIPv6() {
			continue
		}
		a := testenv.Closing(t, testenv.Must(socket.ListenPacket("udp", at)))
		ours := a.(*socket.UDPConn)
		b := testenv.Closing(t, testenv.Must(net.ListenPacket("udp", at)))
		theirs := b.(*net.UDPConn)
		to := func(c net.PacketConn) *net.UDPAddr {
			u := udpAddr(c)
			if u.IP.IsUnspecified() {
				u.IP = loopback4.IP
			}
			return u
		}
		ourUDP, theirUDP := to(ours), to(theirs)
		ourPort, theirPort := netip.MustParseAddrPort(ourUDP.String()), netip.MustParseAddrPort(theirUDP.String())
		// Each is spelt out for both: through an interface net's methods are
		// not inlined, and allocate more.
		rows := []struct {
			name         string
			most         float64
			ours, theirs func()
		}{
			{"WriteTo, ReadFrom", 1, func() {
				_, err := ours.WriteTo(buf, ourUDP)
				failed(err)
				_, keptAddr, err = ours.ReadFrom(buf)
				failed(err)
			}, func() {
				_, err := theirs.WriteTo(buf, theirUDP)
				failed(err)
				_, keptAddr, err = theirs.ReadFrom(buf)
				failed(err)
			}},
			{"WriteToUDP, ReadFromUDP", 1, func() {
				_, err := ours.WriteToUDP(buf, ourUDP)
				failed(err)
				_, from, err := ours.ReadFromUDP(buf)
				failed(err)
				lastPort = from.Port
			}, func() {
				_, err := theirs.WriteToUDP(buf, theirUDP)
				failed(err)
				_, from, err := theirs.ReadFromUDP(buf)
				failed(err)
				lastPort = from.Port
			}},
			{"WriteToUDP, ReadFromUDP, kept", 1, func() {
				_, err := ours.WriteToUDP(buf, ourUDP)
				failed(err)
				_, keptUDP, err = ours.ReadFromUDP(buf)
				failed(err)
			}, func() {
				_, err := theirs.WriteToUDP(buf, theirUDP)
				failed(err)
				_, keptUDP, err = theirs.ReadFromUDP(buf)
				failed(err)
			}},
			{"WriteToUDPAddrPort, ReadFromUDPAddrPort", 0, func() {
				_, err := ours.WriteToUDPAddrPort(buf, ourPort)
				failed(err)
				_, _, err = ours.ReadFromUDPAddrPort(buf)
				failed(err)
			}, func() {
				_, err := theirs.WriteToUDPAddrPort(buf, theirPort)
				failed(err)
				_, _, err = theirs.ReadFromUDPAddrPort(buf)
				failed(err)
			}},
			{"WriteMsgUDP, ReadMsgUDP", 1, func() {
				_, _, err := ours.WriteMsgUDP(buf, nil, ourUDP)
				failed(err)
				_, _, _, keptUDP, err = ours.ReadMsgUDP(buf, oob)
				failed(err)
			}, func() {
				_, _, err := theirs.WriteMsgUDP(buf, nil, theirUDP)
				failed(err)
				_, _, _, keptUDP, err = theirs.ReadMsgUDP(buf, oob)
				failed(err)
			}},
			{"WriteMsgUDPAddrPort, ReadMsgUDPAddrPort", 0, func() {
				_, _, err := ours.WriteMsgUDPAddrPort(buf, nil, ourPort)
				failed(err)
				_, _, _, _, err = ours.ReadMsgUDPAddrPort(buf, oob)
				failed(err)
			}, func() {
				_, _, err := theirs.WriteMsgUDPAddrPort(buf, nil, theirPort)
				failed(err)
				_, _, _, _, err = theirs.ReadMsgUDPAddrPort(buf, oob)
				failed(err)
			}},
			{"WriteToUDP, Read", 0, func() {
				_, err := ours.WriteToUDP(buf, ourUDP)
				failed(err)
				_, err = ours.Read(buf)
				failed(err)
			}, func() {
				_, err := theirs.WriteToUDP(buf, theirUDP)
				failed(err)
				_, err = theirs.Read(buf)
				failed(err)
			}},
		}
		for _, r := range rows {
			compareAllocs(t, at+" "+r.name, r.most, r.ours, r.theirs)
		}
	}
}

// TestUnixgramAllocationsBesideNet is TestDatagramAllocationsBesideNet for
// unixgram.
func TestUnixgramAllocationsBesideNet(t *testing.T) {
	testenv.NoRace(t)
	start(t, 1)
	buf, oob := make([]byte, 64), make([]byte, 64)
	failed := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	ourName := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "o"), Net: "unixgram"}
	theirName := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "t"), Net: "unixgram"}
	ours := testenv.Closing(t, testenv.Must(socket.ListenUnixgram("unixgram", ourName)))
	theirs := testenv.Closing(t, testenv.Must(net.ListenUnixgram("unixgram", theirName)))
	for _, r := range []struct {
		name         string
		most         float64
		ours, theirs func()
	}{
		{"WriteTo, ReadFrom", 2, func() {
			_, err := ours.WriteTo(buf, ourName)
			failed(err)
			_, keptAddr, err = ours.ReadFrom(buf)
			failed(err)
		}, func() {
			_, err := theirs.WriteTo(buf, theirName)
			failed(err)
			_, keptAddr, err = theirs.ReadFrom(buf)
			failed(err)
		}},
		{"WriteToUnix, ReadFromUnix", 2, func() {
			_, err := ours.WriteToUnix(buf, ourName)
			failed(err)
			_, from, err := ours.ReadFromUnix(buf)
			failed(err)
			lastName = from.Name
		}, func() {
			_, err := theirs.WriteToUnix(buf, theirName)
			failed(err)
			_, from, err := theirs.ReadFromUnix(buf)
			failed(err)
			lastName = from.Name
		}},
		{"WriteMsgUnix, ReadMsgUnix", 2, func() {
			_, _, err := ours.WriteMsgUnix(buf, nil, ourName)
			failed(err)
			_, _, _, keptUnix, err = ours.ReadMsgUnix(buf, oob)
			failed(err)
		}, func() {
			_, _, err := theirs.WriteMsgUnix(buf, nil, theirName)
			failed(err)
			_, _, _, keptUnix, err = theirs.ReadMsgUnix(buf, oob)
			failed(err)
		}},
		{"WriteToUnix, Read", 0, func() {
			_, err := ours.WriteToUnix(buf, ourName)
			failed(err)
			_, err = ours.Read(buf)
			failed(err)
		}, func() {
			_, err := theirs.WriteToUnix(buf, theirName)
			failed(err)
			_, err = theirs.Read(buf)
			failed(err)
		}},
	} {
		compareAllocs(t, r.name, r.most, r.ours, r.theirs)
	}
}

// compareAllocs fails if ours allocates more often than net's function, or
// than most.
func compareAllocs(t *testing.T, name string, most float64, ours, theirs func()) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	got, want := testenv.Allocs(50, ours), testing.AllocsPerRun(50, theirs)
	if got > most || got > want {
		t.Errorf("%s: %v allocations, at most %v, net's %v", name, got, most, want)
	}
}
