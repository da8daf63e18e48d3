package socket_test

import (
	"context"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// traced is what httptrace's hooks were called with.
type traced struct {
	mu     sync.Mutex
	events []string
	open   int // starts without their end
}

func (r *traced) add(open int, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open += open
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

// context returns a context with hooks.
func (r *traced) context(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(i httptrace.DNSStartInfo) { r.add(1, "DNSStart %s", i.Host) },
		DNSDone: func(i httptrace.DNSDoneInfo) {
			r.add(-1, "DNSDone %#v %v %s", i.Addrs, i.Coalesced, describeError(i.Err))
		},
		ConnectStart: func(network, addr string) { r.add(1, "ConnectStart %s %s", network, addr) },
		ConnectDone: func(network, addr string, err error) {
			r.add(-1, "ConnectDone %s %s %s", network, addr, describeError(err))
		},
	})
}

// text waits until all that began has ended: attempts that lost a race end
// late.
func (r *traced) text(t *testing.T) string {
	t.Helper()
	testenv.Until(t, "the hooks to be called", func() bool {
		yield()
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.open == 0
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.events, "\n")
}

// tracedDial is a case of TestTraceDial.
type tracedDial struct {
	name             string
	network, address string
	d                socket.Dialer
	ctx              context.Context
}

func tracedDials(t *testing.T) []tracedDial {
	const never = time.Hour
	l := listen(t)
	_, open, _ := net.SplitHostPort(l.Addr().String())
	_, closed, _ := net.SplitHostPort(testenv.ClosedPort(t))
	dir := t.TempDir()
	ul := testenv.Closing(t, testenv.Must(net.Listen("unix", filepath.Join(dir, "l"))))
	unix4 := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	dials := []tracedDial{
		{"address", "tcp", "127.0.0.1:" + open, socket.Dialer{}, nil},
		{"address refuses", "tcp", "127.0.0.1:" + closed, socket.Dialer{}, nil},
		{"no host", "tcp", ":" + open, socket.Dialer{}, nil},
		{"name", "tcp", "four.test.:" + open, socket.Dialer{}, nil},
		{"name of tcp4", "tcp4", "both.test.:" + open, socket.Dialer{}, nil},
		{"name of another family", "tcp4", "six.test.:" + open, socket.Dialer{}, nil},
		{"one after the other", "tcp", "two.test.:" + closed, socket.Dialer{}, nil},
		{"from", "tcp", "127.0.0.1:" + open, socket.Dialer{LocalAddr: unix4}, nil},
		{"unknown name", "tcp", "none.test.:" + open, socket.Dialer{}, nil},
		{"unknown service", "tcp", "four.test.:nosuchservice", socket.Dialer{}, nil},
		{"unknown network", "bogus", "four.test.:1", socket.Dialer{}, nil},
		{"no address", "tcp", "", socket.Dialer{}, nil},
		{"udp", "udp", "four.test.:9", socket.Dialer{}, nil},
		{"unix", "unix", ul.Addr().String(), socket.Dialer{}, nil},
		{"no unix", "unix", filepath.Join(dir, "none"), socket.Dialer{}, nil},
		{"cancelled", "tcp", "127.0.0.1:" + open, socket.Dialer{}, cancelled},
		{"cancelled name", "tcp", "late.test.:" + open, socket.Dialer{}, cancelled},
		{"timeout", "tcp", "late.test.:" + open, socket.Dialer{Timeout: 10 * time.Millisecond},
			nil},
	}
	if haveIPv6() {
		dials = append(dials,
			tracedDial{"race, first accepts", "tcp", "both.test.:" + twoFaced(t, accepts, accepts),
				socket.Dialer{FallbackDelay: never}, nil},
			tracedDial{"race, first refuses", "tcp", "both.test.:" + twoFaced(t, refuses, accepts),
				socket.Dialer{FallbackDelay: never}, nil},
			tracedDial{"race, both refuse", "tcp", "both.test.:" + twoFaced(t, refuses, refuses),
				socket.Dialer{FallbackDelay: never}, nil},
			tracedDial{"race, first ignores", "tcp", "both.test.:" + twoFaced(t, ignores, accepts),
				socket.Dialer{FallbackDelay: 200 * time.Millisecond}, nil},
			tracedDial{"no race", "tcp", "both.test.:" + twoFaced(t, refuses, accepts),
				socket.Dialer{FallbackDelay: -1}, nil},
		)
	}
	return dials
}

// TestTraceDial: a Dialer calls the hooks of httptrace that net's calls, in the
// same order and with the same arguments. It called none.
func TestTraceDial(t *testing.T) {
	start(t, 2)
	s := serveNames(t, map[string][]record{
		"both.test.": addresses("::1", "127.0.0.1"), "four.test.": addresses("127.0.0.1"),
		"six.test.": addresses("::1"),
		"two.test.": addresses("127.0.0.1", "127.0.0.2"), "late.test.": addresses("127.0.0.1"),
	})
	release := s.hold("late.test.")
	defer release()
	dials := tracedDials(t)
	everywhere(t, func(p testrun.Place) {
		for i := range dials {
			c := &dials[i]
			c.d.Resolver = s.resolver()
			if c.ctx == nil {
				c.ctx = context.Background()
			}
			var ours, nets traced
			if conn, err := c.d.DialContext(ours.context(c.ctx), c.network, c.address); err == nil {
				conn.Close()
			}
			if conn, err := theirs(&c.d).DialContext(nets.context(c.ctx), c.network,
				c.address); err == nil {
				conn.Close()
			}
			if got, want := ours.text(t), nets.text(t); got != want {
				t.Errorf("%s, %s:\ngot\n%s\nwant\n%s", p.Name, c.name, got, want)
			}
		}
	})
}

// TestTraceLookup: a Resolver calls the hooks that net's calls: the DNS hooks
// in order, those of the connections to name servers as often.
func TestTraceLookup(t *testing.T) {
	start(t, 2)
	s := serveNames(t, zone)
	ours, nets := s.resolver(), s.net()
	type resolver interface {
		LookupHost(context.Context, string) ([]string, error)
		LookupIP(context.Context, string, string) ([]net.IP, error)
		LookupIPAddr(context.Context, string) ([]net.IPAddr, error)
		LookupNetIP(context.Context, string, string) ([]netip.Addr, error)
		LookupTXT(context.Context, string) ([]string, error)
	}
	lookups := map[string]func(context.Context, resolver){}
	for _, name := range []string{"one.test.", "both.test.", "none.test.", "empty.test.",
		"192.0.2.1", "::1", "localhost", ""} {
		lookups["host "+name] = func(ctx context.Context, r resolver) { r.LookupHost(ctx, name) }
		lookups["ipaddr "+name] = func(ctx context.Context, r resolver) {
			r.LookupIPAddr(ctx, name)
		}
		lookups["txt "+name] = func(ctx context.Context, r resolver) { r.LookupTXT(ctx, name) }
		for _, network := range []string{"ip", "ip4", "ip6", "ip:icmp", "tcp", "ip:nosuch"} {
			lookups[network+" "+name] = func(ctx context.Context, r resolver) {
				r.LookupIP(ctx, network, name)
			}
			lookups["netip "+network+" "+name] = func(ctx context.Context, r resolver) {
				r.LookupNetIP(ctx, network, name)
			}
		}
	}
	everywhere(t, func(p testrun.Place) {
		for name, lookup := range lookups {
			var a, b traced
			lookup(a.context(context.Background()), ours)
			lookup(b.context(context.Background()), nets)
			if got, want := connectsLast(a.text(t)), connectsLast(b.text(t)); got != want {
				t.Errorf("%s, %s:\ngot\n%s\nwant\n%s", p.Name, name, got, want)
			}
		}
	})
	idle(t)
}

// connectsLast sorts connections, which are made at the same time, behind the
// rest.
func connectsLast(text string) string {
	var dns, connects []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "Connect") {
			connects = append(connects, line)
		} else {
			dns = append(dns, line)
		}
	}
	slices.Sort(connects)
	return strings.Join(append(dns, connects...), "\n")
}

