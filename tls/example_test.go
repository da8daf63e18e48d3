package tls_test

import (
	"context"
	"fmt"
	"io"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/tls"
)

// An echo server and its client, each a coroutine.
func Example() {
	server, client := configs()
	netco.Run(func() {
		ln, err := tls.Listen("tcp", "127.0.0.1:0", server)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer ln.Close()
		if _, err := netco.Go(func() {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			io.Copy(c, c)
		}); err != nil {
			fmt.Println(err)
			return
		}
		c, err := tls.Dial("tcp", ln.Addr().String(), client)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer c.Close()
		io.WriteString(c, "hello")
		buf := make([]byte, 5)
		_, err = io.ReadFull(c, buf)
		fmt.Printf("%s, %v, %s\n", buf, err, tls.VersionName(c.ConnectionState().Version))
	})
	netco.Shutdown(context.Background())
	// Output: hello, <nil>, TLS 1.3
}
