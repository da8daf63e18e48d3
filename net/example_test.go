package net_test

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/net"
)

// An echo server and a client of it. Only the import and the go statements are
// not as in a program for the standard library.
func Example() {
	defer netco.Shutdown(context.Background())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	netco.Run(func() {
		if _, err := netco.Go(func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				if _, err := netco.Go(func() { // go func() {
					defer c.Close()
					io.Copy(c, c)
				}); err != nil {
					c.Close()
				}
			}
		}); err != nil {
			fmt.Println(err)
			return
		}

		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		defer c.Close()
		fmt.Fprintln(c, "hello")
		answer, err := bufio.NewReader(c).ReadString('\n')
		fmt.Printf("%q %v\n", answer, err)
		ln.Close()
	})
	// Output: "hello\n" <nil>
}
