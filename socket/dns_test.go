package socket_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/socket"
)

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
		// Go's resolver goes on with questions whose answers nobody wants any
		// more, and would wait for seconds for one that comes to nobody.
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
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
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
