// Command handlers is a server of http.Handlers, on net/http or on netco's: the
// same handlers, ServeMux and files. On fasthttp it has a hello only.
// handlers.sh loads it.
//
//	handlers -engine netco|std|fast [-addr ADDRESS] [-processors n] [-tls] [-limit TIME]
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	stdtls "crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	stdhttp "net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/gorilla/websocket"
	"github.com/valyala/fasthttp"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/net/http"
)

// order is what POST /json takes and returns, some 1 KiB.
type order struct {
	ID    int      `json:"id"`
	Name  string   `json:"name"`
	Lines []string `json:"lines"`
}

// shop answers an order with the shop's name in it.
func shop(w http.ResponseWriter, r *http.Request) {
	var o order
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o.Name = r.PathValue("shop")
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(o)
}

var upgrader websocket.Upgrader

// websockets sends messages back.
func websockets(w http.ResponseWriter, r *http.Request) {
	c, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // it has answered
	}
	defer c.Close()
	for {
		kind, text, err := c.ReadMessage()
		if err != nil || c.WriteMessage(kind, text) != nil {
			return
		}
	}
}

func mux(file string) http.Handler {
	m, db := http.NewServeMux(), openSlow()
	m.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello, world\n")
	})
	m.HandleFunc("POST /json/{shop}", shop)
	router := chi.NewRouter()
	router.Post("/chi/{shop}", shop)
	m.Handle("/chi/", router)
	m.HandleFunc("GET /ws", websockets)
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
	engine := flag.String("engine", "netco", "netco, std or fast")
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen")
	processors := flag.Int("processors", 1, "of netco")
	secure := flag.Bool("tls", false, "with TLS, and a certificate of its own")
	limit := flag.Duration("limit", 0, "how long a request may take; then HTTP/2 is spoken without TLS, too")
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
	var config *stdtls.Config
	if *secure {
		config = selfSigned()
	}
	var protocols *http.Protocols
	if *limit > 0 {
		protocols = new(http.Protocols)
		protocols.SetHTTP1(true)
		protocols.SetUnencryptedHTTP2(true)
	}
	quiet := log.New(io.Discard, "", 0)
	switch *engine {
	case "fast":
		fail(fasthttp.ListenAndServe(*addr, func(ctx *fasthttp.RequestCtx) {
			ctx.WriteString("hello, world\n")
		}))
	case "std":
		s := stdhttp.Server{Addr: *addr, Handler: mux(file), TLSConfig: config, ReadTimeout: *limit,
			WriteTimeout: *limit, Protocols: protocols, ErrorLog: quiet}
		if *secure {
			fail(s.ListenAndServeTLS("", ""))
		}
		fail(s.ListenAndServe())
	}
	os.Exit(netco.Main(func(context.Context) error {
		s := http.Server{Addr: *addr, Handler: mux(file), TLSConfig: config, ReadTimeout: *limit,
			WriteTimeout: *limit, Protocols: protocols, ErrorLog: quiet}
		if *secure {
			return s.ListenAndServeTLS("", "")
		}
		return s.ListenAndServe()
	}, netco.MainOptions{Options: netco.Options{Processors: *processors}}))
}

// selfSigned returns a configuration of HTTP/1.1 that no client believes.
func selfSigned() *stdtls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		fail(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		fail(err)
	}
	return &stdtls.Config{
		Certificates: []stdtls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		NextProtos:   []string{"http/1.1"},
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "handlers:", err)
	os.Exit(1)
}
