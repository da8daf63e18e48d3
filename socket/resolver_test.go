package socket_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/netip"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

var zone = map[string][]record{
	"one.test.":   addresses("192.0.2.1"),
	"two.test.":   addresses("192.0.2.2"),
	"three.test.": addresses("192.0.2.3"),
	"four.test.":  addresses("192.0.2.4"),
	"both.test.":  addresses("127.0.0.1", "::1"),
	"six.test.":   addresses("2001:db8::6"),
	"empty.test.": {},
	"mail.test.": {
		{typeMX, wireName("second.test.", 0, 20)},
		{typeMX, wireName("first.test.", 0, 10)},
		{typeMX, wireName("not a name.test.", 0, 30)},
	},
	"ns.test.": {{typeNS, wireName("ns1.test.")}},
	"txt.test.": {{typeTXT, []byte("\x05hello\x06 world")},
		{typeTXT, []byte("\x01x")}},
	"_web._tcp.test.": {{typeSRV, wireName("one.test.", 0, 1, 0, 0, 0, 80)},
		{typeSRV, wireName("two.test.", 0, 2, 0, 0, 0, 81)}},
	"1.2.0.192.in-addr.arpa.": {{typePTR, wireName("one.test.")}},
}

// askNames has Go's resolver, which netco's Dial uses too, ask a server of such
// names, and returns the server.
func askNames(t *testing.T, zone map[string][]record) *nameServer {
	t.Helper()
	s, before := serveNames(t, zone), net.DefaultResolver
	net.DefaultResolver = s.net()
	t.Cleanup(func() { net.DefaultResolver = before })
	return s
}

// idle waits until no look-up is under way.
func idle(t testing.TB) {
	t.Helper()
	testenv.Until(t, "the look-ups to end", func() bool { return socket.Lookups() == 0 })
}

// TestResolverSilentNames: names whose server is silent, however many, hold up
// no look-up of another name. From 32 on they held up all.
func TestResolverSilentNames(t *testing.T) {
	start(t, 2)
	const silent = 64 // questions that fit into the name server's receive buffer
	zone := map[string][]record{"one.test.": addresses("192.0.2.1")}
	names := make([]string, silent)
	for i := range names {
		names[i] = fmt.Sprintf("silent%d.test.", i)
		zone[names[i]] = addresses("192.0.2.2")
	}
	s := serveNames(t, zone)
	r := s.resolver()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var tasks []*testrun.Task
	for i, name := range names {
		s.hold(name)
		tasks = append(tasks, place(i).Go(func() {
			if ips, err := r.LookupIP(ctx, "ip4", name); err == nil {
				t.Errorf("%s: %v", name, ips)
			}
		}))
	}
	for _, name := range names {
		testenv.Until(t, "the question", func() bool { return s.questions(name) > 0 })
	}
	everywhere(t, func(p testrun.Place) {
		for _, name := range []string{"one.test.", "localhost"} {
			if ips, err := r.LookupIP(context.Background(), "ip4", name); err != nil ||
				len(ips) != 1 {
				t.Errorf("%s: %s: %v, %v", p.Name, name, ips, err)
			}
		}
	})
	cancel()
	testrun.WaitAll(t, tasks...)
	idle(t)
}

// TestResolverOwnAnswers: package net shares look-ups of addresses; each asker
// gets an answer of its own all the same.
func TestResolverOwnAnswers(t *testing.T) {
	start(t, 2)
	s := serveNames(t, zone)
	release := s.hold("one.test.")
	r := s.resolver()
	const each = 20
	var tasks []*testrun.Task
	for _, p := range testrun.Places {
		for i := range each {
			tasks = append(tasks, p.Go(func() {
				var ip net.IP
				if i%2 == 0 {
					if ips, err := r.LookupIP(context.Background(), "ip", "one.test."); err == nil {
						ip = ips[0]
					}
				} else if addrs, err := r.LookupIPAddr(context.Background(), "one.test."); err ==
					nil {
					ip = addrs[0].IP
				}
				testenv.True(t, ip.Equal(net.IPv4(192, 0, 2, 1)), "%s: %v", p.Name, ip)
				clear(ip) // the race detector, or another asker, would see it
			}))
		}
	}
	testenv.Until(t, "coroutines to ask", func() bool { return socket.Lookups() >= each })
	release()
	testrun.WaitAll(t, tasks...)
	idle(t)
}

