package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestAttacks: a server with limits ends each of them, unless it takes what is
// sent.
func TestAttacks(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	s := http.Server{ErrorLog: log.New(io.Discard, "", 0), Protocols: p, ReadTimeout: time.Second, WriteTimeout: time.Second}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		for r.URL.Path == "/file" {
			if _, err := fmt.Fprintf(w, "%65536d", 0); err != nil {
				return
			}
		}
	})
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	for name, a := range attacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if all, err := a.run(ln.Addr().String()); err != nil || all && a.parts == 0 {
				t.Error(all, err)
			}
		})
	}
}
