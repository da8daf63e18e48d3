// Package fasthttp hands netco's connections to valyala/fasthttp: a coroutine for each connection calls Server.ServeConn,
// and clients dial through netco from coroutines and from goroutines.
package fasthttp

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/interop/internal/certs"
	"github.com/netco-go/netco/interop/internal/place"
)

func TestMain(m *testing.M) {
	warmUp()
	testenv.Main(m)
}

// warmUp answers one request, with which fasthttp starts a goroutine for the date that never ends.
func warmUp() {
	c1, c2 := net.Pipe()
	go io.WriteString(c1, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	go io.Copy(io.Discard, c1)
	s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}
	s.ServeConn(c2)
	c1.Close()
}

// site is a server and a client of it.
type site struct {
	addr   string
	client *fasthttp.HostClient
	dials  atomic.Int32
}

// start serves with s on coroutines, TLS if cfg is not nil. It is for the test's goroutine, with netco started.
func start(t *testing.T, s *fasthttp.Server, cfg *tls.Config) *site {
	t.Helper()
	return startOn(t, func(fn func()) { netco.Go(fn) }, s, cfg)
}

// startOn serves on what spawn starts.
func startOn(t *testing.T, spawn func(fn func()), s *fasthttp.Server, cfg *tls.Config) *site {
	t.Helper()
	ln, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	site := &site{addr: ln.Addr().String()}
	site.client = &fasthttp.HostClient{Addr: site.addr, MaxIdleConnDuration: time.Second,
		Dial: func(addr string) (net.Conn, error) {
			site.dials.Add(1)
			return netco.Dial("tcp", addr)
		}}
	spawn(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if cfg != nil {
				c = tls.Server(c, cfg)
			}
			spawn(func() { s.ServeConn(c) })
		}
	})
	t.Cleanup(func() {
		site.client.CloseIdleConnections()
		ln.Close()
	})
	return site
}

// call makes a request and returns the answer's body. do makes the call.
func (s *site) call(body string, do func(*fasthttp.Request, *fasthttp.Response) error) (string,
	error) {
	req, res := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(res)
	scheme := "http://"
	if s.client.IsTLS {
		scheme = "https://"
	}
	req.Header.SetMethod("POST")
	req.SetRequestURI(scheme + s.addr + "/")
	req.SetBodyString(body)
	if err := do(req, res); err != nil {
		return "", err
	}
	if res.StatusCode() != fasthttp.StatusOK {
		return "", fmt.Errorf("status %d", res.StatusCode())
	}
	return string(res.Body()), nil
}

// echoes makes n requests one after the other, which a server that echoes must answer.
func (s *site) echoes(n, size int) error {
	for i := range n {
		want := strings.Repeat(string(rune('a'+i%26)), size)
		got, err := s.call(want, s.client.Do)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		if got != want {
			return fmt.Errorf("request %d: %d bytes came back, or others than were sent", i,
				len(got))
		}
	}
	return nil
}

func echo(ctx *fasthttp.RequestCtx) { ctx.Write(ctx.PostBody()) }

// TestKeepAlive: requests one after the other share a connection.
func TestKeepAlive(t *testing.T) {
	place.Each(t, func(t *testing.T, p place.Place) {
		s := start(t, &fasthttp.Server{Handler: echo}, nil)
		p.Do(t, func() error { return s.echoes(100, 10) })
		if n := s.dials.Load(); n < 1 || n > 10 { // more than one if a request did not come for MaxIdleConnDuration
			t.Errorf("%d connections for 100 requests one after the other", n)
		}
	})
}

// TestManyClients: many clients at a time, with bodies that do not fit a socket's buffers.
func TestManyClients(t *testing.T) {
	place.Each(t, func(t *testing.T, p place.Place) {
		s := start(t, &fasthttp.Server{Handler: echo}, nil)
		if err := p.All(8, func(int) error { return s.echoes(3, 2<<20) }); err != nil {
			t.Fatal(err)
		}
	})
}

