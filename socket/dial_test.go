package socket_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

// same compares an error with the error of package net.
func same(t *testing.T, what string, got, want error) {
	t.Helper()
	testenv.Equal(t, describeError(got), describeError(want), "\ngot  \nwant", what)
}

// describeError describes an error in full: its text, what each error in its
// chain holds, and what callers ask of it. A deadline that has passed is no
// os.ErrDeadlineExceeded for all of net's dials: errorText has that.
func describeError(err error) string {
	if err == nil {
		return "no error"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v;", err)
	for x := err; x != nil; x = errors.Unwrap(x) {
		switch x := x.(type) {
		case *net.OpError:
			fmt.Fprintf(&b, " OpError(%s %s %T %v %T %v)", x.Op, x.Net, x.Source, x.Source, x.Addr,
				x.Addr)
		case *os.SyscallError:
			fmt.Fprintf(&b, " SyscallError(%s)", x.Syscall)
		case *net.DNSError:
			fmt.Fprintf(&b, " DNSError(%s %v)", x.Name, x.IsNotFound)
		case *net.AddrError:
			fmt.Fprintf(&b, " AddrError(%s, %s)", x.Err, x.Addr)
		case syscall.Errno:
			fmt.Fprintf(&b, " Errno(%d)", int(x))
		default: // a type of the package's own
			fmt.Fprint(&b, " error")
		}
	}
	var ne net.Error
	if errors.As(err, &ne) {
		//lint:ignore SA1019 it is to say what net's says
		fmt.Fprintf(&b, " timeout=%v temporary=%v", ne.Timeout(), ne.Temporary())
	}
	for _, is := range []error{net.ErrClosed, net.ErrWriteToConnected, context.Canceled} {
		fmt.Fprint(&b, " ", errors.Is(err, is))
	}
	return strings.ReplaceAll(b.String(), "socket.", "net.") // types of the packages' own
}

// made closes the result of a call and describes it, without the port that the
// kernel chose; or it describes the call's error.
func made[T closer](c T, err error) string {
	if err = shut(c, err); err != nil {
		return describeError(err)
	}
	var addrs []net.Addr
	switch c := any(c).(type) {
	case net.Listener:
		addrs = []net.Addr{c.Addr()}
	case net.Conn:
		addrs = []net.Addr{c.LocalAddr()}
		if a := c.RemoteAddr(); a != nil && !strings.HasSuffix(a.String(), ":0") {
			addrs = append(addrs, a)
		}
	}
	s := strings.ReplaceAll(fmt.Sprintf("%T", c), "socket.", "net.")
	for _, a := range addrs {
		s += fmt.Sprintf(" %T %s", a, a.Network())
		if host, _, err := net.SplitHostPort(a.String()); err == nil {
			s += " " + host
		}
	}
	return s
}

// TestDialByName: names, empty hosts and both families reach a listener under
// the address that net gives it, and the ends agree; or they fail as net's do.
func TestDialByName(t *testing.T) {
	start(t, 2)
	l := testenv.Closing(t, testenv.Must(listenTCP("tcp", ":0")))
	_, port, _ := net.SplitHostPort(l.Addr().String())
	everywhere(t, func(p testrun.Place) {
		for _, network := range []string{"tcp", "tcp4", "tcp6"} {
			for _, host := range []string{"127.0.0.1", "localhost", "", "0.0.0.0", "[::1]", "[::]",
				"[::ffff:127.0.0.1]"} {
				what := fmt.Sprintf("%s: Dial(%q, %q)", p.Name, network, host)
				a, err := dialTCP(network, host+":"+port)
				var b *socket.TCPConn
				if err == nil {
					b = testenv.Must(l.AcceptTCP()) // before the next one can be queued
				}
				theirs, want := net.Dial(network, host+":"+port)
				same(t, what, err, want)
				if err != nil || want != nil {
					continue
				}
				testenv.Equal(t, a.LocalAddr().String(), b.RemoteAddr().String(), what)
				testenv.Equal(t, a.RemoteAddr().String(), b.LocalAddr().String(), what)
				testenv.Equal(t, a.RemoteAddr().String(), theirs.RemoteAddr().String(), what)
				for _, c := range []net.Conn{a, b, theirs, testenv.Must(l.AcceptTCP())} {
					c.Close()
				}
			}
		}
	})
}

// TestDialTimeout: like net's, for a peer that does not answer and for a time
// that has passed.
func TestDialTimeout(t *testing.T) {
	start(t, 2)
	address, _ := testenv.Deaf(t)
	for _, d := range []time.Duration{20 * time.Millisecond, time.Nanosecond, -time.Second} {
		_, want := net.DialTimeout("tcp", address, d)
		everywhere(t, func(p testrun.Place) {
			began := time.Now()
			_, err := conet.DialTimeout("tcp", address, d)
			if took := time.Since(began); took < d || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s, %v: gave up after %v, %v", p.Name, d, took, err)
			}
			same(t, fmt.Sprintf("%s, %v", p.Name, d), err, want)
		})
	}
}

