// Command redis is a small server that speaks redis's protocol, RESP2: strings
// with a time to live, in memory. It shows socket.Buffered at work: requests
// are parsed where they were read, answers are built where they are sent from,
// and a batch of pipelined requests costs one read and one write. SIGINT or
// SIGTERM ends it: it stops accepting, ends connections that wait for a
// request, and gives the others -grace.
//
//	request.go   a request's parts, found in place
//	client.go    one connection: batches in, answers out
//	commands.go  what can be asked
//	store.go     keys and values, and their end
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:6379", "`address` to listen on")
	processors := flag.Int("processors", 0, "Processors, which run coroutines; 0: one for each CPU")
	grace := flag.Duration("grace", time.Second, "how long connections get to end by themselves")
	flag.Parse()
	os.Exit(netco.Main(func(ctx context.Context) error {
		ln, err := netco.Listen("tcp", *addr)
		if err != nil {
			return err
		}
		fmt.Println("listening on", ln.Addr())
		return newStore().serve(ctx, ln)
	}, netco.MainOptions{Options: netco.Options{Processors: *processors}, Grace: *grace}))
}

// serve starts a coroutine for each connection until ctx ends.
func (s *store) serve(ctx context.Context, ln net.Listener) error {
	if _, err := netco.Go(func() { s.expireAll(ctx) }); err != nil {
		return err
	}
	return netco.Serve(ln, func(c net.Conn) { newClient(s, c.(socket.Stream)).serve() })
}

// expireAll is the coroutine that ends keys that are not asked for.
func (s *store) expireAll(ctx context.Context) {
	for ctx.Err() == nil {
		if s.expire() {
			netco.Yield()
		} else {
			netco.Sleep(100 * time.Millisecond)
		}
	}
}