// TestTLS: a coroutine serves tls.Server's connection; fasthttp does the handshake.
func TestTLS(t *testing.T) {
	place.Each(t, func(t *testing.T, p place.Place) {
		server, client := certs.Configs(t)
		s := start(t, &fasthttp.Server{Handler: echo}, server)
		s.client.IsTLS, s.client.TLSConfig = true, client
		if err := p.All(4, func(int) error { return s.echoes(5, 100<<10) }); err != nil {
			t.Fatal(err)
		}
	})
}

// TestHandlersPark: a handler runs on the coroutine that serves the connection and may park: those of one Processor overlap.
func TestHandlersPark(t *testing.T) {
	const n = 10
	place.Each(t, func(t *testing.T, p place.Place) {
		var inside atomic.Int32
		s := start(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if netco.Self().ID() == 0 {
				ctx.Error("not on a coroutine", fasthttp.StatusInternalServerError)
				return
			}
			inside.Add(1)
			for begin := time.Now(); inside.Load() < n; netco.Sleep(time.Millisecond) {
				if time.Since(begin) > place.Limit {
					ctx.Error("alone", fasthttp.StatusInternalServerError)
					return
				}
			}
			ctx.Write(ctx.PostBody())
		}}, nil)
		if err := p.All(n, func(int) error { return s.echoes(1, 10) }); err != nil {
			t.Fatal(err)
		}
	})
}

// TestPipelining: requests sent at once are answered in their order.
func TestPipelining(t *testing.T) {
	place.Each(t, func(t *testing.T, p place.Place) {
		s := start(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Write(ctx.Path())
		}}, nil)
		p.Do(t, func() error {
			c, err := netco.Dial("tcp", s.addr)
			if err != nil {
				return err
			}
			defer c.Close()
			for i := range 20 {
				if _, err := fmt.Fprintf(c, "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", i); err != nil {
					return err
				}
			}
			r := bufio.NewReader(c)
			for i := range 20 {
				var res fasthttp.Response
				if err := res.Read(r); err != nil {
					return err
				}
				if got, want := string(res.Body()), fmt.Sprint("/", i); got != want {
					return fmt.Errorf("answer %d is for %s", i, got)
				}
			}
			return nil
		})
	})
}

// TestStreamedBodies: the server reads a request's body as it comes and answers with a reader's content.
func TestStreamedBodies(t *testing.T) {
	place.Each(t, func(t *testing.T, p place.Place) {
		s := start(t, &fasthttp.Server{StreamRequestBody: true,
			Handler: func(ctx *fasthttp.RequestCtx) {
				body, err := io.ReadAll(ctx.RequestBodyStream())
				if err != nil {
					ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
					return
				}
				ctx.SetBodyStream(bytes.NewReader(body), -1)
			}}, nil)
		p.Do(t, func() error { return s.echoes(3, 1<<20) })
	})
}

// TestTimeout: DoTimeout sets the connection's deadline and works on a coroutine.
func TestTimeout(t *testing.T) {
	place.Each(t, func(t *testing.T, p place.Place) {
		var release atomic.Bool
		s := start(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			for !release.Load() {
				netco.Sleep(time.Millisecond)
			}
		}}, nil)
		defer release.Store(true)
		p.Do(t, func() error {
			_, err := s.call("", func(req *fasthttp.Request, res *fasthttp.Response) error {
				return s.client.DoTimeout(req, res, 500*time.Millisecond) // enough to connect and to ask, so that it is the answer which is late
			})
			if !errors.Is(err, fasthttp.ErrTimeout) {
				return fmt.Errorf("DoTimeout: %v", err)
			}
			return nil
		})
	})
}

// TestIdleTimeout: the server closes a connection on which no other request comes.
func TestIdleTimeout(t *testing.T) {
	place.Each(t, func(t *testing.T, p place.Place) {
		s := start(t, &fasthttp.Server{Handler: echo, IdleTimeout: 20 * time.Millisecond}, nil)
		p.Do(t, func() error {
			c, err := netco.Dial("tcp", s.addr)
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				return err
			}
			_, err = io.ReadAll(c)
			return err
		})
	})
}
