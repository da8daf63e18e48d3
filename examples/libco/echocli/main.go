// Command echocli is libco's example of that name: a client that loads an echo
// server. Each of -conns coroutines connects, sends a message, reads the
// answer, and so on; after an error, or an answer that takes too long, it
// connects anew. What was answered and what failed is printed every second. It
// ends after -duration, or on SIGINT or SIGTERM; with exit code 1 if nothing
// was answered.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

var (
	addr     = flag.String("addr", "127.0.0.1:7000", "`address` of the server")
	conns    = flag.Int("conns", 100, "connections, a coroutine each")
	duration = flag.Duration("duration", 0, "how long to go on; 0: until it is told to end")
	every    = flag.Duration("every", time.Second, "how often to print")
	timeout  = flag.Duration("timeout", time.Second, "how long a connect or an answer may take")
)

var connected, answered, failed atomic.Int64

func main() {
	flag.Parse()
	if err := run(); err != nil {
		log.Fatal("echocli: ", err)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if *duration > 0 {
		ctx, stop = context.WithTimeout(ctx, *duration)
		defer stop()
	}
	for range *conns {
		if _, err := netco.Go(client); err != nil {
			return err
		}
	}
	began := time.Now()
	watch(ctx)
	netco.Shutdown(ctx) // which is over: what waits returns ErrShutdown at once
	report("all", answered.Load(), failed.Load(), time.Since(began))
	if answered.Load() == 0 {
		return errors.New("nothing was answered")
	}
	return nil
}

// watch prints until the end. It runs on the main goroutine, so it may use
// channels and select.
func watch(ctx context.Context) {
	tick := time.Tick(*every)
	for a, f := int64(0), int64(0); ; {
		select {
		case <-tick:
			wasA, wasF := a, f
			a, f = answered.Load(), failed.Load()
			report("now", a-wasA, f-wasF, *every)
		case <-ctx.Done():
			return
		}
	}
}

func report(what string, answered, failed int64, took time.Duration) {
	fmt.Printf("%s: %d connected, %d answered, %d failed, %.0f requests/s\n",
		what, connected.Load(), answered, failed, float64(answered)/took.Seconds())
}

// client is one connection after the other.
func client() {
	message, answer := []byte("8 bytes."), make([]byte, 8)
	for {
		c, err := (&socket.Dialer{Timeout: *timeout}).Dial("tcp", *addr)
		if err == nil {
			connected.Add(1)
			err = talk(c, message, answer)
			connected.Add(-1)
			c.Close()
		}
		if errors.Is(err, netco.ErrShutdown) {
			return
		}
		failed.Add(1)
		netco.Sleep(100 * time.Millisecond)
	}
}

// talk asks until something fails.
func talk(c net.Conn, message, answer []byte) error {
	for {
		c.SetDeadline(time.Now().Add(*timeout))
		if _, err := c.Write(message); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, answer); err != nil {
			return err
		}
		answered.Add(1)
	}
}
