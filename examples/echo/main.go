// Command echo is an echo daemon written for speed: a coroutine per connection,
// which holds a buffer only while it has something in it. SIGINT or SIGTERM
// ends it: it stops accepting, ends connections that wait for their peer, gives
// the others five seconds, and exits with 0. With -metrics it serves
// Prometheus' metrics until then.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:7000", "`address` to listen on")
	processors := flag.Int("processors", 0, "Processors, which run coroutines; 0: one for each CPU")
	metrics := flag.String("metrics", "", "`address` to serve /metrics on; empty: none")
	grace := flag.Duration("grace", 5*time.Second, "how long connections get to end by themselves")
	flag.Parse()
	if err := run(*addr, *processors, *metrics, *grace); err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

func run(addr string, processors int, metrics string, grace time.Duration) error {
	if err := netco.Start(netco.Options{Processors: processors}); err != nil {
		return err
	}
	ln, err := netco.Listen("tcp", addr)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	// Before any client is answered, so that a signal ends it in order.
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	fmt.Println("listening on", ln.Addr())
	if metrics != "" {
		m, err := serveMetrics(metrics)
		if err != nil {
			return err
		}
		defer m.end() // last: how the end goes can be seen, too
	}
	if _, err := netco.GoWith(netco.Spawn{Name: "accept", Fn: func() {
		netco.Serve(ln, serve)
	}}); err != nil {
		return err
	}
	<-signals
	signal.Stop(signals) // the next one ends the process at once
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := netco.Shutdown(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

func serve(c net.Conn) { echo(c.(*socket.TCPConn)) }

// echo waits without a buffer, so that an idle connection costs none, and works
// in one that is warm.
func echo(c *socket.TCPConn) {
	defer c.Close()
	for c.WaitReadable() == nil {
		b := socket.AcquireBuffer()
		n, err := c.Read(b.Bytes())
		if err == nil {
			_, err = c.Write(b.Bytes()[:n])
		}
		b.Release()
		if err != nil {
			return
		}
	}
}
