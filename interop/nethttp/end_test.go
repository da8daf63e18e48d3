package nethttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/interop/internal/place"
)

// TestCancellation: a request that its client gives up ends with the context's error, and the handler's context ends too.
func TestCancellation(t *testing.T) {
	begun, gone := make(chan struct{}, 1), make(chan struct{}, 1)
	hang := func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
		panic(http.ErrAbortHandler) // or the answer may reach the client between the two steps of its Close of a tls.Conn
	}
	each(t, hang, func(t *testing.T, s *site, w place.Way) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			<-begun
			cancel()
		}()
		err := w.Run(func() error {
			req, err := http.NewRequestWithContext(ctx, "GET", s.url, nil)
			if err != nil {
				return err
			}
			if _, err = s.client.Do(req); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("Do: %v", err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		<-gone
	})
}

// TestShutdown: Server.Shutdown lets the request under way finish and closes what is idle.
func TestShutdown(t *testing.T) {
	begun, finish := make(chan struct{}, 1), make(chan struct{}, 1)
	slow := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			begun <- struct{}{}
			<-finish
		}
		io.WriteString(w, "done")
	}
	each(t, slow, func(t *testing.T, s *site, w place.Way) {
		if err := w.Run(func() error {
			_, err := s.call("GET", "/", nil)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		go func() {
			answered <- w.Run(func() error {
				got, err := s.call("GET", "/slow", nil)
				if err == nil && got != "done" {
					err = fmt.Errorf("answered %q", got)
				}
				return err
			})
		}()
		<-begun
		down := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), place.Limit)
			defer cancel()
			down <- s.server.Shutdown(ctx)
		}()
		if err := <-s.ended; err != http.ErrServerClosed {
			t.Errorf("Serve: %v", err)
		}
		finish <- struct{}{}
		if err := errors.Join(<-answered, <-down); err != nil {
			t.Error(err)
		}
		if got, err := s.call("GET", "/", nil); err == nil {
			t.Errorf("after Shutdown: answered %q", got)
		}
	})
}

// TestSlowClient: a server's timeout ends a connection on which no request comes.
func TestSlowClient(t *testing.T) {
	place.Each(t, func(t *testing.T, p place.Place) {
		s := start(t, "http", func(http.ResponseWriter, *http.Request) {},
			func(s *http.Server) { s.ReadHeaderTimeout = 20 * time.Millisecond })
		p.Do(t, func() error {
			c, err := netco.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost:"); err != nil {
				return err
			}
			_, err = io.ReadAll(c)
			return err
		})
	})
}
