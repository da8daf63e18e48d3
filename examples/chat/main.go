// Command chat is a chat server: rooms, names, and two ways in. A web page
// speaks WebSocket to it, and a terminal lines of text:
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
//	client.go    one client: commands, what ends it
//	room.go      a room: members, broadcasts
//	server.go    all clients and rooms, and their end
//	event.go     what is sent, as JSON and as lines
//	lines.go     the one way in; websocket.go and page.html the other
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// limits are what clients may not exceed, some of them flags. They do not
// change after the start.
type limits struct {
	conns, rooms int
	name, text   int // bytes

	queue, lost  int // messages
	write, grace time.Duration
}

func main() {
	l := limits{rooms: 100, name: 24, text: 2000, write: 30 * time.Second}
	web := flag.String("http", "127.0.0.1:8080", "`address` of the page and of /ws")
	lines := flag.String("lines", "127.0.0.1:7000", "`address` for lines of text, as of netcat")
	processors := flag.Int("processors", 0, "Processors, which run coroutines; 0: one for each CPU")
	flag.IntVar(&l.conns, "conns", 10000, "open connections of each address; more wait")
	flag.IntVar(&l.queue, "queue", 256,
		"messages queued for a slow client, before the oldest is dropped")
	flag.IntVar(&l.lost, "lost", 1000, "dropped messages after which a slow client is disconnected")
	flag.DurationVar(&l.grace, "grace", time.Second, "time for a last message to a client")
	flag.Parse()
	if flag.NArg() > 0 || min(l.conns, l.queue, l.lost) < 1 || l.grace <= 0 {
		fmt.Fprintln(os.Stderr, "chat: an argument, or a limit below 1; see -h")
		os.Exit(2)
	}
	s := newServer(&l)
	serve := func(context.Context) error {
		if _, err := s.serveLines(*lines); err != nil {
			return err
		}
		_, err := s.serveHTTP(*web)
		return err
	}
	os.Exit(netco.Main(serve, netco.MainOptions{
		Options:  netco.Options{Processors: *processors, OnPanic: netco.KeepServing},
		Draining: func(error) { s.end() },
	}))
}

// listen prints where it listens, which -lines :0 leaves to the kernel.
func (s *server) listen(what, addr string) (net.Listener, error) {
	ln, err := netco.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	fmt.Println(what, "on", ln.Addr())
	return socket.LimitListener(ln, s.limits.conns), nil
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

// serveHTTP has net/http serve the page on goroutines of its own. A connection
// that becomes a WebSocket leaves it for a coroutine.
func (s *server) serveHTTP(addr string) (net.Addr, error) {
	ln, err := s.listen("http", addr)
	if err != nil {
		return nil, err
	}
	web := &http.Server{Handler: s.handler(), ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	go web.Serve(ln)
	return ln.Addr(), nil
}
