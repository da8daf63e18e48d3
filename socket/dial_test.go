package socket_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestDialClosedPort: the connect returns, with ECONNREFUSED. C++ netco's never
// returned.
func TestDialClosedPort(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		address := testenv.ClosedPort(t)
		p.Do(t, func() {
			for range 10 {
				c, err := dialTCP("tcp", address)
				var op *net.OpError
				if c != nil || !errors.Is(err, unix.ECONNREFUSED) || !errors.As(err, &op) || op.Op != "dial" || op.Timeout() {
					t.Errorf("Dial: %v, %v", c, err)
				}
			}
		})
	})
}

// noSuchHost makes Go's resolver, which netco's Dial uses too, ask a server on
// loopback that knows no name.
func noSuchHost(t *testing.T) {
	server := testenv.Must(net.ListenPacket("udp", "127.0.0.1:0"))
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			if n >= 12 {
				buf[2], buf[3] = 0x81, 0x83 // an answer: no such name
				buf[10], buf[11] = 0, 0     // without additional records, which are cut off
				end := 12
				for end < n && buf[end] != 0 {
					end += int(buf[end]) + 1
				}
				server.WriteTo(buf[:min(n, end+5)], from)
			}
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		server.Close()
	})
}

// same compares an error with net's: its text, and what errors.Is, errors.As
// and Timeout tell of it.
func same(t *testing.T, what string, got, want error) {
	t.Helper()
	if g, w := describeError(got), describeError(want); g != w {
		t.Errorf("%s:\ngot  %s\nwant %s", what, g, w)
	}
}

// describeError tells what same compares.
func describeError(err error) string {
	if err == nil {
		return "no error"
	}
	var (
		b   strings.Builder
		op  *net.OpError
		sys *os.SyscallError
		dns *net.DNSError
		adr *net.AddrError
		no  syscall.Errno
		ne  net.Error
	)
	fmt.Fprintf(&b, "%v", err)
	if errors.As(err, &op) {
		fmt.Fprintf(&b, " OpError(%s %s %T %T %v)", op.Op, op.Net, op.Source, op.Addr, op.Addr)
	}
	if errors.As(err, &sys) {
		fmt.Fprintf(&b, " SyscallError(%s)", sys.Syscall)
	}
	if errors.As(err, &dns) {
		fmt.Fprintf(&b, " DNSError(%s %v)", dns.Name, dns.IsNotFound)
	}
	if errors.As(err, &adr) {
		fmt.Fprintf(&b, " AddrError(%s, %s)", adr.Err, adr.Addr)
	}
	if errors.As(err, &no) {
		fmt.Fprintf(&b, " Errno(%d)", no)
	}
	if errors.As(err, &ne) {
		fmt.Fprintf(&b, " timeout=%v", ne.Timeout())
	}
	return b.String()
}

// badAddresses are what neither Dial nor Listen can use.
var badAddresses = []struct{ network, address string }{
	{"", "127.0.0.1:80"},
	{"bogus", "127.0.0.1:80"},
	{"tcp5", "127.0.0.1:80"},
	{"TCP", "127.0.0.1:80"},
	{"tcp", "127.0.0.1"},
	{"tcp", "::1"},
	{"tcp", "::1:80:"},
	{"tcp", "[::1"},
	{"tcp", "[::1]"},
	{"tcp", "[::1]80"},
	{"tcp", "127.0.0.1:99999"},
	{"tcp", "127.0.0.1:65536"},
	{"tcp", "127.0.0.1:-1"},
	{"tcp", "127.0.0.1:nosuchservice"},
	{"tcp", "127.0.0.1:80:80"},
	{"tcp", "127.0.0.1: 80"},
	{"tcp4", "[::1]:80"},
	{"tcp6", "127.0.0.1:80"},
	{"tcp", "no-such-host.invalid:80"},
	{"tcp4", "no-such-host.invalid:80"},
	{"tcp6", "no-such-host.invalid:80"},
	{"tcp", "no such host:80"},
}

// TestDialErrors holds Dial's errors against net's.
func TestDialErrors(t *testing.T) {
	noSuchHost(t)
	start(t, 2)
	closed := testenv.ClosedPort(t)
	_, port, _ := net.SplitHostPort(closed)
	cases := append(badAddresses[:len(badAddresses):len(badAddresses)], []struct{ network, address string }{
		{"tcp", ""},
		{"tcp", closed},
		{"tcp4", closed},
		{"tcp", "localhost:" + port},
		{"tcp4", "localhost:" + port},
		{"tcp", "127.0.0.1:0"},
		{"tcp", "127.0.0.1:"},
		{"tcp", "[::ffff:127.0.0.1]:" + port},
		{"tcp6", "[::ffff:127.0.0.1]:" + port},
		{"tcp", "255.255.255.255:80"},
	}...)
	for _, p := range testrun.Places {
		p.Do(t, func() {
			for _, c := range cases {
				conn, err := dialTCP(c.network, c.address)
				if conn != nil {
					t.Errorf("Dial(%q, %q) succeeded", c.network, c.address)
					conn.Close()
				}
				nc, want := net.Dial(c.network, c.address)
				if nc != nil {
					nc.Close()
				}
				same(t, fmt.Sprintf("%s: Dial(%q, %q)", p.Name, c.network, c.address), err, want)
			}
		})
	}
}