// theirs is a net.Dialer with the settings of ours.
func theirs(d *socket.Dialer) *net.Dialer {
	n := &net.Dialer{
		Timeout: d.Timeout, Deadline: d.Deadline, LocalAddr: d.LocalAddr,
		FallbackDelay: d.FallbackDelay,
		KeepAlive:     d.KeepAlive, KeepAliveConfig: d.KeepAliveConfig, Control: d.Control,
		ControlContext: d.ControlContext, Cancel: d.Cancel,
	}
	if d.Resolver != nil {
		n.Resolver = d.Resolver.Net
	}
	return n
}

// everywhere runs f in all places, one after the other.
func everywhere(t *testing.T, f func(p testrun.Place)) {
	t.Helper()
	for _, p := range testrun.Places {
		p.Go(func() { f(p) }).Wait(t)
	}
}

// shut closes the result of a call and returns the call's error. Beside an
// error the result must be nil, and no nil pointer in an interface either.
func shut[T closer](c T, err error) error {
	var none T
	if err == nil {
		c.Close()
	} else if any(c) != any(none) {
		panic(fmt.Sprintf("%T beside %v", c, err))
	}
	return err
}

// sameDial dials with both packages and compares the errors; a connection is
// closed.
func sameDial(t *testing.T, what string, d *socket.Dialer, ctx context.Context, network,
	address string) {
	t.Helper()
	err, want := dialBoth(d, ctx, network, address)
	same(t, fmt.Sprintf("%s: Dial(%q, %q)", what, network, address), err, want)
}

// dialBoth returns the errors of both packages' dials.
func dialBoth(d *socket.Dialer, ctx context.Context, network, address string) (ours, nets error) {
	ours = shut(d.DialContext(ctx, network, address))
	return ours, shut(theirs(d).DialContext(ctx, network, address))
}

// TestDialerErrors holds errors against net's: their text, types, addresses. A
// closed port is among them, which C++ netco's connect never returned from.
func TestDialerErrors(t *testing.T) {
	start(t, 2)
	s := serveNames(t, zone)
	r := s.resolver()
	_, port, _ := net.SplitHostPort(testenv.ClosedPort(t))
	dialers := map[string]*socket.Dialer{
		"zero":               {},
		"timeout":            {Timeout: time.Hour},
		"passed":             {Deadline: time.Unix(1, 0)},
		"no fallback":        {FallbackDelay: -1},
		"from TCP4":          {LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}},
		"from TCP6":          {LocalAddr: &net.TCPAddr{IP: net.IPv6loopback}},
		"from any TCP":       {LocalAddr: &net.TCPAddr{}},
		"from TCP elsewhere": {LocalAddr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 77)}},
		"from UDP":           {LocalAddr: &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}},
		"from Unix":          {LocalAddr: &net.UnixAddr{Name: "@netco-nobody", Net: "unix"}},
		"from IP":            {LocalAddr: &net.IPAddr{IP: net.IPv4(127, 0, 0, 1)}},
		"from nil TCP":       {LocalAddr: (*net.TCPAddr)(nil)},
		"control refuses": {Control: func(string, string, syscall.RawConn) error {
			return errors.New("refused by control")
		}},
	}
	targets := dialTargets(port, testenv.SocketPath(t, "nobody"))
	for at, p := range testrun.Places {
		p.Do(t, func() {
			for name, d := range dialers {
				for i, to := range targets {
					if (i+len(name))%len(testrun.Places) == at || testenv.Full() {
						d := *d
						d.Resolver = r
						dialerErrors(t, p.Name, name, &d, to)
					}
				}
			}
		})
	}
	idle(t)
}

