// Command http is an API server: notes in a database, as JSON, a page that
// shows new ones as they come, metrics, and an end that loses nothing.
//
//	go run ./examples/http -addr 127.0.0.1:8080 -db notes.db
//	curl -d '{"text":"hello"}' http://127.0.0.1:8080/notes
//	curl http://127.0.0.1:8080/notes
//	xdg-open http://127.0.0.1:8080/
//
// It is a daemon as one writes it with net/http, ServeMux and database/sql. Of
// netco are the import of net/http, which has each handler run in a coroutine,
// and netco.Main. A connection that waits for its next request holds neither a
// coroutine nor a buffer.
//
//	main.go    flags, routes, start and end
//	access.go  a log of the requests, on stderr
//	notes.go   the notes: their table and their handlers
//	live.go    the WebSocket of page.html, which shows new notes
//
// engines/ has the servers of docs/bench: fasthttp in coroutines, and net/http.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/logging"
	"github.com/netco-go/netco/metrics"
	"github.com/netco-go/netco/net/http"
)

// maxBody is how long the body of a request may be.
const maxBody = 64 << 10

//go:embed page.html
var page []byte

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	db := flag.String("db", "file::memory:", "file of the database")
	grace := flag.Duration("grace", 5*time.Second, "how long requests under way get to end")
	timeout := flag.Duration("timeout", 10*time.Second,
		"how long a request may take to come in, and an answer to go out")
	flag.Parse()
	os.Exit(run(*addr, *db, *grace, *timeout))
}

func run(addr, db string, grace, timeout time.Duration) int {
	log, err := logging.New(zap.InfoLevel)
	var notes *notes
	if err == nil {
		notes, err = open(db)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "http:", err)
		return netco.ExitFailed
	}
	defer notes.db.Close() // no handler runs any more
	return netco.Main(func(context.Context) error {
		return serve(notes, log, addr, timeout)
	}, netco.MainOptions{
		Options:  netco.Options{OnPanic: netco.KeepServing, Logger: log},
		Grace:    grace,
		Draining: func(error) { notes.live.close() },
	})
}

// serve serves until a signal ends the server, as netco.Main does by itself.
func serve(n *notes, log *zap.Logger, addr string, timeout time.Duration) error {
	mux, err := routes(n)
	if err != nil {
		return err
	}
	s := &http.Server{
		Handler:           http.MaxBytesHandler(accessLog(mux, log), maxBody),
		ReadHeaderTimeout: timeout,
		ReadTimeout:       timeout,
		WriteTimeout:      timeout,
		IdleTimeout:       2 * time.Minute,
	}
	ln, err := netco.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("listening on", ln.Addr())
	if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// routes returns all handlers.
func routes(n *notes) (*http.ServeMux, error) {
	registry := prometheus.NewRegistry()
	sched, err := netco.Default()
	if err == nil {
		err = metrics.Register(registry, sched)
	}
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page)
	})
	mux.HandleFunc("GET /notes", n.list)
	mux.HandleFunc("POST /notes", n.add)
	mux.HandleFunc("GET /notes/{id}", n.get)
	mux.HandleFunc("DELETE /notes/{id}", n.remove)
	mux.HandleFunc("GET /live", n.live.serve)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux, nil
}