// TestResolverOneLeaves: an asker's cancellation or deadline is its own; its
// error is net's. A coroutine leaves at once, also where Go's resolver goes on.
func TestResolverOneLeaves(t *testing.T) {
	for _, timeout := range []bool{false, true} {
		inPlacesOf(t, fmt.Sprintf("timeout=%v", timeout), func(t *testing.T, p testrun.Place) {
			s := serveNames(t, zone)
			release := s.hold("one.test.")
			r := s.resolver()
			stays := testrun.Second.Go(func() {
				if all, err := r.LookupIPAddr(context.Background(), "one.test."); err != nil ||
					len(all) != 1 {
					t.Errorf("the other's look-up: %v, %v", all, err)
				}
			})
			testenv.Until(t, "the question", func() bool { return s.questions("one.test.") > 0 })
			ctx, cancel := context.WithCancel(context.Background())
			if timeout {
				ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
			}
			defer cancel()
			leaves := p.Go(func() {
				_, err := r.LookupIPAddr(ctx, "one.test.")
				testenv.True(t, endedWith(ctx, err), "LookupIPAddr: %v", err)
				_, want := s.net().LookupIPAddr(ctx, "one.test.")
				same(t, "LookupIPAddr", err, want)
			})
			alone := testrun.First.Go(func() {
				if _, err := r.LookupHost(ctx, "one.test."); !endedWith(ctx, err) {
					t.Errorf("LookupHost: %v", err)
				}
			})
			if !timeout {
				alone.UntilParked(t, coroutine.ReasonBlocking)
				cancel()
			}
			leaves.Wait(t)
			alone.Wait(t)
			testenv.True(t, !stays.Over(), "the other's look-up was cancelled too")
			release()
			stays.Wait(t)
			idle(t)
		})
	}
}

// endedWith reports whether err is the error of ctx's end. Go's resolver
// returns an error of its own if a deadline has passed when it is about to
// dial, which may be before the context's timer has fired.
func endedWith(ctx context.Context, err error) bool {
	_, timed := ctx.Deadline()
	var timeout net.Error
	return ctx.Err() != nil && errors.Is(err, ctx.Err()) ||
		timed && errors.As(err, &timeout) && timeout.Timeout()
}

// TestResolverShutdown: a look-up does not hold up the end of the scheduler.
func TestResolverShutdown(t *testing.T) {
	s := serveNames(t, zone)
	release := s.hold("one.test.")
	r := s.resolver()
	start(t, 1)
	k := testrun.First.Park(t, coroutine.ReasonBlocking, func() {
		testenv.Fails(t, testenv.Err(r.LookupHost(context.Background(), "one.test.")),
			coroutine.ErrShutdown, "LookupHost")
	})
	testrun.Force(t)
	k.Wait(t)
	release() // else Go's resolver waits for as long as the host's configuration says
	idle(t)
}

// TestResolverGoexit: a Dial function that ends its goroutine ends the asker,
// as with net.
func TestResolverGoexit(t *testing.T) {
	start(t, 2)
	r := &socket.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn,
		error) {
		runtime.Goexit()
		return nil, nil
	}}
	for _, p := range testrun.Places {
		p.Go(func() {
			r.LookupMX(context.Background(), "mail.test.")
			t.Error("LookupMX returned")
		}).Wait(t)
	}
	idle(t)
}

// lookups are the methods that netco's and net's resolver share.
type lookups interface {
	LookupHost(context.Context, string) ([]string, error)
	LookupIP(context.Context, string, string) ([]net.IP, error)
	LookupIPAddr(context.Context, string) ([]net.IPAddr, error)
	LookupNetIP(context.Context, string, string) ([]netip.Addr, error)
	LookupPort(context.Context, string, string) (int, error)
	LookupAddr(context.Context, string) ([]string, error)
	LookupCNAME(context.Context, string) (string, error)
	LookupMX(context.Context, string) ([]*net.MX, error)
	LookupNS(context.Context, string) ([]*net.NS, error)
	LookupSRV(context.Context, string, string, string) (string, []*net.SRV, error)
	LookupTXT(context.Context, string) ([]string, error)
}

// question asks a resolver something.
type question = func(c context.Context, r lookups) (any, error)