func dialerErrors(t *testing.T, where, name string, d *socket.Dialer, to dialTarget) {
	if name == "from Unix" {
		d.LocalAddr = &net.UnixAddr{Name: fmt.Sprintf("@netco-nobody-%d-%s", os.Getpid(), where),
			Net: "unix"}
	}
	if name == "from nil TCP" && !strings.HasPrefix(to.network, "tcp") {
		return // net panics
	}
	if name == "passed" && !strings.HasPrefix(to.network, "unix") && named(to.address) {
		return // net tosses a coin between the answer and the time
	}
	sameDial(t, where+", "+name, d, context.Background(), to.network, to.address)
}

// dialTarget is an address to dial.
type dialTarget struct{ network, address string }

// dialTargets are addresses of every network without a listener, and bad ones.
func dialTargets(port, path string) (all []dialTarget) {
	for _, network := range []string{"tcp", "tcp4", "tcp6", "udp", "udp4", "udp6", "bogus", ""} {
		for _, host := range []string{"127.0.0.1", "", "0.0.0.0", "[::]", "[::1]",
			"[::ffff:127.0.0.1]", "localhost", "none.test.", "empty.test."} {
			all = append(all, dialTarget{network, host + ":" + port})
		}
		for _, a := range []string{"", "127.0.0.1", ":", "127.0.0.1:nosuchservice",
			"127.0.0.1:65536", "127.0.0.1:0", "127.0.0.1:", "255.255.255.255:80"} {
			all = append(all, dialTarget{network, a})
		}
	}
	for _, network := range []string{"unix", "unixgram", "unixpacket"} {
		for _, a := range []string{"", path, "@netco-nobody-listens", strings.Repeat("x", 200)} {
			all = append(all, dialTarget{network, a})
		}
	}
	return all
}

// named reports whether there is a name to look up in host:port.
func named(address string) bool {
	host, port, _ := net.SplitHostPort(address)
	_, err := netip.ParseAddr(host)
	return err != nil && host != "" || strings.ContainsAny(port, "aeiou")
}

// TestDialPassedDeadline: a deadline that has passed ends the methods that take
// addresses too, also those that need not wait, as it ends net's.
func TestDialPassedDeadline(t *testing.T) {
	start(t, 2)
	ln := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	path := testenv.SocketPath(t, "s")
	testenv.Closing(t, testenv.Must(net.Listen("unix", path)))
	to, toUnix := ln.Addr().(*net.TCPAddr).AddrPort(), &net.UnixAddr{Name: path, Net: "unix"}
	ctx, before := context.Background(), sockinfo.OpenCount()
	d := &socket.Dialer{Deadline: time.Unix(1, 0)}
	everywhere(t, func(p testrun.Place) {
		for what, err := range map[string]error{
			"DialTCP":  shut(d.DialTCP(ctx, "tcp", netip.AddrPort{}, to)),
			"DialUDP":  shut(d.DialUDP(ctx, "udp", netip.AddrPort{}, to)),
			"DialUnix": shut(d.DialUnix(ctx, "unix", nil, toUnix)),
		} {
			testenv.Fails(t, err, os.ErrDeadlineExceeded, p.Name, what)
		}
	})
	testenv.Equal(t, sockinfo.OpenCount(), before)
}

// ended makes contexts that end in each way, at once or while the dial is under
// way.
var ended = map[string]func() (context.Context, context.CancelFunc){
	"cancelled before": func() (context.Context, context.CancelFunc) {
		return testenv.Over(), func() {}
	},
	"too late before": func() (context.Context, context.CancelFunc) {
		return context.WithDeadline(context.Background(), time.Unix(1, 0))
	},
	"cancelled": cancelledSoon,
	"channel":   cancelledSoon,
	"too late": func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.Background(), 10*time.Millisecond)
	},
}

func cancelledSoon() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	return ctx, cancel
}

