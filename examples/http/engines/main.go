// Command engines serves HTTP/1.1 on netco's connections in two ways: with
// valyala/fasthttp, whose ServeConn runs in a coroutine for each connection,
// and with net/http, which starts goroutines of its own and needs nothing but
// netco's listener.
//
//	go run ./engines -engine fasthttp -addr 127.0.0.1:8080
//	curl http://127.0.0.1:8080/hello
//
// -transport net runs the same engine on package net's listener, to compare.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// Limits of what one request can take. The other limits are flags: neither
// engine has a timeout by itself.
const (
	maxHead = 16 << 10
	maxBody = 1 << 20
)

type config struct {
	addr, engine, transport string
	processors              int
	maxConns                int
	timeout, idleTimeout    time.Duration
	grace                   time.Duration
}

func main() {
	var c config
	flag.StringVar(&c.addr, "addr", "127.0.0.1:8080", "address to listen on")
	flag.StringVar(&c.engine, "engine", "fasthttp", "fasthttp or net/http")
	flag.StringVar(&c.transport, "transport", "netco", "netco or net")
	flag.IntVar(&c.processors, "processors", 0, "netco's Processors; 0 is one for each CPU")
	flag.IntVar(&c.maxConns, "max-conns", 10_000, "connections open at a time, at most; those "+
		"beyond wait")
	flag.DurationVar(&c.timeout, "timeout", 10*time.Second, "how long a request may take to come "+
		"in, and an answer to go out")
	flag.DurationVar(&c.idleTimeout, "idle-timeout", 2*time.Minute, "how long a connection may be "+
		"idle between two requests")
	flag.DurationVar(&c.grace, "grace", 5*time.Second, "how long requests under way get to end")
	flag.Parse()
	if err := run(c); err != nil {
		fmt.Fprintln(os.Stderr, "engines:", err)
		os.Exit(1)
	}
}

// An engine serves a listener until end is called, which closes it and lets the
// requests under way finish until ctx is over.
type engine struct {
	serve func() error
	end   func(ctx context.Context) error
}

func run(c config) error {
	if err := netco.Start(netco.Options{Processors: c.processors}); err != nil {
		return err
	}
	listen := netco.Listen
	switch c.transport {
	case "netco":
	case "net":
		listen = net.Listen
	default:
		return fmt.Errorf("unknown transport %q", c.transport)
	}
	var on func(net.Listener, config) engine
	switch {
	case c.engine == "net/http":
		on = netHTTP
	case c.engine == "fasthttp" && c.transport == "netco":
		on = fastCoroutines
	case c.engine == "fasthttp":
		on = fastGoroutines
	default:
		return fmt.Errorf("unknown engine %q", c.engine)
	}
	ln, err := listen("tcp", c.addr)
	if err != nil {
		return err
	}
	e := on(socket.LimitListener(ln, c.maxConns), c)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM) // before the line that says it runs
	fmt.Println("listening on", ln.Addr())
	failed := make(chan error, 1)
	go func() { failed <- e.serve() }()
	select {
	case err := <-failed:
		return err
	case <-signals:
	}
	signal.Stop(signals) // the next one ends the process at once
	ctx, cancel := context.WithTimeout(context.Background(), c.grace)
	defer cancel()
	return errors.Join(inTime(e.end(ctx)), inTime(netco.Shutdown(ctx)))
}

// inTime is err, unless it says that connections had to be cut when the time
// was over.
func inTime(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// netHTTP is net/http, whose goroutines block in netco's connections as they do
// in net's.
func netHTTP(ln net.Listener, c config) engine {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "Hello from %s\n", r.URL.Path)
	})
	s := &http.Server{Handler: http.MaxBytesHandler(hello, maxBody), ReadTimeout: c.timeout,
		WriteTimeout: c.timeout, IdleTimeout: c.idleTimeout, MaxHeaderBytes: maxHead}
	return engine{func() error { return s.Serve(ln) }, s.Shutdown}
}

func newFast(c config) *fasthttp.Server {
	return &fasthttp.Server{Name: "netco", CloseOnShutdown: true,
		ReadTimeout: c.timeout, WriteTimeout: c.timeout, IdleTimeout: c.idleTimeout,
		ReadBufferSize: maxHead, MaxRequestBodySize: maxBody,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("text/plain; charset=utf-8")
			ctx.WriteString("Hello from ")
			ctx.Write(ctx.Path())
			ctx.WriteString("\n")
		}}
}

// fastCoroutines is fasthttp with a coroutine for each connection. At the end
// netco.Shutdown makes those that wait for their next request return.
func fastCoroutines(ln net.Listener, c config) engine {
	s := newFast(c)
	return engine{
		serve: func() error {
			accepting, err := netco.GoWith(netco.Spawn{Name: "accept", Fn: func() {
				for {
					c, err := ln.Accept()
					if err != nil {
						return
					}
					if _, err := netco.Go(func() { s.ServeConn(c) }); err != nil {
						c.Close()
					}
				}
			}})
			if err != nil {
				return err
			}
			return accepting.Join()
		},
		end: func(context.Context) error { return ln.Close() },
	}
}

// fastGoroutines is fasthttp as its users know it.
func fastGoroutines(ln net.Listener, c config) engine {
	s := newFast(c)
	return engine{func() error { return s.Serve(ln) }, s.ShutdownWithContext}
}
