// Command handlers is a server of http.Handlers, on net/http or on netco's: the
// same handlers, ServeMux and files. handlers.sh loads it.
//
//	handlers -engine netco|std [-addr ADDRESS] [-processors n]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	stdnet "net"
	stdhttp "net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/net/http"
)

// order is what POST /json takes and returns, some 1 KiB.
type order struct {
	ID    int      `json:"id"`
	Name  string   `json:"name"`
	Lines []string `json:"lines"`
}

func mux(file string) http.Handler {
	m, db := http.NewServeMux(), openSlow()
	m.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello, world\n")
	})
	m.HandleFunc("POST /json/{shop}", func(w http.ResponseWriter, r *http.Request) {
		var o order
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		o.Name = r.PathValue("shop")
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(o)
	})
	m.HandleFunc("GET /done", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		default:
			io.WriteString(w, "hello, world\n")
		}
	})
	m.HandleFunc("GET /sql", func(w http.ResponseWriter, r *http.Request) {
		var n int
		if err := db.QueryRowContext(r.Context(), "select 1").Scan(&n); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, n)
	})
	m.HandleFunc("GET /file", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, file)
	})
	return m
}

func main() {
	engine := flag.String("engine", "netco", "netco or std")
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen")
	processors := flag.Int("processors", 1, "of netco")
	flag.Parse()
	dir, err := os.MkdirTemp("", "handlers")
	if err != nil {
		fail(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte(strings.Repeat("0123456789abcdef", 1<<16)), 0o600); err != nil {
		fail(err)
	}
	if *engine == "std" {
		l, err := stdnet.Listen("tcp", *addr)
		if err != nil {
			fail(err)
		}
		fail(stdhttp.Serve(l, mux(file)))
	}
	os.Exit(netco.Main(func(context.Context) error {
		return http.ListenAndServe(*addr, mux(file))
	}, netco.MainOptions{Options: netco.Options{Processors: *processors}}))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "handlers:", err)
	os.Exit(1)
}