// TestDialContext: a context ends a look-up and a connect, with net's error; so
// does the Cancel channel.
func TestDialContext(t *testing.T) {
	start(t, 2)
	s := serveNames(t, zone)
	s.hold("one.test.")
	r := s.resolver()
	address, _ := testenv.Deaf(t)
	near := listen(t).Addr().String()
	before := sockinfo.OpenCount()
	everywhere(t, func(p testrun.Place) {
		d := &socket.Dialer{Cancel: testenv.Over().Done()}
		testenv.Fails(t, shut(d.Dial("tcp", near)), context.Canceled, p.Name)
		for how, make := range ended {
			for _, to := range []string{"one.test.:80", address} {
				dial := func(by func(context.Context, *socket.Dialer) error) error {
					d := &socket.Dialer{Resolver: r, LocalAddr: &net.TCPAddr{}}
					ctx, cancel := make()
					defer cancel()
					if how == "channel" {
						d.Cancel, ctx = ctx.Done(), context.Background()
					}
					return by(ctx, d)
				}
				got := dial(func(ctx context.Context, d *socket.Dialer) error {
					return shut(d.DialContext(ctx, "tcp", to))
				})
				want := context.Canceled
				if strings.HasPrefix(how, "too late") {
					want = context.DeadlineExceeded
				}
				testenv.Fails(t, got, want, p.Name, how, to)
				want = dial(func(ctx context.Context, d *socket.Dialer) error {
					return shut(theirs(d).DialContext(ctx, "tcp", to))
				})
				same(t, p.Name+", "+how+", "+to, got, want)
			}
		}
	})
	testenv.Equal(t, sockinfo.OpenCount(), before)
	idle(t)
}

// TestDialEndsAfter: once there is a connection, the context's end, and the
// passing of the time for connecting, do nothing to it.
func TestDialEndsAfter(t *testing.T) {
	start(t, 2)
	l := listen(t)
	everywhere(t, func(p testrun.Place) {
		const timeout = 100 * time.Millisecond
		var a net.Conn
		for a == nil {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			began := time.Now()
			var err error
			a, err = (&socket.Dialer{Timeout: timeout}).DialContext(ctx, "tcp", l.Addr().String())
			cancel()
			if err != nil && time.Since(began) < timeout {
				t.Error(err)
				return
			}
		}
		defer a.Close()
		a.SetReadDeadline(time.Now().Add(timeout)) // nothing comes: it waits
		a.Read(make([]byte, 1))
		testenv.Gives(t, 1, nil, p.Name)(a.Write([]byte("x")))
	})
}

// TestDialCancelledLate: a context that ends at the moment when the connection
// is made either ends the dial or leaves the connection alone.
func TestDialCancelledLate(t *testing.T) {
	start(t, 2)
	l := listen(t)
	const each = 300
	var mu sync.Mutex
	var cancel context.CancelFunc // under mu: of the dial under way
	server := testrun.Goroutine.Go(func() {
		acceptAll(t, l, func(c net.Conn) {
			testenv.Closing(t, c)
			mu.Lock()
			cancel()
			mu.Unlock()
		})
	})
	var made atomic.Int32
	everywhere(t, func(p testrun.Place) {
		for range each {
			mu.Lock()
			var ctx context.Context
			ctx, cancel = context.WithCancel(context.Background())
			mu.Unlock()
			c, err := new(socket.Dialer).DialContext(ctx, "tcp", l.Addr().String())
			if err != nil {
				testenv.Fails(t, err, context.Canceled, p.Name)
				continue
			}
			made.Add(1)
			for range 3 {
				testenv.Gives(t, 1, nil, p.Name)(c.Write([]byte("x")))
				netco.Yield()
			}
			c.Close()
		}
	})
	l.Close()
	server.Wait(t)
	t.Logf("%d of %d connected", made.Load(), each*len(testrun.Places))
}

// TestDialUnwound: a hook of TCP that panics, or ends its goroutine, leaves no
// fd.
func TestDialUnwound(t *testing.T) {
	start(t, 2)
	address := listen(t).Addr().String()
	before, fds := sockinfo.OpenCount(), testenv.Files()
	dial := func(end func()) {
		defer func() { recover() }()
		d := socket.Dialer{Control: func(string, string, syscall.RawConn) error {
			end()
			return nil
		}}
		d.Dial("tcp", address)
		t.Error("Dial returned")
	}
	for _, p := range testrun.Places {
		p.Do(t, func() { dial(func() { panic("by the hook") }) })
		p.Do(t, func() { dial(runtime.Goexit) })
	}
	testenv.Until(t, "the sockets to be closed", func() bool {
		return sockinfo.OpenCount() == before && testenv.Files() <= fds
	})
}

