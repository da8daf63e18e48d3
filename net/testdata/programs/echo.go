// An echo daemon that hangs up on idle clients, and a client.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

func serve(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go echo(c)
	}
}

func echo(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		line, err := in.ReadString('\n')
		var ne net.Error
		if errors.As(err, &ne) && ne.Timeout() {
			var op *net.OpError
			fmt.Fprintf(c, "idle: %t %t %v\n", errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &op), op.Op)
			return
		}
		if err != nil {
			return
		}
		if _, err := io.WriteString(c, line); err != nil {
			return
		}
	}
}

func main() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go serve(ln)
	for i := range 3 {
		c, err := net.DialTimeout("tcp", ln.Addr().String(), 5*time.Second)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(c.RemoteAddr().String() == ln.Addr().String(), c.LocalAddr().Network())
		fmt.Fprintf(c, "hello %d\nagain\n", i)
		all, err := io.ReadAll(c)
		fmt.Printf("%q %v\n", all, err)
		fmt.Println(c.Close(), errors.Is(c.Close(), net.ErrClosed))
	}
	addr := ln.Addr().(*net.TCPAddr)
	fmt.Println(addr.IP, ln.Close())
	_, err = ln.Accept()
	fmt.Println(errors.Is(err, net.ErrClosed))
	unused, err := net.ListenTCP("tcp", &net.TCPAddr{IP: addr.IP})
	if err != nil {
		fmt.Println(err)
		return
	}
	unused.Close()
	_, err = net.Dial("tcp", unused.Addr().String())
	var op *net.OpError
	fmt.Println(errors.As(err, &op), op.Op, op.Net, op.Err)
	_, err = net.Dial("tcp", "127.0.0.1:http2")
	fmt.Println(err)
	_, err = net.Listen("tulip", "127.0.0.1:0")
	fmt.Println(err)
}
