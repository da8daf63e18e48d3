// Command redis is a small server that speaks redis's protocol, RESP2: strings
// with a time to live, in memory. It shows socket.Buffered at work: requests
// are parsed where they were read, answers are built where they are sent from,
// and a batch of pipelined requests costs one read and one write. SIGINT or
// SIGTERM ends it: it stops accepting, gives connections -grace to end, and
// exits with 0.
//
//	request.go   a request's parts, found in place; inline.go the same for
//	             typed lines
//	client.go    one connection: batches in, answers out
//	commands.go  what can be asked; strings.go and keys.go do it
//	store.go     keys and values, and expire.go their end
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
	addr := flag.String("addr", "127.0.0.1:6379", "`address` to listen on")
	processors := flag.Int("processors", 0, "Processors, which run coroutines; 0: one for each CPU")
	grace := flag.Duration("grace", time.Second, "how long connections get to end by themselves")
	flag.Parse()
	if err := run(*addr, *processors, *grace); err != nil {
		fmt.Fprintln(os.Stderr, "redis:", err)
		os.Exit(1)
	}
}

func run(addr string, processors int, grace time.Duration) error {
	signals := make(chan os.Signal, 1)
	// Before any client is answered, so that a signal ends it in order.
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if err := netco.Start(netco.Options{Processors: processors}); err != nil {
		return err
	}
	ln, err := netco.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("listening on", ln.Addr())
	s := newServer(processors)
	accepting, err := netco.GoWith(netco.Spawn{Name: "accept", Fn: func() {
		s.accept(ln.(*socket.TCPListener))
	}})
	if err != nil {
		return err
	}
	if _, err := netco.GoWith(netco.Spawn{Name: "expire", Fn: s.expire}); err != nil {
		return err
	}

	<-signals
	signal.Stop(signals) // the next one ends the process at once
	ln.Close()
	if err := accepting.Join(); err != nil {
		return err
	}
	s.ending.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := netco.Shutdown(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