// TestDialFrom: the local address is the one asked for, on every network.
func TestDialFrom(t *testing.T) {
	start(t, 2)
	l := listen(t)
	u := testenv.Closing(t, testenv.Must(net.ListenPacket("udp", "127.0.0.1:0")))
	ul := testenv.Closing(t, testenv.Must(net.Listen("unix", testenv.SocketPath(t, "l"))))
	everywhere(t, func(p testrun.Place) {
		for _, c := range []struct{ from, to net.Addr }{
			{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}, l.Addr()},
			{&net.UDPAddr{IP: net.IPv4(127, 0, 0, 9)}, u.LocalAddr()},
			{&net.UnixAddr{Name: testenv.SocketPath(t, p.Name), Net: "unix"}, ul.Addr()},
		} {
			d := socket.Dialer{LocalAddr: c.from}
			conn := testenv.Must(d.Dial(c.to.Network(), c.to.String()))
			want, _, _ := strings.Cut(c.from.String(), ":0")
			got := conn.LocalAddr().String()
			testenv.True(t, strings.HasPrefix(got, want), "%v: local address %s", c, got)
			testenv.Equal(t, conn.RemoteAddr().String(), c.to.String())
			conn.Close()
		}
		// A local port, which is free again: the peer has closed first.
		from := freePort(t)
		c := testenv.Must(conet.DialTCP("tcp", from, l.Addr().(*net.TCPAddr)))
		testenv.Equal(t, c.LocalAddr().String(), from.String())
		c.SetLinger(0)
		c.Close()
	})
}

// freePort returns an address of this process whose port is free.
func freePort(t *testing.T) *net.TCPAddr {
	t.Helper()
	probe := testenv.Must(net.Listen("tcp", testenv.OwnHost()+":0"))
	defer probe.Close()
	return probe.Addr().(*net.TCPAddr)
}

// haveIPv6 reports whether this host has ::1.
func haveIPv6() bool { return shut(net.Listen("tcp6", "[::1]:0")) == nil }

// needIPv6 skips the test if at is ::1 and this host does not have it.
func needIPv6(t testing.TB, at string) {
	if strings.Contains(at, "::1") && !haveIPv6() {
		t.Skip("no IPv6 here")
	}
}

// dialControlled sets the hooks of d, dials, and returns what the hooks saw:
// the networks and addresses, the socket's type, and, withContext, the context.
// It also returns the last fd that they were given.
func dialControlled(d *socket.Dialer, dial func() (net.Conn, error),
	withContext bool) (seen string, last syscall.RawConn, err error) {
	d.Control = func(network, address string, c syscall.RawConn) error {
		last = c
		seen += network + " " + address
		if err := c.Control(func(fd uintptr) {
			typ, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE)
			seen += fmt.Sprintln(":", typ, err)
		}); err != nil {
			return err
		}
		return c.Write(func(uintptr) bool { return true })
	}
	if withContext {
		hook := d.Control
		d.Control = func(string, string, syscall.RawConn) error {
			return errors.New("not this one")
		}
		d.ControlContext = func(ctx context.Context, n, a string, c syscall.RawConn) error {
			until, ok := ctx.Deadline()
			seen += fmt.Sprint(ctx.Value(dialKey{}), ok && time.Until(until) > 0, " ")
			return hook(n, a, c)
		}
	}
	err = shut(dial())
	return seen, last, err
}

// dialKey is a key of a context's value.
type dialKey struct{}

// TestDialControl: the hooks see what net's see, and can set options; their
// error ends the dial; they cannot keep the fd.
func TestDialControl(t *testing.T) {
	start(t, 2)
	l := testenv.Closing(t, testenv.Must(listenTCP("tcp", ":0")))
	_, port, _ := net.SplitHostPort(l.Addr().String())
	ul := testenv.Closing(t, testenv.Must(net.Listen("unix", testenv.SocketPath(t, "l"))))
	s := serveNames(t, map[string][]record{"here.test.": addresses("127.0.0.1")})
	ctx, cancel := context.WithTimeout(
		context.WithValue(context.Background(), dialKey{}, "value"), time.Hour)
	defer cancel()
	everywhere(t, func(p testrun.Place) {
		for _, c := range [][2]string{
			{"tcp", "127.0.0.1:" + port}, {"tcp", ":" + port}, {"tcp6", "[::1]:" + port},
			{"tcp", "[::1]:" + port}, {"tcp4", "127.0.0.1:" + port}, {"tcp", "here.test.:" + port},
			{"udp", "127.0.0.1:9"}, {"udp", ":9"}, {"udp6", "[::1]:9"}, {"udp", "[::1]:9"},
			{"unix", ul.Addr().String()}, {"tcp", "[::ffff:127.0.0.1]:" + port},
		} {
			if strings.HasPrefix(c[1], "[::1]") && !haveIPv6() {
				continue
			}
			for _, withContext := range []bool{false, true} {
				d := &socket.Dialer{Resolver: s.resolver()}
				got, kept, err := dialControlled(d, func() (net.Conn, error) {
					return d.DialContext(ctx, c[0], c[1])
				}, withContext)
				testenv.Fails(t, err, nil, c)
				testenv.Fails(t, kept.Control(func(uintptr) { t.Error("the fd was kept") }),
					net.ErrClosed, c)
				want, _, err := dialControlled(d, func() (net.Conn, error) {
					return theirs(d).DialContext(ctx, c[0], c[1])
				}, withContext)
				testenv.Fails(t, err, nil, "net", c)
				testenv.Equal(t, got, want, c)
			}
		}
	})
}

