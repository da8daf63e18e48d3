// An http.Server on a listener, and a client that dials by a Dialer.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

func main() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	mux.HandleFunc("/who", func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		fmt.Fprintln(w, host, err, r.Context().Value(http.LocalAddrContextKey).(net.Addr).Network())
	})
	mux.HandleFunc("/hijack", func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, isTCP := c.(*net.TCPConn)
		body := fmt.Sprintln("hijacked", isTCP)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	})
	srv := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second}
	served := make(chan error)
	go func() { served <- srv.Serve(ln) }()

	dialer := &net.Dialer{Timeout: 10 * time.Second}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}, Timeout: 20 * time.Second}
	base := "http://" + ln.Addr().String()
	for _, body := range []string{"", "small", strings.Repeat("large ", 100_000)} {
		resp, err := client.Post(base+"/echo", "text/plain", strings.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(resp.Status, string(got) == body, err)
	}
	for _, path := range []string{"/who", "/hijack"} {
		resp, err := client.Get(base + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Printf("%q %v\n", got, err)
	}
	client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println(srv.Shutdown(ctx), <-served)
}
