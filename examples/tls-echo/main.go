// Command tls-echo sends back over TLS what it is sent: package netco/tls, with
// a coroutine for each connection.
//
//	go run ./examples/tls-echo -addr 127.0.0.1:7443 \
//		-cert server.pem -key server.key
//	openssl s_client -quiet -connect 127.0.0.1:7443
//
// Without -cert it makes a certificate for localhost that is good for a day,
// and writes it to the file that -ca names.
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
	"github.com/netco-go/netco/tls"
)

type config struct {
	addr, cert, key, ca   string
	processors            int
	handshake, idle, late time.Duration
}

func main() {
	var c config
	flag.StringVar(&c.addr, "addr", "127.0.0.1:7443", "address to listen on")
	flag.StringVar(&c.cert, "cert", "", "certificate `file`, PEM")
	flag.StringVar(&c.key, "key", "", "its key's `file`, PEM")
	flag.StringVar(&c.ca, "ca", "", "write the certificate that is made to this `file`")
	flag.IntVar(&c.processors, "processors", 0, "number of Processors; 0 is one for each CPU")
	flag.DurationVar(&c.handshake, "handshake", 10*time.Second, "how long a handshake may take")
	flag.DurationVar(&c.idle, "idle", 5*time.Minute, "how long a connection may be silent")
	flag.DurationVar(&c.late, "grace", 5*time.Second, "how long connections get to end by "+
		"themselves")
	flag.Parse()
	if err := run(c); err != nil {
		fmt.Fprintln(os.Stderr, "tls-echo:", err)
		os.Exit(1)
	}
}

func run(c config) error {
	cert, err := certificate(c)
	if err != nil {
		return err
	}
	if err := netco.Start(netco.Options{Processors: c.processors}); err != nil {
		return err
	}
	raw, err := netco.Listen("tcp", c.addr)
	if err != nil {
		return err
	}
	limits := &tls.Limits{HandshakeTimeout: c.handshake}
	ln := limits.NewListener(raw, &tls.Config{Certificates: []tls.Certificate{cert}})
	signals := make(chan os.Signal, 1)
	// Before any client is answered, so that a signal ends it in order.
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	fmt.Println("listening on", ln.Addr())
	accepting, err := netco.GoWith(netco.Spawn{Name: "accept", Fn: func() {
		netco.Serve(ln, c.echo)
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
	ctx, cancel := context.WithTimeout(context.Background(), c.late)
	defer cancel()
	if err := netco.Shutdown(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// echo serves one connection. Its first Read shakes hands, which costs a
// Processor about a millisecond of computing.
func (c config) echo(conn net.Conn) {
	defer conn.Close() // sends close_notify, too
	buf := make([]byte, 16<<10)
	for {
		conn.SetDeadline(time.Now().Add(c.idle))
		n, err := conn.Read(buf)
		if err != nil { // also the peer's close_notify
			return
		}
		if _, err := conn.Write(buf[:n]); err != nil {
			return
		}
	}
}
