// Command echosvr is libco's example of that name: an echo server with a fixed
// number of coroutines. Each accepts a connection, echoes until it ends, and
// accepts the next one. So no connection is handed over and no list says which
// coroutine is free, and clients beyond -tasks wait in the kernel's queue until
// one is. SIGINT or SIGTERM ends it with exit code 0.
//
// Where libco starts processes, this has Processors: threads, with memory in
// common. Without a limit a server is shorter still: examples/echo.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/netco-go/netco"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:7000", "`address` to listen on")
	tasks := flag.Int("tasks", 100, "coroutines on each Processor: how many connections it "+
		"serves at once")
	processors := flag.Int("processors", runtime.GOMAXPROCS(0), "Processors, which run coroutines")
	grace := flag.Duration("grace", 5*time.Second, "how long connections get to end by themselves")
	flag.Parse()
	if err := run(*addr, *tasks, *processors, *grace); err != nil {
		fmt.Fprintln(os.Stderr, "echosvr:", err)
		os.Exit(1)
	}
}

func run(addr string, tasks, processors int, grace time.Duration) error {
	if tasks < 1 || processors < 1 {
		return fmt.Errorf("-tasks %d -processors %d: want at least 1 of each", tasks, processors)
	}
	if err := netco.Start(netco.Options{Processors: processors}); err != nil {
		return err
	}
	ln, err := netco.Listen("tcp", addr)
	if err != nil {
		return err
	}
	for i := range tasks * processors {
		if _, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % processors), Fn: func() {
			serve(ln)
		}}); err != nil {
			return err
		}
	}
	signals := make(chan os.Signal, 1)
	// Before any client is answered, so that a signal ends it in order.
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	fmt.Println("listening on", ln.Addr())
	<-signals
	signal.Stop(signals) // the next one ends the process at once
	ln.Close()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := netco.Shutdown(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// serve is one of the coroutines: it has one connection at a time, and a buffer
// only while there is something in it.
func serve(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		io.Copy(c, c)
		c.Close()
	}
}
