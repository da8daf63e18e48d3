// Command tls-echo sends back over TLS what it is sent: crypto/tls on netco's
// connections, with a coroutine for each.
//
//	go run ./examples/tls-echo -addr 127.0.0.1:7443 \
//		-cert server.pem -key server.key
//	openssl s_client -quiet -connect 127.0.0.1:7443
//
// Without -cert it makes a certificate for localhost that is good for a day,
// and writes it to the file that -ca names.
//
// crypto/tls holds a lock of its own while it writes, and a sync.Mutex holds up
// a Processor. So one coroutine both reads and writes each connection, as here;
// where two do, they belong on different Processors, and a write deadline
// belongs on the connection.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/netco-go/netco"
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
	ln, err := netco.Listen("tcp", c.addr)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	// Before any client is answered, so that a signal ends it in order.
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	fmt.Println("listening on", ln.Addr())
	tc := &tls.Config{Certificates: []tls.Certificate{cert}}
	accepting, err := netco.GoNamed("accept", func() {
		for {
			raw, err := ln.Accept()
			if err != nil {
				return
			}
			if _, err := netco.Go(func() { c.echo(raw, tls.Server(raw, tc)) }); err != nil {
				raw.Close()
			}
		}
	})
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

// echo serves one connection. A handshake costs a Processor about a millisecond
// of computing.
func (c config) echo(raw net.Conn, t *tls.Conn) {
	defer raw.Close() // not t: its Close may wait to notify the peer
	raw.SetDeadline(time.Now().Add(c.handshake))
	if err := t.Handshake(); err != nil {
		return
	}
	buf := make([]byte, 16<<10)
	for {
		raw.SetDeadline(time.Now().Add(c.idle))
		n, err := t.Read(buf)
		if err != nil { // also the peer's close_notify
			t.CloseWrite()
			return
		}
		if _, err := t.Write(buf[:n]); err != nil {
			return
		}
	}
}
