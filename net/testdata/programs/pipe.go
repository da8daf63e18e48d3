// Both ends of a Pipe, and a connection that changes hands as a file.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

func shout(c net.Conn) {
	defer c.Close()
	for in := bufio.NewScanner(c); in.Scan(); {
		fmt.Fprintln(c, strings.ToUpper(in.Text()))
	}
}

func main() {
	c, server := net.Pipe()
	go shout(server)
	in := bufio.NewReader(c)
	for _, s := range []string{"one", "two"} {
		fmt.Fprintln(c, s)
		answer, err := in.ReadString('\n')
		fmt.Printf("%q %v\n", answer, err)
	}
	c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	_, err := in.ReadByte()
	fmt.Println(err, errors.Is(err, os.ErrDeadlineExceeded), c.LocalAddr(), c.RemoteAddr().Network())
	fmt.Println(c.Close(), c.Close())
	_, err = c.Write(nil)
	fmt.Println(err, c.SetDeadline(time.Time{}))

	// The server gets its connection as an inherited file.
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ln.Close()
	f, err := ln.(*net.TCPListener).File()
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := net.FileListener(f)
	fmt.Println(f.Close(), err, again.Addr().String() == ln.Addr().String())
	client, err := net.Dial("tcp", again.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	accepted, err := again.Accept()
	if err != nil {
		fmt.Println(err)
		return
	}
	cf, err := accepted.(*net.TCPConn).File()
	if err != nil {
		fmt.Println(err)
		return
	}
	accepted.Close()
	handed, err := net.FileConn(cf)
	fmt.Println(cf.Close(), err)
	go shout(handed)
	fmt.Fprintln(client, "three")
	fmt.Println(client.(*net.TCPConn).CloseWrite())
	all, err := io.ReadAll(client)
	fmt.Printf("%q %v\n", all, err)
	fmt.Println(client.Close(), again.Close())
	_, err = net.FileConn(os.Stdin)
	var op *net.OpError
	fmt.Println(errors.As(err, &op), op.Op, op.Net)
}
