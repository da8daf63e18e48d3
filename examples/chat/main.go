// Command chat is a chat server: rooms, names, who is present, and two ways in.
// A web page speaks WebSocket to it, and a terminal lines of text:
//
//	go run . -http 127.0.0.1:8080 -lines 127.0.0.1:7000
//	xdg-open http://127.0.0.1:8080/
//	nc 127.0.0.1 7000
//
// A coroutine for each client reads; what it is sent goes through an outbox,
// package outbox, so that no client waits for a slow one. SIGINT or SIGTERM
// ends the server: each client gets a last message, and a WebSocket the code
// 1001, going away.
//
//	client.go    one client: commands, presence, what ends it
//	room.go      a room: members, broadcasts, history
//	server.go    all clients and rooms, and their end
//	event.go     what is sent, as JSON and as lines
//	lines.go     the one way in; websocket.go, page.go and page.html the other
//	limits.go    flags; metrics.go is for Prometheus
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/socket"
)

func main() {
	l, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(netco.ExitOK)
	case err != nil:
		os.Exit(2)
	}
	os.Exit(run(l))
}

func run(l *limits) int {
	s := newServer(l)
	return netco.Main(func(context.Context) error { return serve(s) }, netco.MainOptions{
		Options:  netco.Options{Processors: l.processors, OnPanic: netco.KeepServing},
		Draining: func(error) { s.end() },
	})
}

// serve starts what accepts and returns.
func serve(s *server) error {
	if addr := s.limits.lines; addr != "" {
		if _, err := s.serveLines(addr); err != nil {
			return err
		}
	}
	if addr := s.limits.http; addr != "" {
		if _, err := s.serveHTTP("http", addr, s.handler()); err != nil {
			return err
		}
	}
	if addr := s.limits.metrics; addr != "" {
		// The registry uses Go channels.
		handler, err := blocking.Call(context.Background(), s.metrics)
		if err != nil {
			return err
		}
		_, err = s.serveHTTP("metrics", addr, handler)
		return err
	}
	return nil
}

// listen prints where it listens, which -lines :0 leaves to the kernel.
func (s *server) listen(what, addr string) (net.Listener, error) {
	ln, err := netco.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	ln = socket.LimitListener(ln, s.limits.conns)
	if !s.atEnd(func() { ln.Close() }) {
		return nil, netco.ErrShutdown
	}
	fmt.Println(what, "on", ln.Addr())
	return ln, nil
}

// serveLines starts a coroutine for each connection.
func (s *server) serveLines(addr string) (net.Addr, error) {
	ln, err := s.listen("lines", addr)
	if err != nil {
		return nil, err
	}
	_, err = netco.GoWith(netco.Spawn{Name: "accept", Fn: func() {
		netco.Serve(ln, func(c net.Conn) { newLines(s, c).serve() })
	}})
	return ln.Addr(), err
}

// serveHTTP has net/http serve pages on goroutines of its own. A connection
// that becomes a WebSocket leaves it for a coroutine.
func (s *server) serveHTTP(what, addr string, h http.Handler) (net.Addr, error) {
	ln, err := s.listen(what, addr)
	if err != nil {
		return nil, err
	}
	web := &http.Server{Handler: h, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	if !s.atEnd(func() { web.Close() }) {
		return nil, netco.ErrShutdown
	}
	go web.Serve(ln)
	return ln.Addr(), nil
}
