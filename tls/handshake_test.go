package tls_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	stdsync "sync"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net"
	"github.com/netco-go/netco/tls"
)

// features are what crypto/tls negotiates, each with its settings and what both
// ends are to see of it in the i-th connection.
var features = []struct {
	name  string
	set   func(server, client *tls.Config)
	check func(i int, server, client tls.ConnectionState) bool
}{
	{"session tickets, TLS 1.2", func(server, client *tls.Config) {
		server.MaxVersion = tls.VersionTLS12
		client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	}, func(i int, s, c tls.ConnectionState) bool {
		return s.DidResume == (i > 0) && c.DidResume == (i > 0)
	}},
	{"session tickets, TLS 1.3", func(_, client *tls.Config) {
		client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	}, func(i int, s, c tls.ConnectionState) bool {
		return s.DidResume == (i > 0) && c.DidResume == (i > 0)
	}},
	{"ALPN", func(server, client *tls.Config) {
		server.NextProtos, client.NextProtos = []string{"b", "a"}, []string{"a", "c"}
	}, func(_ int, s, c tls.ConnectionState) bool {
		return s.NegotiatedProtocol == "a" && c.NegotiatedProtocol == "a"
	}},
	{"client certificate", func(server, _ *tls.Config) {
		server.ClientAuth = tls.RequireAndVerifyClientCert
	}, func(_ int, s, _ tls.ConnectionState) bool { return len(s.VerifiedChains) == 1 }},
	{"server name", func(server, client *tls.Config) {
		cert := server.Certificates[0]
		server.Certificates = nil
		server.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if _, ok := hello.Conn.(interface{ NetConn() net.Conn }).NetConn().(*net.TCPConn); !ok {
				return nil, errors.New("not the connection below")
			}
			return &cert, hello.Context().Err()
		}
	}, func(_ int, s, _ tls.ConnectionState) bool { return s.ServerName == "localhost" }},
}

// TestFeatures: both ends agree, and a client sees the server's certificate.
func TestFeatures(t *testing.T) {
	for _, feature := range features {
		everywhereOf(t, feature.name, func(t *testing.T, run runner) {
			sc, cc := configs()
			feature.set(sc, cc)
			var keys bytes.Buffer
			cc.KeyLogWriter = &keys
			for i := range 2 {
				a, b := pair(t)
				server, client := tls.Server(a, sc), tls.Client(b, cc)
				run(
					func() error { return send(server, []byte("x")) },
					func() error { return receive(client, []byte("x")) },
				)
				if !feature.check(i, server.ConnectionState(), client.ConnectionState()) {
					t.Errorf("connection %d: %+v\n%+v", i, server.ConnectionState(),
						client.ConnectionState())
				}
				testenv.NoError(t, client.VerifyHostname("localhost"))
				if err := client.VerifyHostname("elsewhere"); err == nil {
					t.Error("a wrong host is right")
				}
				if client.OCSPResponse() != nil {
					t.Error("an OCSP response from nowhere")
				}
			}
			if !strings.Contains(keys.String(), "CLIENT_") {
				t.Errorf("key log %q", keys.String())
			}
		})
	}
}

// TestHandshakeEnds: a silent peer ends a handshake no later than a deadline,
// the time of Limits, or a context. So does one that speaks no TLS.
func TestHandshakeEnds(t *testing.T) {
	const d = 5 * time.Millisecond
	short := &tls.Limits{HandshakeTimeout: d}
	for _, test := range []struct {
		name string
		by   func(raw net.Conn, config *tls.Config) error
		want error
	}{
		{"deadline", func(raw net.Conn, config *tls.Config) error {
			c := tls.Server(raw, config)
			c.SetDeadline(time.Now().Add(d))
			return c.Handshake()
		}, os.ErrDeadlineExceeded},
		{"Limits", func(raw net.Conn, config *tls.Config) error {
			return testenv.Err(short.Server(raw, config).Read(make([]byte, 1)))
		}, os.ErrDeadlineExceeded},
		{"Limits of a client", func(raw net.Conn, _ *tls.Config) error {
			_, cc := configs()
			_, err := short.Client(raw, cc).Write([]byte("x"))
			return err
		}, os.ErrDeadlineExceeded},
		{"context", func(raw net.Conn, config *tls.Config) error {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(d, cancel)
			c := tls.Server(raw, config)
			err := c.HandshakeContext(ctx)
			if closed := c.Close(); !errors.Is(closed, net.ErrClosed) { // it was already
				return closed
			}
			return err
		}, context.Canceled},
		{"Close", func(raw net.Conn, config *tls.Config) error {
			c := tls.Server(raw, config)
			time.AfterFunc(d, func() { c.Close() })
			return c.Handshake()
		}, net.ErrClosed},
	} {
		everywhereOf(t, test.name, func(t *testing.T, run runner) {
			sc, _ := configs()
			raw, _ := pair(t)
			run(func() error { return isError(test.want)(0, test.by(raw, sc)) })
		})
	}
}

