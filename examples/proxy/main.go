// Command proxy is a TCP proxy: it connects to a target for each connection
// that it accepts, and copies both ways, by splice where there is much to copy.
// An end of stream is passed on as such, so is a reset. The number of
// connections and the time that connecting may take are bounded. SIGINT or
// SIGTERM ends it: it stops accepting, gives connections five seconds, and
// exits with 0.
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
	"github.com/netco-go/netco/examples/internal/reports"
	"github.com/netco-go/netco/socket"
)

// defaultIdle ends connections whose peers are gone without a word, or keep
// them for nothing: without it -max-conns such would end the service.
const defaultIdle = 10 * time.Minute

func main() {
	p := &proxy{said: reports.Reports{Program: "proxy"}}
	addr := flag.String("addr", "127.0.0.1:7000", "`address` to listen on")
	flag.StringVar(&p.target, "target", "127.0.0.1:7001", "`address` to connect to")
	flag.DurationVar(&p.idle, "idle", defaultIdle, "close connections on which nothing has moved "+
		"for this `duration`; 0: never")
	flag.DurationVar(&p.dialTimeout, "dial-timeout", 10*time.Second,
		"how long connecting to the target may take")
	conns := flag.Int("max-conns", 4096, "connections open at a time, at most; fewer if the "+
		"limit of open files has no room for them")
	processors := flag.Int("processors", 0, "Processors, which run coroutines; 0: one for each CPU")
	grace := flag.Duration("grace", 5*time.Second, "how long connections get to end by themselves")
	flag.Parse()
	if err := run(p, *addr, *conns, *processors, *grace); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

func run(p *proxy, addr string, conns, processors int, grace time.Duration) error {
	conns, err := fit(conns)
	if err != nil {
		return err
	}
	if err := netco.Start(netco.Options{Processors: processors}); err != nil {
		return err
	}
	ln, err := netco.Listen("tcp", addr)
	if err != nil {
		return err
	}
	ln = socket.LimitListener(ln, conns) // those beyond wait in the kernel's backlog
	signals := make(chan os.Signal, 1)
	// Before any client is answered, so that a signal ends it in order.
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	fmt.Println("listening on", ln.Addr())
	accepting, err := netco.GoWith(netco.Spawn{Name: "accept", Fn: func() {
		p.accept(ln.(*socket.TCPListener))
	}})
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

// Each connection has two fds, and up to four more, for pipes, while it moves
// bulk. reservedFDs are for everything else.
const (
	connFDs     = 6
	reservedFDs = 64
)

// fit lowers a limit of connections to what the limit of open files leaves room
// for.
func fit(conns int) (int, error) {
	if conns < 1 {
		return 0, fmt.Errorf("-max-conns %d: want at least 1", conns)
	}
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, err
	}
	if l.Cur < reservedFDs+connFDs {
		return 0, fmt.Errorf("RLIMIT_NOFILE is %d, want at least %d", l.Cur, reservedFDs+connFDs)
	}
	return int(min(uint64(conns), (l.Cur-reservedFDs)/connFDs)), nil
}