// TestDialToItself: where the kernel connects a socket with itself the dial
// tries again, twice. The third such connection is returned.
func TestDialToItself(t *testing.T) {
	start(t, 2)
	everywhere(t, func(p testrun.Place) {
		for times := 1; times <= 3; times++ {
			address := freePort(t).String()
			to := netip.MustParseAddrPort(address)
			tries := 0
			d := socket.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
				// The kernel does this by chance now and then.
				if tries++; tries <= times {
					c.Control(func(fd uintptr) {
						unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
						err = unix.Bind(int(fd), &unix.SockaddrInet4{Port: int(to.Port()),
							Addr: to.Addr().As4()})
					})
				}
				return err
			}}
			c, err := d.Dial("tcp", address)
			testenv.True(t, (times >= 3 || c == nil && errors.Is(err, unix.ECONNREFUSED)) &&
				(times != 3 || err == nil), "%s, %d times: %v, %v", p.Name, times, c, err)
			if want := min(times+1, 3); tries != want {
				t.Errorf("%s, %d times: %d tries, want %d", p.Name, times, tries, want)
			}
			if c != nil {
				c.(*socket.TCPConn).SetLinger(0)
				c.Close()
			}
		}
	})
}

// TestDialNotAvailable: a local port that the kernel chose and then refuses is
// chosen again, twice.
func TestDialNotAvailable(t *testing.T) {
	start(t, 2)
	l := listen(t)
	everywhere(t, func(p testrun.Place) {
		for _, c := range []struct {
			times int
			from  net.Addr
			want  error
		}{
			{1, nil, nil}, {2, nil, nil}, {3, nil, unix.EADDRNOTAVAIL},
			{2, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil},
			{1, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, unix.EADDRNOTAVAIL},
		} {
			first := errnos{sysx.Connect: repeat(c.times, unix.EADDRNOTAVAIL)}
			remove := (&script{first: first}).install(t)
			if a, _ := c.from.(*net.TCPAddr); a != nil && a.Port != 0 {
				c.from = freePort(t)
			}
			d := socket.Dialer{LocalAddr: c.from}
			conn, err := d.Dial("tcp", l.Addr().String())
			remove()
			testenv.Fails(t, err, c.want, p.Name, c)
			if conn != nil {
				conn.Close()
			}
		}
	})
}

// TestDialKeepAlive: options are those of net's connections.
func TestDialKeepAlive(t *testing.T) {
	start(t, 2)
	l := listen(t)
	everywhere(t, func(p testrun.Place) {
		for _, d := range []*socket.Dialer{
			{}, {KeepAlive: -1}, {KeepAlive: 7 * time.Second}, {KeepAlive: 1500 * time.Millisecond},
			{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second,
				Interval: 4 * time.Second, Count: 5}},
			{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: -1, Interval: -1, Count: -1}},
			{KeepAlive: -1, KeepAliveConfig: net.KeepAliveConfig{Enable: true}},
			{KeepAliveConfig: net.KeepAliveConfig{Idle: 3 * time.Second}},
		} {
			ours := testenv.Must(d.Dial("tcp", l.Addr().String())).(*socket.TCPConn)
			nets := testenv.Must(theirs(d).Dial("tcp", l.Addr().String())).(*net.TCPConn)
			testenv.Equal(t, optionsOf(ours), optionsOf(nets), d.KeepAlive, d.KeepAliveConfig)
		}
	})
}

