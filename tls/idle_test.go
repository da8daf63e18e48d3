package tls_test

import (
	"io"
	"runtime"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/tls"
)

// echo is a socket.Server whose connections speak TLS, as the package's comment
// says.
func echo(config *tls.Config) *socket.Server {
	answer := func(c *tls.Conn) error {
		buf := make([]byte, 512)
		for more := true; more; more = c.Readable() {
			n, err := c.Read(buf)
			if err != nil {
				return err
			}
			if _, err := c.Write(buf[:n]); err != nil {
				return err
			}
		}
		return nil
	}
	return &socket.Server{
		Opened: func(raw *socket.ServerConn) error {
			c := tls.Server(raw, config)
			raw.Value = c
			if err := c.Handshake(); err != nil || !c.Readable() {
				return err
			}
			return answer(c)
		},
		Handle: func(raw *socket.ServerConn) error { return answer(raw.Value.(*tls.Conn)) },
	}
}

// TestIdle: connections of a socket.Server that have been used are idle without
// a coroutine, and without memory that a record or the handshake needed.
func TestIdle(t *testing.T) {
	testrun.Start(t, 2)
	sc, cc := configs()
	ln := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
	s := echo(sc)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	const n = 50
	var clients []*tls.Conn
	for range n {
		c := testenv.Must(tls.Dial("tcp", ln.Addr().String(), cc))
		sent, got := stream(40_000, 1), make([]byte, 40_000)
		go c.Write(sent)
		testenv.Must(io.ReadFull(c, got))
		if string(got) != string(sent) {
			t.Fatal("other bytes came back")
		}
		if c.Readable() { // which finds as a Read would that there is nothing left
			t.Fatal("more bytes came back")
		}
		clients = append(clients, c)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // the pools' too
	runtime.ReadMemStats(&before)
	for _, c := range clients {
		c.Close()
	}
	ln.Close()
	s.Close()
	<-served
	clients, s = nil, nil
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(before.HeapAlloc) - int64(after.HeapAlloc)) / n
	if each > 16<<10 { // with the buffers it would be more than twice that
		t.Errorf("%d bytes for both ends of a connection", each)
	}
}
