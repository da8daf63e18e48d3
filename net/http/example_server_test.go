package http_test

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/net/http"
)

// A server of handlers as every Go program has them.
func Example() {
	defer netco.Shutdown(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello, %s", r.PathValue("name"))
	})
	server := &http.Server{Handler: mux}
	l, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	netco.Run(func() {
		if _, err := netco.Go(func() { server.Serve(l) }); err != nil {
			fmt.Println(err)
			return
		}
		defer server.Close()
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		res, err := client.Get("http://" + l.Addr().String() + "/hello/gopher")
		if err != nil {
			fmt.Println(err)
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		fmt.Println(res.Status, string(body), err)
	})
	// Output: 200 OK hello, gopher <nil>
}

// A handler that takes its connection over reads it without a thread.
func ExampleServer_hijack() {
	defer netco.Shutdown(context.Background())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		line, _ := rw.ReadString('\n')
		fmt.Fprintf(c, "you said %s", line)
	})}
	l, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	netco.Run(func() {
		if _, err := netco.Go(func() { server.Serve(l) }); err != nil {
			fmt.Println(err)
			return
		}
		defer server.Close()
		c, err := netco.Dial("tcp", l.Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		defer c.Close()
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nhello\n")
		fmt.Println(bufio.NewReader(c).ReadString('\n'))
	})
	// Output:
	// you said hello
	//  <nil>
}
