package socket_test

import (
	"errors"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestUDPMulticast: two sockets join a group on one port; both get what is sent
// to it.
func TestUDPMulticast(t *testing.T) {
	for _, group := range []net.IP{net.IPv4(224, 0, 0, 254), net.ParseIP("ff02::114")} {
		for _, p := range testrun.Places {
			t.Run(group.String()+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				ifi := multicastInterface(t)
				a, err := socket.ListenMulticastUDP("udp", ifi, &net.UDPAddr{IP: group})
				if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EADDRNOTAVAIL) {
					t.Skipf("%s has no multicast for %v: %v", ifi.Name, group, err)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer a.Close()
				to := &net.UDPAddr{IP: group, Port: udpAddr(a).Port}
				b := testenv.Closing(t, testenv.Must(socket.ListenMulticastUDP("udp", ifi, to)))
				sender := multicastSender(t, ifi, group)
				var readers []*testrun.Task
				for _, c := range []*socket.UDPConn{a, b} {
					readers = append(readers, p.Go(func() {
						buf := make([]byte, 10)
						n, from, err := c.ReadFromUDPAddrPort(buf)
						if string(buf[:n]) != "to all" || err != nil || from.Port() != portOf(sender).Port() {
							t.Errorf("%q from %v, %v", buf[:n], from, err)
						}
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
		err = unix.SetsockoptIPMreqn(c.FD(), unix.IPPROTO_IP, unix.IP_MULTICAST_IF, &unix.IPMreqn{Ifindex: int32(ifi.Index)})
	} else {
		err = unix.SetsockoptInt(c.FD(), unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, ifi.Index)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}
