// Command udp-echo is a UDP echo daemon written for speed: a socket for each
// Processor on one port (SO_REUSEPORT), read and answered in batches by one
// coroutine there, so that no datagram changes threads. SIGINT or SIGTERM ends
// it with exit code 0.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/examples/internal/reports"
	"github.com/netco-go/netco/socket"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:7000", "`address` to listen on")
	processors := flag.Int("processors", 0, "Processors, which run coroutines, and sockets; 0: "+
		"one for each CPU")
	size := flag.Int("size", 2048, "`bytes` of the largest datagram; what is larger is cut off")
	gro := flag.Bool("gro", false, "let the kernel join datagrams; sets -size to 64 KiB")
	flag.Parse()
	if err := run(*addr, *processors, *size, *gro); err != nil {
		fmt.Fprintln(os.Stderr, "udp-echo:", err)
		os.Exit(1)
	}
}

func run(addr string, processors, size int, gro bool) error {
	if size < 1 {
		return fmt.Errorf("-size %d: want at least 1", size)
	}
	if processors == 0 {
		processors = runtime.GOMAXPROCS(0)
	}
	if err := netco.Start(netco.Options{Processors: processors}); err != nil {
		return err
	}
	conns, err := socket.ListenUDPReusePort("udp", addr, processors)
	if err != nil {
		return err
	}
	if gro {
		size = 64 << 10
	}
	for i, c := range conns {
		if gro {
			if err := c.SetGRO(true); err != nil {
				return err
			}
		}
		if _, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(i), Fn: func() {
			serve(c, size)
		}}); err != nil {
			return err
		}
	}
	signals := make(chan os.Signal, 1)
	// Before any client is answered, so that a signal ends it in order.
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	fmt.Println("listening on", conns[0].LocalAddr())
	<-signals
	signal.Stop(signals) // the next one ends the process at once
	for _, c := range conns {
		c.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return netco.Shutdown(ctx)
}

// said is what the coroutines of all sockets have to report.
var said = reports.Reports{Program: "udp-echo"}

// batch is how many datagrams a call takes at most.
const batch = 32

// serve sends back what it reads until the socket is closed. The batch's memory
// is made once.
func serve(c *socket.UDPConn, size int) {
	in, out := make([]socket.Message, batch), make([]socket.Message, batch)
	for i := range in {
		in[i].Buf = make([]byte, size)
	}
	for {
		n, err := c.ReadBatch(in)
		if err != nil {
			said.Report(fmt.Errorf("reading: %w", err))
			return
		}
		for i := range n {
			m := &in[i]
			out[i] = socket.Message{Buf: m.Buf[:m.N], Addr: m.Addr, SegmentSize: m.SegmentSize}
		}
		for answers := out[:n]; len(answers) > 0; {
			sent, err := c.WriteBatch(answers)
			if errors.Is(err, net.ErrClosed) || errors.Is(err, netco.ErrShutdown) {
				return
			}
			if err != nil {
				said.Report(fmt.Errorf("answering: %w", err))
				sent++ // its sender gets none
			}
			answers = answers[sent:]
		}
	}
}
