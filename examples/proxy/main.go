// Command proxy is a TCP proxy: it connects to a target for each connection that it accepts, and copies both ways, by splice
// where there is much to copy. An end of stream is passed on as such, so is a reset. SIGINT or SIGTERM ends it: it stops accepting,
// gives connections five seconds, and exits with 0.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

func main() {
	p := &proxy{}
	addr := flag.String("addr", "127.0.0.1:7000", "`address` to listen on")
	flag.StringVar(&p.target, "target", "127.0.0.1:7001", "`address` to connect to")
	flag.DurationVar(&p.idle, "idle", 0, "close connections on which nothing has moved for so `long`; 0: never")
	processors := flag.Int("processors", 0, "threads that run coroutines; 0: one for each CPU")
	grace := flag.Duration("grace", 5*time.Second, "how long connections get to end by themselves")
	flag.Parse()
	if err := run(p, *addr, *processors, *grace); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

func run(p *proxy, addr string, processors int, grace time.Duration) error {
	if err := netco.Start(netco.Options{Processors: processors}); err != nil {
		return err
	}
	ln, err := socket.Listen("tcp", addr)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM) // before anyone is told that there is something to end
	fmt.Println("listening on", ln.Addr())
	accepting, err := netco.GoNamed("accept", func() { p.accept(ln.(*socket.TCPListener)) })
	if err != nil {
		return err
	}
	<-signals
	signal.Stop(signals) // the next one ends the process at once
	ln.Close()
	if err := accepting.Join(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := netco.Shutdown(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
