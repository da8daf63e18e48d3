package main

import (
	"crypto/tls"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	netcotls "github.com/netco-go/netco/tls"
)

// TestVisits: an attack meets a Read beside a Write that waits, and sees the
// connection end. A handshake alone is one.
func TestVisits(t *testing.T) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS() // for its certificate
	config := s.TLS
	s.Close()
	for name, test := range map[string]struct {
		visit   func(address string, hold func()) error
		waiting bool // the server's Write, when its Read ends
		end     string
	}{
		"handshake": {func(a string, _ func()) error { return handshake(a) }, false, "EOF"},
		"attack":    {attackLocks, true, "bad record MAC"},
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			over := make(chan struct{})
			visited := make(chan error, 1)
			go func() { visited <- test.visit(ln.Addr().String(), func() { <-over }) }()
			waiting, err := serve(t, ln, config)
			close(over)
			if waiting != test.waiting || err == nil || !strings.Contains(err.Error(), test.end) {
				t.Errorf("the server's Write waits: %v; its Read: %v", waiting, err)
			}
			if err := <-visited; err != nil {
				t.Error(err)
			}
		})
	}
}

// serve serves one connection until it cannot be read. It writes as much as an
// attacker sends, to a peer that has sent something.
func serve(t *testing.T, ln net.Listener, config *tls.Config) (waiting bool, err error) {
	raw, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	raw.SetDeadline(time.Now().Add(time.Minute))
	raw.(*net.TCPConn).SetWriteBuffer(32 << 10)
	c := netcotls.Server(raw, config)
	written := make(chan struct{})
	buf := make([]byte, 16<<10)
	n, err := c.Read(buf)
	if n > 0 {
		go func() {
			defer close(written)
			c.Write(make([]byte, much))
		}()
	}
	for err == nil {
		_, err = c.Read(buf)
	}
	select {
	case <-written:
	default:
		waiting = n > 0
	}
	c.Close()
	if n > 0 {
		<-written
	}
	return waiting, err
}