// TestListenErrors holds Listen's errors against net's, address in use among
// them.
func TestListenErrors(t *testing.T) {
	noSuchHost(t)
	start(t, 2)
	taken := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	cases := append(badAddresses[:len(badAddresses):len(badAddresses)], []struct{ network, address string }{
		{"tcp", taken.Addr().String()},
		{"tcp4", taken.Addr().String()},
		{"tcp", "192.0.2.1:0"}, // not an address of this host
		{"tcp", "127.0.0.1:99999"},
	}...)
	for _, p := range testrun.Places {
		p.Do(t, func() {
			for _, c := range cases {
				l, err := listenTCP(c.network, c.address)
				if l != nil {
					t.Errorf("Listen(%q, %q) succeeded", c.network, c.address)
					l.Close()
				}
				nl, want := net.Listen(c.network, c.address)
				if nl != nil {
					nl.Close()
				}
				same(t, fmt.Sprintf("%s: Listen(%q, %q)", p.Name, c.network, c.address), err, want)
			}
			if !errors.Is(listenError(taken.Addr().String()), unix.EADDRINUSE) {
				t.Error("an address in use is not EADDRINUSE")
			}
		})
	}
}

func listenError(address string) error {
	_, err := listenTCP("tcp", address)
	return err
}

// TestDialByName: names, empty hosts and both families reach a listener.
func TestDialByName(t *testing.T) {
	start(t, 2)
	l := testenv.Closing(t, testenv.Must(listenTCP("tcp", ":0")))
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, p := range testrun.Places {
		p.Do(t, func() {
			for _, c := range []struct{ network, host string }{
				{"tcp", "127.0.0.1"}, {"tcp4", "127.0.0.1"}, {"tcp", "localhost"}, {"tcp4", "localhost"}, {"tcp", ""},
				{"tcp", "0.0.0.0"}, {"tcp", "[::1]"}, {"tcp6", "[::1]"}, {"tcp", "[::]"}, {"tcp", "[::ffff:127.0.0.1]"},
			} {
				a, err := dialTCP(c.network, c.host+":"+port)
				if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.ENETUNREACH) {
					continue // no IPv6 here
				}
				if err != nil {
					t.Errorf("Dial(%s, %s): %v", c.network, c.host, err)
					continue
				}
				b, err := l.AcceptTCP()
				if err != nil {
					t.Error(err)
					return
				}
				if a.LocalAddr().String() != b.RemoteAddr().String() || a.RemoteAddr().String() != b.LocalAddr().String() {
					t.Errorf("%s: the ends disagree: %v %v, %v %v", c.host, a.LocalAddr(), a.RemoteAddr(), b.LocalAddr(), b.RemoteAddr())
				}
				a.Close()
				b.Close()
			}
		})
	}
}

// TestDialTimeout: like net's, for a peer that does not answer and for a time
// that has passed.
func TestDialTimeout(t *testing.T) {
	start(t, 2)
	address, _ := testenv.Deaf(t)
	for _, d := range []time.Duration{20 * time.Millisecond, time.Nanosecond, -time.Second} {
		_, want := net.DialTimeout("tcp", address, d)
		for _, p := range testrun.Places {
			p.Do(t, func() {
				began := time.Now()
				c, err := socket.DialTimeout("tcp", address, d)
				if c != nil || !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%s, %v: %v, %v", p.Name, d, c, err)
				}
				if took := time.Since(began); took < d {
					t.Errorf("%s, %v: gave up after %v", p.Name, d, took)
				}
				same(t, fmt.Sprintf("%s, %v", p.Name, d), err, want)
			})
		}
	}
}

// TestDialTimeoutEnds: the time is for connecting, not for what comes after.
func TestDialTimeoutEnds(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		l := listen(t)
		p.Do(t, func() {
			a, err := socket.DialTimeout("tcp", l.Addr().String(), time.Hour)
			if err != nil {
				t.Error(err)
				return
			}
			defer a.Close()
			b, err := l.AcceptTCP()
			if err != nil {
				t.Error(err)
				return
			}
			defer b.Close()
			if _, err := a.Write([]byte("x")); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestDialParks: while one coroutine connects to a peer that does not answer,
// others of its Processor run.
func TestDialParks(t *testing.T) {
	start(t, 1)
	address, _ := testenv.Deaf(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dial := testrun.First.Go(func() {
		if _, err := socket.DialContext(ctx, "tcp", address); err == nil {
			t.Error("connected")
		}
	})
	dial.UntilParked(t, coroutine.ReasonConnect)
	testrun.First.Go(func() {}).Wait(t)
	if dial.Over() {
		t.Error("the connect was over before the other coroutine ran")
	}
	cancel()
	dial.Wait(t)
}