// questions returns questions for every method, about names of all sorts.
func questions() map[string]question {
	type ctx = context.Context
	cases := map[string]question{}
	names := []string{"one.test.", "both.test.", "six.test.", "empty.test.", "none.test.", "",
		"not a name", "192.0.2.9", "fe80::1%lo", "::", "::1", "localhost",
		"mail.test.", "ns.test.", "txt.test.", "test.", "1.2.3"}
	for _, name := range names {
		for what, ask := range map[string]question{
			"Host":  func(c ctx, r lookups) (any, error) { return r.LookupHost(c, name) },
			"CNAME": func(c ctx, r lookups) (any, error) { return r.LookupCNAME(c, name) },
			"MX":    func(c ctx, r lookups) (any, error) { return r.LookupMX(c, name) },
			"NS":    func(c ctx, r lookups) (any, error) { return r.LookupNS(c, name) },
			"TXT":   func(c ctx, r lookups) (any, error) { return r.LookupTXT(c, name) },
			"Addr":  func(c ctx, r lookups) (any, error) { return r.LookupAddr(c, name) },
			"IPAddr": func(c ctx, r lookups) (any, error) {
				return r.LookupIPAddr(c, name)
			},
			"SRV": func(c ctx, r lookups) (any, error) {
				cname, srvs, err := r.LookupSRV(c, "web", "tcp", name)
				return append([]*net.SRV{{Target: cname}}, srvs...), err
			},
		} {
			cases[what+" "+name] = ask
		}
		for _, network := range []string{"ip", "ip4", "ip6", "ip:icmp", "ip4:1", "ip:nosuch", "tcp",
			"", "ip5"} {
			cases["IP "+network+" "+name] = func(c ctx, r lookups) (any, error) {
				return r.LookupIP(c, network, name)
			}
			cases["NetIP "+network+" "+name] = func(c ctx, r lookups) (any, error) {
				return r.LookupNetIP(c, network, name)
			}
		}
	}
	cases["Addr 192.0.2.1"] = func(c ctx, r lookups) (any, error) {
		return r.LookupAddr(c, "192.0.2.1")
	}
	for _, network := range []string{"tcp", "tcp4", "udp6", "ip", "", "unix", "bogus"} {
		for _, service := range []string{"", "0", "80", "+80", "-1", "65536",
			"99999999999999999999", "http", "nosuchservice", "domain", "8o", "+", "1+1"} {
			cases["Port "+network+" "+service] = func(c ctx, r lookups) (any, error) {
				return r.LookupPort(c, network, service)
			}
		}
	}
	return cases
}

// TestResolverIsNets compares every method with net's: answers, errors and the
// hooks of httptrace: the DNS hooks in order, those of the connections to name
// servers as often.
func TestResolverIsNets(t *testing.T) {
	start(t, 2)
	s := serveNames(t, zone)
	ours, theirs := s.resolver(), s.net()
	cases := questions()
	check := func() {
		for what, ask := range cases {
			var a, b traced
			got, err := ask(a.context(context.Background()), ours)
			want, wantErr := ask(b.context(context.Background()), theirs)
			testenv.True(t, reflect.DeepEqual(got, want), "%s: %v, want %v", what, got, want)
			same(t, what, err, wantErr)
			testenv.Equal(t, connectsLast(a.text(t)), connectsLast(b.text(t)), what)
		}
	}
	testrun.First.Go(check).Wait(t)
	testrun.Goroutine.Go(check).Wait(t)
	idle(t)
}

// TestResolverAtOnce: a name that needs no look-up makes none, and does not
// park. A Processor with a thread of its own is not handed on while a file of
// names is read, which would look like a park.
func TestResolverAtOnce(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	startLocked(t, 1)
	dial := func(context.Context, string, string) (net.Conn, error) {
		t.Error("a name server was asked")
		return nil, errors.New("none")
	}
	r := &socket.Resolver{Net: &net.Resolver{PreferGo: true, Dial: dial}}
	other := 0
	testrun.First.Do(t, func() {
		netco.GoWith(netco.Spawn{Local: true, Fn: func() { other++ }})
		ctx := context.Background()
		r.LookupHost(ctx, "192.0.2.1")
		r.LookupIP(ctx, "ip6", "::1")
		r.LookupNetIP(ctx, "ip", "192.0.2.1")
		r.LookupIPAddr(ctx, "fe80::1%1")
		r.LookupPort(ctx, "tcp", "80")
		r.LookupHost(ctx, "")
		var none context.Context
		testenv.Gives(t, "localhost", nil, "of a nil context")(r.LookupCNAME(none, "localhost"))
		conet.ResolveTCPAddr("tcp", "[::1]:80")
		conet.ResolveUDPAddr("udp", ":53")
		conet.ResolveIPAddr("ip", "192.0.2.1")
		testenv.Equal(t, other, 0, "another coroutine ran meanwhile")
	})
}