// TestTraceShared: each of several who share a look-up has its own hooks
// called. Only the first one's were.
func TestTraceShared(t *testing.T) {
	start(t, 2)
	s := serveNames(t, zone)
	release := s.hold("four.test.")
	r := s.resolver()
	all := make([]traced, len(testrun.Places))
	var tasks []*testrun.Task
	for i, p := range testrun.Places {
		tasks = append(tasks, p.Go(func() {
			r.LookupIP(all[i].context(context.Background()), "ip4", "four.test.")
		}))
	}
	testenv.Until(t, "the question", func() bool { return s.questions("four.test.") > 0 })
	release()
	for i, k := range tasks {
		k.Wait(t)
		lines := strings.Split(connectsLast(all[i].text(t)), "\n")
		testenv.True(t, len(lines) >= 2 && lines[0] == "DNSStart four.test." &&
			strings.HasPrefix(lines[1], "DNSDone []net.IPAddr{net.IPAddr{") &&
			strings.HasSuffix(lines[1], " no error"), "%s: %q", testrun.Places[i].Name, lines)
	}
}

// TestTraceValues: the context's values reach a Resolver's Dial, from a look-up
// of a Dialer too, but not the hooks for what is dialled.
func TestTraceValues(t *testing.T) {
	start(t, 2)
	s := serveNames(t, zone)
	type key struct{}
	var mu sync.Mutex
	var values []any
	dial := s.net().Dial
	r := &socket.Resolver{PreferGo: true, Dial: func(ctx context.Context, network,
		address string) (net.Conn, error) {
		mu.Lock()
		values = append(values, ctx.Value(key{}))
		mu.Unlock()
		return dial(ctx, network, address)
	}}
	d := socket.Dialer{Resolver: r}
	var hooks traced
	ctx := hooks.context(context.WithValue(context.Background(), key{}, "value"))
	testrun.Goroutine.Do(t, func() {
		if c, err := d.DialContext(ctx, "udp4", "one.test.:9"); err == nil {
			c.Close()
		}
	})
	testenv.True(t, len(values) != 0 && values[0] == "value", "Dial saw %v", values)
	if got, want := hooks.text(t), "ConnectStart udp4 192.0.2.1:9"; strings.Count(got,
		"ConnectStart") != 1 || !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant one %s", got, want)
	}
	idle(t)
}
