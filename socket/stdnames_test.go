package socket_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestMultipathTCP: plain connections do not use it; one that was made so and
// has a peer that can is told from it.
func TestMultipathTCP(t *testing.T) {
	start(t, 1)
	c, _ := withPeer(t)
	if used, err := c.MultipathTCP(); used || err != nil {
		t.Errorf("a plain connection: %t, %v", used, err)
	}
	c.Close()
	if _, err := c.MultipathTCP(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed one: %v", err)
	}

	lc := net.ListenConfig{}
	lc.SetMultipathTCP(true)
	ln := testenv.Closing(t, testenv.Must(lc.Listen(context.Background(), "tcp4", "127.0.0.1:0")))
	d := net.Dialer{}
	d.SetMultipathTCP(true)
	theirs := testenv.Closing(t, testenv.Must(d.Dial("tcp4", ln.Addr().String())))
	want := testenv.Must(theirs.(*net.TCPConn).MultipathTCP())
	f := testenv.Closing(t, testenv.Must(theirs.(*net.TCPConn).File()))
	ours := testenv.Closing(t, testenv.Must(socket.FileConn(f)))
	if got, err := ours.(*socket.TCPConn).MultipathTCP(); got != want || err != nil {
		t.Errorf("one made by net for it: %t, %v, want %t", got, err, want)
	}
}

// TestDialerIP: an IPConn of net's, or an error that looks like net's.
func TestDialerIP(t *testing.T) {
	var d socket.Dialer
	home := netip.MustParseAddr("127.0.0.1")
	c, err := d.DialIP(context.Background(), "ip4:icmp", home, home)
	if errors.Is(err, unix.EPERM) {
		t.Log("it takes CAP_NET_RAW")
	} else if err != nil {
		t.Error(err)
	} else {
		if got := c.RemoteAddr().String(); got != "127.0.0.1" {
			t.Errorf("connected to %s", got)
		}
		c.Close()
	}
	for _, x := range []struct {
		network  string
		from, to netip.Addr
	}{
		{"tcp", home, home}, {"ipx", home, home}, {"ip4:icmp", netip.Addr{}, netip.Addr{}}, {"ip4:no such protocol", home, home},
	} {
		var op *net.OpError
		c, err := d.DialIP(context.Background(), x.network, x.from, x.to)
		if !errors.As(err, &op) || op.Op != "dial" || op.Net != x.network || c != nil {
			t.Errorf("%+v: %v, %v", x, c, err)
		}
	}
}

// TestResolverLikeNet: the fields that net.Resolver has are those of the one
// that is asked, and Net goes before them.
func TestResolverLikeNet(t *testing.T) {
	start(t, 1)
	refused := errors.New("this one is not to be asked")
	asked := 0
	dial := func(context.Context, string, string) (net.Conn, error) {
		asked++
		return nil, refused
	}
	for _, p := range []testrun.Place{testrun.First, testrun.Goroutine} {
		p.Do(t, func() {
			asked = 0
			r := &socket.Resolver{PreferGo: true, StrictErrors: true, Dial: dial}
			if _, err := r.LookupTXT(context.Background(), "name.example."); err == nil || asked == 0 {
				t.Errorf("%s: Dial was called %d times: %v", p.Name, asked, err)
			}
			asked = 0
			elsewhere := 0
			r = &socket.Resolver{PreferGo: true, Dial: dial, Net: &net.Resolver{PreferGo: true,
				Dial: func(context.Context, string, string) (net.Conn, error) { elsewhere++; return nil, os.ErrPermission }}}
			if _, err := r.LookupTXT(context.Background(), "name.example."); err == nil || asked != 0 || elsewhere == 0 {
				t.Errorf("%s: with Net, Dial was called %d times, Net's %d times: %v", p.Name, asked, elsewhere, err)
			}
		})
	}
}
