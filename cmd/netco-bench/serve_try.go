package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/scheduler"
)

// tryServers are the servers of "serve NAME", to try load with: what each does
// with one connection.
var tryServers = map[string]func(net.Conn){
	"echo": func(c net.Conn) {
		_, _ = io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{c}, make([]byte, 16<<10))
	},
	"http": serveTryHTTP,
}

const serveHelp = `Usage: netco-bench serve echo|http [-on net|netco] [-addr 127.0.0.1:8080]

Servers to try netco-bench load with, on package net or on netco. http answers each request with 12
bytes. They end by Ctrl-C. ./examples/redis and ./examples/chat are servers for redis:// and ws://.

`

// runServeTry is serve with a name behind it; runServe is its hidden form.
func runServeTry(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return usagef("want one of %s", strings.Join(slices.Sorted(maps.Keys(tryServers)), ", "))
	}
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	on := fs.String("on", "netco", "net or netco")
	addr := fs.String("addr", "127.0.0.1:8080", "`address` to listen on")
	err := parseFlags(fs, args[1:], io.Discard)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, serveHelp)
	}
	if err != nil {
		return err
	}
	serve, ok := tryServers[args[0]]
	if !ok {
		return usagef("unknown server %q, want one of %s", args[0],
			strings.Join(slices.Sorted(maps.Keys(tryServers)), ", "))
	}
	if *on != "net" && *on != "netco" {
		return usagef("-on %q: want net or netco", *on)
	}
	if _, err := raiseNoFile(); err != nil {
		return err
	}
	listen, start := net.Listen, func(f func()) error { go f(); return nil }
	if *on == "netco" {
		s, err := scheduler.New(scheduler.Options{Quiet: true})
		if err != nil {
			return err
		}
		if err := s.Start(); err != nil {
			return err
		}
		over, cancel := context.WithCancel(context.Background())
		cancel()
		defer s.Shutdown(over) // so connections end at once
		listen = netco.Listen
		start = func(f func()) error { _, err := s.Go(f); return err }
	}
	ln, err := listen("tcp", *addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	defer context.AfterFunc(ctx, func() { ln.Close() })()
	fmt.Fprintf(stderr, "serving %s on %s at %s\n", args[0], *on, ln.Addr())
	ended := make(chan error, 1)
	if err := start(func() { ended <- acceptAll(ln, start, serve) }); err != nil {
		return err
	}
	if err := <-ended; ctx.Err() == nil {
		return err
	}
	return ctx.Err()
}

func acceptAll(ln net.Listener, start func(func()) error, serve func(net.Conn)) error {
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		if err := start(func() {
			defer c.Close()
			serve(c)
		}); err != nil {
			c.Close()
		}
	}
}

const tryAnswer = "Hello, world"

// serveTryHTTP answers HTTP/1.1 as package net/http reads it.
func serveTryHTTP(c net.Conn) {
	r, w := bufio.NewReader(c), bufio.NewWriter(c)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n",
			len(tryAnswer))
		if req.Method != http.MethodHead {
			w.WriteString(tryAnswer)
		}
		if r.Buffered() == 0 && w.Flush() != nil || req.Close {
			w.Flush()
			return
		}
	}
}