// TestResolveAddr compares the functions that resolve to one address with
// net's.
func TestResolveAddr(t *testing.T) {
	start(t, 2)
	askNames(t, zone)
	addresses := []string{"", ":80", "192.0.2.1:80", "[::1]:80", "[::]:80", "0.0.0.0:80",
		"[::ffff:192.0.2.1]:80", "both.test.:80", "six.test.:http", "one.test.:80",
		"one.test.", "192.0.2.1", "::1", "both.test.", "six.test.", "none.test.:1",
		"[fe80::1%lo]:80", "fe80::1%lo", "empty.test.", "empty.test.:80",
		"one.test.:nosuchservice", "a:b:c", "[both.test.]:80"}
	check := func() {
		for _, suffix := range []string{"", "4", "6", "5", ":icmp", ":1", "4:nosuch", ":a:b"} {
			for _, a := range addresses {
				got, err := conet.ResolveTCPAddr("tcp"+suffix, a)
				want, wantErr := net.ResolveTCPAddr("tcp"+suffix, a)
				same(t, "tcp"+suffix+" "+a, err, wantErr)
				gotUDP, err := conet.ResolveUDPAddr("udp"+suffix, a)
				wantUDP, wantErr := net.ResolveUDPAddr("udp"+suffix, a)
				same(t, "udp"+suffix+" "+a, err, wantErr)
				gotIP, err := conet.ResolveIPAddr("ip"+suffix, a)
				wantIP, wantErr := net.ResolveIPAddr("ip"+suffix, a)
				same(t, "ip"+suffix+" "+a, err, wantErr)
				testenv.Equal(t, fmt.Sprint(got, gotUDP, gotIP), fmt.Sprint(want, wantUDP, wantIP),
					suffix, a)
			}
		}
		for _, network := range []string{"", "bogus"} {
			_, err := conet.ResolveTCPAddr(network, ":1")
			_, wantErr := net.ResolveTCPAddr(network, ":1")
			same(t, "tcp", err, wantErr)
			_, err = conet.ResolveUDPAddr(network, ":1")
			_, wantErr = net.ResolveUDPAddr(network, ":1")
			same(t, "udp", err, wantErr)
			_, err = conet.ResolveIPAddr(network, "::1")
			_, wantErr = net.ResolveIPAddr(network, "::1")
			same(t, "ip", err, wantErr)
		}
	}
	testrun.Second.Go(check).Wait(t)
	testrun.Goroutine.Go(check).Wait(t)
	idle(t)
}

// TestResolverUnderUse: many look-ups of few names with random ends, from
// everywhere. All return, and nothing is left.
func TestResolverUnderUse(t *testing.T) {
	start(t, 2)
	s := serveNames(t, zone)
	r := s.resolver()
	names := []string{"one.test.", "two.test.", "three.test.", "four.test.", "none.test.",
		"both.test."}
	var tasks []*testrun.Task
	for i := range 60 {
		tasks = append(tasks, place(i).Go(func() {
			for j := range 5 {
				ctx, cancel := context.WithTimeout(context.Background(),
					time.Duration((i*7+j*13)%23)*100*time.Microsecond)
				_, err := r.LookupHost(ctx, names[(i+j)%len(names)])
				var dns *net.DNSError
				testenv.True(t, err == nil || errors.As(err, &dns), "%v", err)
				cancel()
			}
		}))
	}
	testrun.WaitAll(t, tasks...)
	idle(t)
}

// Types of DNS records.
const (
	typeA     = 1
	typeNS    = 2
	typeCNAME = 5
	typePTR   = 12
	typeMX    = 15
	typeTXT   = 16
	typeAAAA  = 28
	typeSRV   = 33
)

// record is an answer of a nameServer.
type record struct {
	kind uint16
	data []byte
}

// nameServer is a DNS server on loopback. It says what its zone says, or that
// there is no such name.
type nameServer struct {
	address string
	zone    map[string][]record // by names that end in a dot; not changed once it serves

	askers atomic.Int32 // sockets of those who ask

	mu    sync.Mutex
	gates map[string]chan struct{} // a name's answers wait until its gate is closed
	asked map[string]int
}