// optionsOf closes c and returns the options that it had.
func optionsOf(c net.Conn) (text string) {
	raw := testenv.Must(c.(syscall.Conn).SyscallConn())
	raw.Control(func(fd uintptr) {
		for _, o := range diffOptions {
			v, _ := unix.GetsockoptInt(int(fd), o[0], o[1])
			text += fmt.Sprint(v, " ")
		}
	})
	c.Close()
	return text
}

// TestDialMultipath: a program may ask for Multipath TCP, which is not used.
func TestDialMultipath(t *testing.T) {
	var d socket.Dialer
	var lc socket.ListenConfig
	d.SetMultipathTCP(true)
	lc.SetMultipathTCP(true)
	testenv.True(t, !d.MultipathTCP() && !lc.MultipathTCP(), "Multipath TCP is used")
}

// TestDialNetworks: each network gives its own type, connected to the address.
func TestDialNetworks(t *testing.T) {
	start(t, 2)
	l := listen(t)
	u := testenv.Closing(t, testenv.Must(net.ListenPacket("udp", "127.0.0.1:0"))).LocalAddr()
	ul := testenv.Closing(t, testenv.Must(net.Listen("unix", testenv.SocketPath(t, "l"))))
	everywhere(t, func(p testrun.Place) {
		ctx, d := context.Background(), new(socket.Dialer)
		tcp, udp := netip.MustParseAddrPort(l.Addr().String()), netip.MustParseAddrPort(u.String())
		none := netip.AddrPort{}
		for _, to := range []net.Addr{l.Addr(), u, ul.Addr()} {
			c := testenv.Must(new(socket.Dialer).DialContext(ctx, to.Network(), to.String()))
			testenv.Equal(t, c.RemoteAddr().String(), to.String())
			testenv.Equal(t, made(c, nil), made(net.Dial(to.Network(), to.String())))
		}
		for want, c := range map[string]net.Conn{
			tcp.String(): testenv.Must(d.DialTCP(ctx, "tcp", none, tcp)),
			udp.String(): testenv.Must(d.DialUDP(ctx, "udp", none, udp)),
			ul.Addr().String(): testenv.Must(
				d.DialUnix(ctx, "unix", nil, ul.Addr().(*net.UnixAddr))),
		} {
			testenv.Equal(t, c.RemoteAddr().String(), want)
			c.Close()
		}
	})
}

// manner is how an address of a host behaves.
type manner int

const (
	refuses manner = iota
	accepts
	ignores // a connect neither succeeds nor fails
	serves  // sends one byte on each connection
)

// twoFaced makes a host, both.test., that has an address of either family, and
// returns a port on which they behave so. ::1 comes first: RFC 6724.
func twoFaced(t testing.TB, v6, v4 manner) (port string) {
	t.Helper()
	for range 100 {
		probe, err := net.Listen("tcp6", "[::1]:0")
		if err != nil {
			t.Skip("no IPv6 here: ", err)
		}
		n := probe.Addr().(*net.TCPAddr).Port
		probe.Close()
		if behave(t, unix.AF_INET6, n, v6) && behave(t, unix.AF_INET, n, v4) {
			return strconv.Itoa(n)
		}
	}
	t.Fatal("no port that both families have free")
	return ""
}

// behave sees to it that a port of ::1 or 127.0.0.1 behaves so until the test's
// end, also one that refuses: no other process can have it. It returns false if
// the port is taken.
func behave(t testing.TB, family, port int, m manner) bool {
	t.Helper()
	fd := testenv.Must(unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	t.Cleanup(func() { unix.Close(fd) })
	address := fmt.Sprintf("127.0.0.1:%d", port)
	var sa unix.Sockaddr = &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
	if family == unix.AF_INET6 {
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
		address = fmt.Sprintf("[::1]:%d", port)
		sa = &unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}}
	}
	// Else a port would not do of which a connection has just ended: a run of
	// the tests leaves thousands, for a minute.
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if m == refuses {
		err := unix.Bind(fd, sa)
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 0) // it is not to be shared
		return err == nil
	}
	backlog := 1000
	if m == ignores {
		backlog = 0
	}
	if unix.Bind(fd, sa) != nil || unix.Listen(fd, backlog) != nil {
		return false
	}
	switch m {
	case ignores:
		testenv.FillQueue(t, fd, address)
	case serves:
		serveOne(t, fd)
	}
	return true
}