// TestNotTLS: the error of a handshake has what did not look like TLS, and the
// connection below, to answer on.
func TestNotTLS(t *testing.T) {
	everywhere(t, func(t *testing.T, run runner) {
		sc, _ := configs()
		a, b := pair(t)
		io.WriteString(b, "GET / HTTP/1.0\r\n\r\n")
		run(func() error {
			err := tls.Server(a, sc).Handshake()
			var header tls.RecordHeaderError
			if !errors.As(err, &header) || header.Conn != a ||
				string(header.RecordHeader[:]) != "GET /" {
				return fmt.Errorf("%#v", err)
			}
			return nil
		})
	})
}

// TestDial: by all functions, with the certificate of the host in the address.
func TestDial(t *testing.T) {
	everywhere(t, func(t *testing.T, run runner) {
		sc, cc := configs()
		cc.ServerName = ""
		ln := testenv.Must(tls.Listen("tcp", "127.0.0.1:0", sc))
		addr := ln.Addr().String()
		dials := []func() (net.Conn, error){
			func() (net.Conn, error) { return tls.Dial("tcp", addr, cc) },
			func() (net.Conn, error) {
				d := &net.Dialer{Timeout: time.Minute, Deadline: time.Now().Add(time.Minute)}
				return tls.DialWithDialer(d, "tcp", addr, cc)
			},
			func() (net.Conn, error) { return (&tls.Dialer{Config: cc}).Dial("tcp", addr) },
		}
		for _, dial := range dials {
			run(func() error {
				c, err := ln.Accept()
				if err != nil {
					return err
				}
				defer c.Close()
				_, err = io.Copy(c, c)
				return err
			}, func() error {
				c, err := dial()
				if err != nil {
					return err
				}
				defer c.Close()
				return errors.Join(send(c.(*tls.Conn), []byte("x")), receive(c, []byte("x")))
			})
		}
		ln.Close()
		if c, err := (&tls.Dialer{Config: cc}).Dial("tcp", addr); c != nil || err == nil {
			t.Errorf("after Close: %v, %v", c, err)
		}
		if _, err := tls.Listen("tcp", "127.0.0.1:0", nil); err == nil {
			t.Error("Listen without a certificate")
		}
	})
}

// heldConn holds what it reads after the second Write, the client's last one in
// a handshake of TLS 1.2, until it is closed. It then returns it all the same.
type heldConn struct {
	net.Conn
	writes int
	close  stdsync.Once
	closed chan struct{}
}

func (c *heldConn) Write(p []byte) (int, error) {
	c.writes++
	return c.Conn.Write(p)
}

func (c *heldConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.writes > 1 {
		<-c.closed
	}
	return n, err
}

func (c *heldConn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return nil
}

// TestHandshakeLate: a handshake that succeeds as its time ends has failed,
// since the connection below is closed.
func TestHandshakeLate(t *testing.T) {
	testrun.Start(t, 2)
	sc, cc := configs()
	cc.MaxVersion = tls.VersionTLS12
	a, b := pair(t)
	go tls.Server(a, sc).Handshake()
	limits := &tls.Limits{HandshakeTimeout: 100 * time.Millisecond}
	c := limits.Client(&heldConn{Conn: b, closed: make(chan struct{})}, cc)
	for range 2 {
		testenv.Fails(t, c.Handshake(), os.ErrDeadlineExceeded)
	}
}
