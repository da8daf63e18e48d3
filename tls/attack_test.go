package tls_test

import (
	stdtls "crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net"
	"github.com/netco-go/netco/tls"
)

// answers is what connections of TestAttack are answered with. A peer that
// does not read them makes a Write of all of them wait.
var answers [64 << 20]byte

// answering serves connections with two coroutines each: one reads how many
// bytes are wanted, the other writes them.
type answering struct{ coroutines atomic.Int64 }

func (a *answering) serve(c net.Conn) {
	a.coroutines.Add(1)
	defer a.coroutines.Add(-1)
	// An attacker need not fill what the kernel would buffer.
	c.(*tls.Conn).NetConn().(*net.TCPConn).SetWriteBuffer(64 << 10)
	wanted := channel.Make[uint32](1)
	defer wanted.Close()
	defer c.Close()
	if _, err := netco.Go(func() {
		a.coroutines.Add(1)
		defer a.coroutines.Add(-1)
		for n, ok := wanted.Recv(); ok; n, ok = wanted.Recv() {
			c.Write(answers[:n]) // after an error Reads fail, too
		}
	}); err != nil {
		return
	}
	for {
		var request [4]byte
		if _, err := io.ReadFull(c, request[:]); err != nil {
			return
		}
		wanted.Send(binary.BigEndian.Uint32(request[:]))
	}
}

// request asks for n bytes, after a handshake if there was none.
func request(c *stdtls.Conn, n int) error {
	c.SetDeadline(time.Now().Add(testenv.Limit))
	_, err := c.Write(binary.BigEndian.AppendUint32(nil, uint32(n)))
	return err
}

// attack makes the server's Write wait for this peer, and then sends garbage to
// the Read beside it. The result goes on not to read.
func attack(addr string, config *tls.Config) (net.Conn, error) {
	raw, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	c := stdtls.Client(raw, config)
	if err := request(c, len(answers)); err != nil {
		return raw, err
	}
	if _, err := c.Read(make([]byte, 1)); err != nil { // so the Write is under way
		return raw, err
	}
	_, err = io.WriteString(raw, garbage)
	return raw, err
}

// ended reads what the server has sent before it has closed the connection.
func ended(raw net.Conn) error {
	defer raw.Close()
	raw.SetDeadline(time.Now().Add(testenv.Limit))
	if _, err := io.Copy(io.Discard, raw); errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

// TestAttack: peers attack the locks of their connections, one after the other
// and many at a time. Other clients of the same Processor go on meanwhile, and
// every attacked connection ends on both sides. Connections of crypto/tls stop
// a Processor with a thread of its own for good.
func TestAttack(t *testing.T) {
	for name, options := range map[string]netco.Options{
		"one Processor":                {Processors: 1},
		"one Processor and its thread": {Processors: 1, LockThreads: true},
		"two Processors":               {Processors: 2},
	} {
		t.Run(name, func(t *testing.T) {
			testrun.StartWith(t, options)
			sc, cc := configs()
			limits := &tls.Limits{HandshakeTimeout: testenv.Limit}
			ln := limits.NewListener(testenv.Must(net.Listen("tcp", "127.0.0.1:0")), sc)
			var server answering
			served := make(chan error, 1)
			testenv.Must(netco.Go(func() { served <- netco.Serve(ln, server.serve) }))

			const n = 20
			b := &beside{addr: ln.Addr().String(), config: cc, server: &server}
			for range n {
				raw := testenv.Must(net.Dial("tcp", b.addr))
				b.clients = append(b.clients, stdtls.Client(testenv.Closing(t, raw), cc))
			}
			b.goOn(t)
			for range testenv.Rounds(n) {
				b.attack(t, 1)
			}
			b.attack(t, n)
			b.goOn(t)
			for _, c := range b.clients {
				c.Close()
			}
			ln.Close()
			testenv.Await(t, served, "Serve")
			testenv.Until(t, "the server's coroutines to end", func() bool {
				return server.coroutines.Load() == 0
			})
		})
	}
}

// beside are clients of a server beside which it is attacked.
type beside struct {
	addr    string
	config  *tls.Config
	server  *answering
	clients []*stdtls.Conn
}

// parts are a request of each client, which is answered.
func (b *beside) parts() (parts []func() error) {
	for _, c := range b.clients {
		parts = append(parts, func() error {
			const n = 100
			if err := request(c, n); err != nil {
				return err
			}
			_, err := io.ReadFull(c, make([]byte, n))
			return err
		})
	}
	return parts
}

func (b *beside) goOn(t *testing.T) {
	t.Helper()
	runAll(t, false, b.parts())
}

// attack has n peers attack the server. The clients go on while they do so, and
// again while the Writes to these peers wait.
func (b *beside) attack(t *testing.T, n int) {
	t.Helper()
	attackers := make([]net.Conn, n)
	parts := b.parts()
	for i := range attackers {
		parts = append(parts, func() (err error) {
			attackers[i], err = attack(b.addr, b.config)
			return err
		})
	}
	runAll(t, false, parts)
	b.goOn(t)
	if t.Failed() {
		t.FailNow()
	}
	for _, raw := range attackers {
		testenv.OK(t, ended(raw))
	}
	testenv.Until(t, "the attacked connections to end", func() bool {
		return b.server.coroutines.Load() == int64(2*len(b.clients))
	})
}
