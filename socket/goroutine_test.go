package socket_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// TestHTTP runs net/http, server and client, on netco's listener and
// connections. It knows nothing of coroutines, starts goroutines of its own,
// reads and writes one connection from several, and ends reads by deadlines in
// the past.
func TestHTTP(t *testing.T) {
	start(t, 2)
	l, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hijack" {
				c, _, err := http.NewResponseController(w).Hijack()
				if err == nil {
					io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nmine now")
					c.Close()
				}
				return
			}
			// Without it the server takes the body away when the answer begins,
			// which with a connection that has ReadFrom, net's or ours, is
			// after 512 bytes.
			http.NewResponseController(w).EnableFullDuplex()
			io.Copy(w, r.Body)
		}),
		ReadTimeout: limit, WriteTimeout: limit, IdleTimeout: limit,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	transport := &http.Transport{DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
		return netco.Dial(network, address)
	}}
	client := &http.Client{Transport: transport, Timeout: limit}

	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for _, size := range []int{0, 1, 1000, 300 << 10} {
				body := pattern(size + i)
				resp, err := client.Post("http://"+l.Addr().String(), "application/octet-stream", bytes.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || !bytes.Equal(got, body) {
					t.Errorf("%d bytes came back of %d, %v", len(got), len(body), err)
				}
			}
		})
	}
	wg.Wait()
	resp := testenv.Must(client.Get("http://" + l.Addr().String() + "/hijack"))
	got, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(got) != "mine now" || err != nil {
		t.Errorf("hijacked: %q, %v", got, err)
	}
	transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := testenv.Await(t, served, "Serve to return"); err != http.ErrServerClosed {
		t.Error(err)
	}
	testenv.Until(t, "all connections to close", func() bool { return socket.Open() == 0 })
}

// TestGoroutinesOnly: with no Scheduler running, ordinary goroutines wait all
// the same, and start none.
func TestGoroutinesOnly(t *testing.T) {
	a, b := pair(t)
	server := testrun.Goroutine.Go(func() { echo(b) })
	server.UntilParked(t, coroutine.ReasonRead) // or all might be there whenever somebody looks
	if err := roundTrip(testrun.Goroutine, a, 100<<10); err != nil {
		t.Error(err)
	}
	a.Close()
	server.Wait(t)
	if err := netco.Start(netco.Options{}); err != nil {
		t.Errorf("Start: %v", err)
	}
	netco.Shutdown(context.Background())
}

// TestHandedOver: a connection goes back and forth between coroutines of two
// Processors and goroutines; each writes and reads in its turn. The first to
// wait decides which Processor watches the fd.
func TestHandedOver(t *testing.T) {
	for _, first := range testrun.Places {
		t.Run("first "+first.Name, func(t *testing.T) {
			start(t, 2)
			a, b := pair(t)
			server := testrun.First.Go(func() { echo(b) })
			turn := func(i int) func() {
				return func() {
					msg := fmt.Appendf(nil, "message %d", i)
					if _, err := a.Write(msg); err != nil {
						t.Error(err)
					}
					got := make([]byte, len(msg))
					if _, err := io.ReadFull(a, got); err != nil || !bytes.Equal(got, msg) {
						t.Errorf("turn %d: %q, %v", i, got, err)
					}
				}
			}
			first.Go(turn(0)).Wait(t)
			for i := range 30 {
				p := testrun.Places[i%len(testrun.Places)]
				p.Do(t, func() {
					if here := processor.Here(); here != nil && here.Index() != i%len(testrun.Places) {
						t.Errorf("turn %d on Processor %d", i, here.Index())
					}
					turn(i + 1)()
				})
			}
			a.Close()
			server.Wait(t)
		})
	}
}

// TestFacadeNil: the facade's errors come with a nil interface, not with a nil
// pointer in one.
func TestFacadeNil(t *testing.T) {
	start(t, 1)
	if l, err := netco.Listen("tcp", "127.0.0.1:99999"); l != nil || err == nil {
		t.Errorf("Listen: %v, %v", l, err)
	}
	if c, err := netco.Dial("tcp", testenv.ClosedPort(t)); c != nil || err == nil {
		t.Errorf("Dial: %v, %v", c, err)
	}
	l := listen(t)
	l.SetDeadline(time.Unix(1, 0))
	if c, err := net.Listener(l).Accept(); c != nil || err == nil {
		t.Errorf("Accept: %v, %v", c, err)
	}
}
