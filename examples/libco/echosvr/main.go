// Command echosvr is libco's example of that name: an echo server with a fixed
// number of coroutines. Each accepts a connection, echoes until it ends, and
// accepts the next one. So no connection is handed over and no list says which
// coroutine is free, and clients beyond -tasks wait in the kernel's queue until
// one is. SIGINT or SIGTERM ends it; connections that are
// open after -grace are ended by force.
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
	"runtime"
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
	os.Exit(netco.Main(func(context.Context) error {
		ln, err := netco.Listen("tcp", *addr)
		if err != nil {
			return err
		}
		fmt.Println("listening on", ln.Addr())
		for i := range *tasks * *processors {
			spawn := netco.Spawn{On: netco.OnProcessor(i % *processors), Fn: func() { serve(ln) }}
			if _, err := netco.GoWith(spawn); err != nil {
				return err
			}
		}
		return nil
	}, netco.MainOptions{Options: netco.Options{Processors: *processors}, Grace: *grace}))
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
