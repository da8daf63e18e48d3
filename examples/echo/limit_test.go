package main

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"github.com/netco-go/netco"
)

// TestNoCoroutineLeft: a connection whose coroutine cannot be started is
// closed. It stayed open, unserved, for as long as the process lived: 81 fds at
// MaxCoroutines 20.
func TestNoCoroutineLeft(t *testing.T) {
	const coroutines, conns = 5, 20
	if err := netco.Start(netco.Options{Processors: 1, MaxCoroutines: coroutines}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := netco.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	}()
	ln, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if _, err := netco.Go(func() { netco.Serve(ln, serve) }); err != nil {
		t.Fatal(err)
	}
	served := 0
	for range conns {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(20 * time.Second))
		c.Write([]byte("x"))
		switch n, err := c.Read(make([]byte, 1)); {
		case n == 1:
			served++
		case os.IsTimeout(err):
			t.Fatalf("after %d that were served: neither an answer nor an end", served)
		}
	}
	if served != coroutines-1 {
		t.Errorf("%d are served, want %d", served, coroutines-1)
	}
}
