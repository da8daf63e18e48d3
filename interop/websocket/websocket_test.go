// Package websocket hands netco's connections to libraries for WebSocket.
package websocket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	coder "github.com/coder/websocket"
	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	gorilla "github.com/gorilla/websocket"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/interop/internal/place"
	"github.com/netco-go/netco/socket"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const messages = 50

// TestGobwas: server and clients are coroutines, and none blocks.
func TestGobwas(t *testing.T) {
	for _, p := range []place.Place{place.OneProcessor, place.Coroutine} {
		t.Run(p.Name, func(t *testing.T) {
			place.Start(t, p.Processors)
			ln := listen(t)
			serving := p.Go(func() error { serveGobwas(ln); return nil })
			if err := p.All(4,
				func(int) error { return gobwasClient(ln.Addr().String()) }); err != nil {
				t.Error(err)
			}
			ln.Close()
			serving()
			native(t)
		})
	}
}

// native checks that no coroutine has waited for a goroutine: in a channel or a
// lock of Go's, or by its poller.
func native(t *testing.T) {
	t.Helper()
	s, err := netco.Default()
	if err != nil {
		t.Fatal(err)
	}
	waits := []string{"channel", "mutex", "wait",
		"sleep", "io"}
	for _, h := range s.Handoffs() {
		if slices.Contains(waits, h.Cause) {
			t.Errorf("handed on: %+v", h)
		}
	}
	for _, stall := range s.Stalls() {
		if slices.Contains(waits, stall.Cause) {
			t.Errorf("stalled: %+v", stall)
		}
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// serveGobwas echoes messages until ln is closed.
func serveGobwas(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		if _, err := netco.Go(func() { defer c.Close(); echo(c) }); err != nil {
			c.Close()
		}
	}
}

func echo(c net.Conn) { // in a coroutine; c from netco.Listen
	if _, err := ws.Upgrade(c); err != nil {
		return
	}
	for {
		text, op, err := wsutil.ReadClientData(c)
		if err != nil || wsutil.WriteServerMessage(c, op, text) != nil {
			return
		}
	}
}

// TestPage: the servers in docs/INTEROP.md are those here.
func TestPage(t *testing.T) {
	for _, name := range []string{"echo", "handOver"} {
		var texts []string
		for _, file := range []string{"../../docs/INTEROP.md", "websocket_test.go"} {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(text), "\nfunc "+name+"(")
			body, _, found := strings.Cut(rest, "\n}\n")
			if !found {
				t.Fatalf("%s has no func %s", file, name)
			}
			texts = append(texts, body)
		}
		if texts[0] != texts[1] {
			t.Errorf("the page has\n%s\nwant\n%s", texts[0], texts[1])
		}
	}
}

func gobwasClient(address string) error {
	d := ws.Dialer{NetDial: new(socket.Dialer).DialContext}
	c, _, _, err := d.Dial(context.Background(), "ws://"+address)
	if err != nil {
		return err
	}
	defer c.Close()
	for i := range messages {
		want := fmt.Sprint("message ", i)
		if err := wsutil.WriteClientMessage(c, ws.OpText, []byte(want)); err != nil {
			return err
		}
		got, _, err := wsutil.ReadServerData(c)
		if err != nil || string(got) != want {
			return fmt.Errorf("answer %q, %w", got, err)
		}
	}
	return nil
}

// TestOverHTTP: servers that net/http upgrades are its goroutines, unless the
// connection is handed to a coroutine. Clients may be coroutines.
func TestOverHTTP(t *testing.T) {
	for _, c := range []struct {
		name   string
		serve  http.HandlerFunc
		client func(address string) error
		native bool // the client waits for no goroutine
	}{
		{"gorilla", echoGorilla, gorillaClient, true},
		{"gorilla, handed to a coroutine", handOver, gorillaClient, true},
		{"coder", echoCoder, coderClient, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			place.EachWay(t, place.Every, func(t *testing.T, w place.Way) {
				ln := listen(t)
				server := &http.Server{Handler: c.serve}
				ended := make(chan error, 1)
				go func() { ended <- server.Serve(ln) }()
				if err := w.All(4,
					func(int) error { return c.client(ln.Addr().String()) }); err != nil {
					t.Error(err)
				}
				if c.native {
					native(t)
				}
				server.Close()
				if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			})
		})
	}
}

func handOver(w http.ResponseWriter, r *http.Request) { // the server's listener is netco's
	var u gorilla.Upgrader
	c, err := u.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	if _, err := netco.Go(func() { echoMessages(c) }); err != nil {
		c.Close()
	}
}

func echoGorilla(w http.ResponseWriter, r *http.Request) {
	var u gorilla.Upgrader
	c, err := u.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	echoMessages(c)
}

func echoMessages(c *gorilla.Conn) {
	defer c.Close()
	for {
		kind, text, err := c.ReadMessage()
		if err != nil || c.WriteMessage(kind, text) != nil {
			return
		}
	}
}

func gorillaClient(address string) error {
	d := gorilla.Dialer{NetDialContext: new(socket.Dialer).DialContext}
	c, _, err := d.DialContext(context.Background(), "ws://"+address, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	for i := range messages {
		want := fmt.Sprint("message ", i)
		if err := c.WriteMessage(gorilla.TextMessage, []byte(want)); err != nil {
			return err
		}
		_, got, err := c.ReadMessage()
		if err != nil || string(got) != want {
			return fmt.Errorf("answer %q, %w", got, err)
		}
	}
	return nil
}

func echoCoder(w http.ResponseWriter, r *http.Request) {
	c, err := coder.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer c.CloseNow()
	for {
		kind, text, err := c.Read(r.Context())
		if err != nil || c.Write(r.Context(), kind, text) != nil {
			return
		}
	}
}

func coderClient(address string) error {
	transport := &http.Transport{DialContext: new(socket.Dialer).DialContext}
	defer transport.CloseIdleConnections()
	ctx := context.Background()
	c, _, err := coder.Dial(ctx, "ws://"+address, &coder.DialOptions{
		HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		return err
	}
	defer c.CloseNow()
	for i := range messages {
		want := fmt.Sprint("message ", i)
		if err := c.Write(ctx, coder.MessageText, []byte(want)); err != nil {
			return err
		}
		_, got, err := c.Read(ctx)
		if err != nil || string(got) != want {
			return fmt.Errorf("answer %q, %w", got, err)
		}
	}
	return nil
}