var both = map[string][]record{"both.test.": addresses("::1", "127.0.0.1"),
	"four.test.": addresses("127.0.0.1"), "six.test.": addresses("::1")}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// TestDialNameEnds: a dial of a name that a context or the scheduler ends
// leaves no socket, also where package net connects to two families by then.
func TestDialNameEnds(t *testing.T) {
	testrun.Each(t, func(t *testing.T, p testrun.Place) {
		start(t, 2)
		for _, forced := range []bool{false, true} {
			if forced && p.Name == testrun.Goroutine.Name {
				return // which a scheduler does not end
			}
			port, s := twoFaced(t, ignores, ignores), serveNames(t, both)
			ctx, cancel := context.WithCancel(context.Background())
			want, before := error(context.Canceled), testenv.Sockets()
			if forced {
				want = coroutine.ErrShutdown
			}
			k := p.Go(func() {
				d := socket.Dialer{Resolver: s.resolver(), FallbackDelay: time.Nanosecond}
				testenv.Fails(t, shut(d.DialContext(ctx, "tcp", "both.test.:"+port)), want)
			})
			testenv.Until(t, "both to connect", func() bool {
				return testenv.Sockets() >= before+2 && s.askers.Load() == 0
			})
			if forced {
				testrun.Force(t)
			} else {
				cancel()
			}
			k.Wait(t)
			cancel()
			testenv.Until(t, "the sockets to be closed", func() bool {
				return testenv.Sockets() <= before
			})
		}
	})
}

// TestRaceHammer: both families accept, at about the same time, and many dials
// are cancelled at random. Each gives one connection that works or an error,
// and nothing is left over.
func TestRaceHammer(t *testing.T) {
	dials := 600
	if goruntime.RaceEnabled {
		dials = 200
	}
	start(t, 2)
	port := twoFaced(t, serves, serves)
	s := serveNames(t, both)
	r := s.resolver()
	seed := testenv.Seed(t)
	before, fds := sockinfo.OpenCount(), testenv.Files()
	var tasks []*testrun.Task
	const each = 10
	for i := range dials / each {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		tasks = append(tasks, place(i).Go(func() {
			for range each {
				dialAtRandom(t, rnd, r, port)
			}
		}))
	}
	testrun.WaitAll(t, tasks...)
	untilOpen(t, before)
	idle(t)
	testenv.Until(t, "no more fds than before", func() bool { return testenv.Files() <= fds })
}

// serveOne sends one byte on each connection to a listening fd.
func serveOne(t testing.TB, fd int) {
	t.Helper()
	f := os.NewFile(uintptr(dupFD(t, fd)), "listener")
	l := testenv.Must(net.FileListener(f))
	f.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		acceptAll(t, l, func(c net.Conn) {
			c.Write([]byte("x"))
			c.Close()
		})
	}()
	t.Cleanup(func() { l.Close(); <-done })
}

// dialAtRandom dials once and looks whether what it got can be used.
func dialAtRandom(t *testing.T, rnd *rand.Rand, r *socket.Resolver, port string) {
	d := socket.Dialer{Resolver: r, FallbackDelay: time.Duration(1 + rnd.IntN(300_000))}
	ctx, cancel := context.WithCancel(context.Background())
	switch rnd.IntN(3) {
	case 0:
		time.AfterFunc(time.Duration(rnd.IntN(2_000_000)), cancel)
	case 1:
		d.Timeout = time.Duration(1 + rnd.IntN(3_000_000))
	}
	if rnd.IntN(4) == 0 {
		d.Control = func(string, string, syscall.RawConn) error { netco.Yield(); return nil }
	}
	defer cancel()
	host := []string{"both.test.", "four.test.", "six.test.", "[::1]", "127.0.0.1"}[rnd.IntN(5)]
	c, err := d.DialContext(ctx, "tcp", host+":"+port)
	if err != nil {
		testenv.True(t, errors.Is(err, context.Canceled) || errors.Is(err,
			context.DeadlineExceeded), "%s: %v", host, err)
		return
	}
	cancel()
	b := make([]byte, 2)
	testenv.Gives(t, 1, nil, host)(c.Read(b))
	if _, err := c.Write(b); err != nil && !errors.Is(err, unix.ECONNRESET) &&
		!errors.Is(err, unix.EPIPE) {
		t.Errorf("%s: Write: %v", host, err)
	}
	testenv.Fails(t, c.Close(), nil, host)
}
