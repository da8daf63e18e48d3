package outbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/outbox"
)

// gated is a connection whose writes wait until the test lets one go on.
type gated struct {
	net.Conn
	network string
	gate    chan error // nil: it succeeds

	mu     sync.Mutex
	writes [][]byte // under mu
	closed chan struct{}
	once   sync.Once
}

func newGated(network string) *gated {
	return &gated{network: network, gate: make(chan error), closed: make(chan struct{})}
}

func (g *gated) LocalAddr() net.Addr { return addr(g.network) }

func (g *gated) Write(p []byte) (int, error) {
	p = bytes.Clone(p)
	select {
	case err := <-g.gate:
		if err != nil {
			return 0, err
		}
	case <-g.closed:
		return 0, net.ErrClosed
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writes = append(g.writes, p)
	return len(p), nil
}

func (g *gated) Close() error {
	err := net.ErrClosed
	g.once.Do(func() { close(g.closed); err = nil })
	return err
}

func (g *gated) written() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return string(bytes.Join(g.writes, []byte("|")))
}

type addr string

func (a addr) Network() string { return string(a) }
func (a addr) String() string  { return string(a) }

// model is an Outbox as it should be, of messages one byte long.
type model struct {
	policy   outbox.Policy
	most     int
	packets  bool
	queue    string
	inFlight string
	sent     string // with a bar between writes
	waiting  string // messages of Sends that wait
	dropped  int
	err      error
}

func (m *model) send(c string) {
	switch {
	case m.err != nil:
	case len(m.queue) < m.most:
		m.queue += c
	case m.policy == outbox.Wait:
		m.waiting += c
	case m.policy == outbox.DropOldest:
		m.queue = m.queue[1:] + c
		m.dropped++
	default:
		m.fail(outbox.ErrSlow)
	}
	m.take()
}

func (m *model) take() {
	if m.inFlight != "" || m.queue == "" {
		return
	}
	n := len(m.queue)
	if m.packets {
		n = 1
	}
	m.inFlight, m.queue = m.queue[:n], m.queue[n:]
	n = min(len(m.waiting), m.most-len(m.queue))
	m.queue += m.waiting[:n]
	m.waiting = m.waiting[n:]
}

func (m *model) write() {
	if m.sent != "" {
		m.sent += "|"
	}
	m.sent += m.inFlight
	m.inFlight = ""
	m.take()
}

func (m *model) fail(err error) {
	m.err = err
	m.dropped += len(m.queue) + len(m.inFlight)
	m.queue, m.inFlight, m.waiting = "", "", ""
}

// TestModel holds an Outbox against the model, after each step of random ones.
func TestModel(t *testing.T) {
	policies := map[string]outbox.Policy{
		"wait": outbox.Wait, "drop": outbox.DropOldest, "disconnect": outbox.Disconnect,
	}
	for name, policy := range policies {
		for _, network := range []string{"tcp", "unixpacket"} {
			t.Run(name+" "+network, func(t *testing.T) {
				for seed := range uint64(testenv.Rounds(500)) {
					synctest.Test(t, func(t *testing.T) { play(t, policy, network, seed) })
				}
			})
		}
	}
}

var errBroken = errors.New("broken")

func play(t *testing.T, policy outbox.Policy, network string, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	m := &model{policy: policy, most: 1 + rnd.IntN(4), packets: network == "unixpacket"}
	c := newGated(network)
	b := outbox.New(c, outbox.Options{Policy: policy, Messages: m.most})
	trace := ""
	for i := range 40 {
		switch k := rnd.IntN(20); {
		case k == 0 && m.inFlight != "":
			trace += " break"
			c.gate <- errBroken
			m.fail(errBroken)
		case k < 8 && m.inFlight != "":
			trace += " write"
			c.gate <- nil
			m.write()
		default:
			p := []byte{byte('a' + i%26)}
			if policy == outbox.Wait {
				p[0] = 'x' // those that wait have no order among them
			}
			trace += " " + string(p)
			m.send(string(p))
			go b.Send(p)
		}
		synctest.Wait()
		s := b.Stats()
		got := fmt.Sprint(c.written(), s.Queued, s.Dropped)
		want := fmt.Sprint(m.sent, len(m.queue)+len(m.inFlight), m.dropped)
		if got != want {
			t.Fatalf("seed %d, at most %d,%s: got %s, want %s", seed, m.most, trace, got, want)
		}
	}
	if m.err != nil {
		testenv.Fails(t, b.Send(nil), m.err, "seed: Send returned", seed)
	}
	finish(t, b, c, m)
}

// finish closes b, while its writes succeed or time passes.
func finish(t *testing.T, b *outbox.Outbox, c *gated, m *model) {
	late := m.inFlight != "" && len(m.queue)%2 == 0
	stop := make(chan struct{})
	if !late {
		go func() {
			for {
				select {
				case c.gate <- nil:
				case <-stop:
					return
				}
			}
		}()
	}
	start := time.Now()
	err := b.Close()
	close(stop)
	synctest.Wait()
	const flush = 5 * time.Second
	switch {
	case m.err != nil && !errors.Is(err, m.err):
		t.Errorf("Close: %v, want %v", err, m.err)
	case m.err == nil && late && (err == nil || time.Since(start) != flush):
		t.Errorf("Close: %v after %v, want a timeout after %v", err, time.Since(start), flush)
	case m.err == nil && !late && err != nil:
		t.Errorf("Close: %v", err)
	}
	if s := b.Stats(); s.Queued != 0 {
		t.Errorf("%+v after Close", s)
	}
	if err := c.Close(); err == nil {
		t.Error("Close has left the connection open")
	}
	if err := b.Send([]byte("x")); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("Send after Close: %v", err)
	}
}