// serveNames starts a server, which ends with the test.
func serveNames(t testing.TB, zone map[string][]record) *nameServer {
	t.Helper()
	c := testenv.Must(net.ListenPacket("udp", "127.0.0.1:0"))
	s := &nameServer{address: c.LocalAddr().String(), zone: zone,
		gates: map[string]chan struct{}{}, asked: map[string]int{}}
	ended := make(chan struct{})
	var answers sync.WaitGroup
	go func() {
		defer close(ended)
		for {
			buf := make([]byte, 1500)
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			answers.Go(func() {
				if a := s.answer(buf[:n]); a != nil {
					c.WriteTo(a, from)
				}
			})
		}
	}()
	t.Cleanup(func() {
		s.mu.Lock()
		for _, g := range s.gates {
			select {
			case <-g:
			default:
				close(g)
			}
		}
		s.mu.Unlock()
		// Go's resolver goes on with questions whose answers are not wanted any
		// more, and would wait for seconds for one that never comes.
		testenv.Until(t, "all answers to be read", func() bool { return s.askers.Load() == 0 })
		c.SetReadDeadline(time.Unix(1, 0))
		<-ended
		answers.Wait()
		c.Close()
	})
	return s
}

// net returns a resolver of package net that asks this server.
func (s *nameServer) net() *net.Resolver {
	// so that it does not look at net.DefaultResolver, which tests replace
	d := net.Dialer{Resolver: new(net.Resolver)}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		c, err := d.DialContext(ctx, "udp", s.address)
		if err != nil {
			return nil, err
		}
		s.askers.Add(1)
		return &asker{UDPConn: c.(*net.UDPConn), of: s}, nil
	}}
}

// asker is a socket of Go's resolver.
type asker struct {
	*net.UDPConn
	of   *nameServer
	once sync.Once
}

func (a *asker) Close() error {
	err := a.UDPConn.Close()
	a.once.Do(func() { a.of.askers.Add(-1) })
	return err
}

// resolver returns one of ours that does.
func (s *nameServer) resolver() *socket.Resolver { return &socket.Resolver{Net: s.net()} }

// hold lets questions for a name wait until the function it returns is called.
func (s *nameServer) hold(name string) (release func()) {
	g := make(chan struct{})
	s.mu.Lock()
	s.gates[name] = g
	s.mu.Unlock()
	return func() { close(g) }
}

// questions returns how often it was asked for a name, whatever the type.
func (s *nameServer) questions(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[name]
}

func (s *nameServer) answer(q []byte) []byte {
	if len(q) < 12 {
		return nil
	}
	var labels []string
	end := 12
	for end < len(q) && q[end] != 0 {
		labels = append(labels, string(q[end+1:end+1+int(q[end])]))
		end += int(q[end]) + 1
	}
	name, kind := strings.Join(labels, ".")+".", binary.BigEndian.Uint16(q[end+1:])
	s.mu.Lock()
	s.asked[name]++
	gate := s.gates[name]
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	records, known := s.zone[name]
	a := append([]byte{}, q[:end+5]...)
	a[2], a[3] = 0x81, 0x80
	if !known {
		a[3] |= 3 // no such name
	}
	count := 0
	for _, r := range records {
		if r.kind == kind || r.kind == typeCNAME {
			count++
			a = append(a, 0xc0, 12) // the name in the question
			a = binary.BigEndian.AppendUint16(a, r.kind)
			a = append(a, 0, 1, 0, 0, 0, 60)
			a = binary.BigEndian.AppendUint16(a, uint16(len(r.data)))
			a = append(a, r.data...)
		}
	}
	binary.BigEndian.PutUint16(a[6:], uint16(count))
	clear(a[8:12]) // no other records, which are cut off
	return a
}

// addresses are records for addresses.
func addresses(all ...string) (records []record) {
	for _, s := range all {
		a := netip.MustParseAddr(s)
		kind := uint16(typeA)
		if a.Is6() {
			kind = typeAAAA
		}
		records = append(records, record{kind, a.AsSlice()})
	}
	return records
}

// wireName is a name as DNS writes it, after some other data.
func wireName(name string, before ...byte) []byte {
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		before = append(before, byte(len(label)))
		before = append(before, label...)
	}
	return append(before, 0)
}

// TestMultipathTCP: plain connections do not use Multipath TCP; MultipathTCP
// reports it for a connection that asked for it and has a peer that speaks it.
func TestMultipathTCP(t *testing.T) {
	start(t, 1)
	c, _ := withPeer(t)
	if used, err := c.MultipathTCP(); used || err != nil {
		t.Errorf("a plain connection: %t, %v", used, err)
	}
	c.Close()
	testenv.Fails(t, testenv.Err(c.MultipathTCP()), net.ErrClosed, "a closed one")

	lc := net.ListenConfig{}
	lc.SetMultipathTCP(true)
	ln := testenv.Closing(t, testenv.Must(lc.Listen(context.Background(), "tcp4", "127.0.0.1:0")))
	d := net.Dialer{}
	d.SetMultipathTCP(true)
	theirs := testenv.Closing(t, testenv.Must(d.Dial("tcp4", ln.Addr().String())))
	want := testenv.Must(theirs.(*net.TCPConn).MultipathTCP())
	f := testenv.Closing(t, testenv.Must(theirs.(*net.TCPConn).File()))
	ours := testenv.Closing(t, testenv.Must(conet.FileConn(f)))
	testenv.Gives(t, want, nil, "one made by net for it")(ours.(*socket.TCPConn).MultipathTCP())
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
		testenv.Equal(t, c.RemoteAddr().String(), "127.0.0.1", "connected to")
		c.Close()
	}
	for _, x := range []struct {
		network  string
		from, to netip.Addr
	}{
		{"tcp", home, home}, {"ipx", home, home}, {"ip4:icmp", netip.Addr{}, netip.Addr{}},
		{"ip4:no such protocol", home, home},
	} {
		var op *net.OpError
		c, err := d.DialIP(context.Background(), x.network, x.from, x.to)
		testenv.True(t, errors.As(err, &op) && op.Op == "dial" && op.Net == x.network && c == nil,
			"%+v: %v, %v", x, c, err)
	}
}

// TestResolverLikeNet: a Resolver with net.Resolver's fields asks such a
// resolver, and Net goes before these fields.
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
			_, err := r.LookupTXT(context.Background(), "name.example.")
			testenv.True(t, err != nil && asked > 0, "%s: Dial was called %d times", p.Name, asked)
			asked = 0
			elsewhere := 0
			r = &socket.Resolver{PreferGo: true, Dial: dial, Net: &net.Resolver{PreferGo: true,
				Dial: func(context.Context, string, string) (net.Conn, error) {
					elsewhere++
					return nil, os.ErrPermission
				}}}
			_, err = r.LookupTXT(context.Background(), "name.example.")
			testenv.True(t, err != nil && asked == 0 && elsewhere > 0,
				"%s: with Net, Dial was called %d times, Net's %d times", p.Name, asked, elsewhere)
		})
	}
}

// traced has the calls of httptrace's hooks, with their arguments.
type traced struct {
	mu     sync.Mutex
	events []string
	open   int // starts without their end
}

func (tr *traced) add(open int, format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.open += open
	tr.events = append(tr.events, fmt.Sprintf(format, args...))
}

// context returns a context with hooks.
func (tr *traced) context(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(i httptrace.DNSStartInfo) { tr.add(1, "DNSStart %s", i.Host) },
		DNSDone: func(i httptrace.DNSDoneInfo) {
			tr.add(-1, "DNSDone %#v %v %s", i.Addrs, i.Coalesced, describeError(i.Err))
		},
		ConnectStart: func(network, addr string) { tr.add(1, "ConnectStart %s %s", network, addr) },
		ConnectDone: func(network, addr string, err error) {
			tr.add(-1, "ConnectDone %s %s %s", network, addr, describeError(err))
		},
	})
}

// text waits until all that began has ended: attempts that lost a race end
// late.
func (tr *traced) text(t *testing.T) string {
	t.Helper()
	testenv.Until(t, "the hooks to be called", func() bool {
		netco.Yield()
		tr.mu.Lock()
		defer tr.mu.Unlock()
		return tr.open == 0
	})
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return strings.Join(tr.events, "\n")
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
	ul := testenv.Closing(t, testenv.Must(net.Listen("unix", testenv.SocketPath(t, "l"))))
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
		{"no unix", "unix", testenv.SocketPath(t, "none"), socket.Dialer{}, nil},
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

// TestTraceShared: of calls that share a look-up each has its own hooks called.
// Only the first one's were.
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
// of a Dialer too; the hooks for the connection that is dialled do not.
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
