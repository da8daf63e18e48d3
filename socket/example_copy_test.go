package socket_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// serveOnce accepts one connection and gives it to handle.
func serveOnce(handle func(c *socket.TCPConn)) (addr string) {
	l, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	if _, err := netco.Go(func() {
		defer l.Close()
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		handle(c.(*socket.TCPConn))
	}); err != nil {
		panic(err)
	}
	return l.Addr().String()
}

// ask sends a question and returns the answer.
func ask(addr, question string) string {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		panic(err)
	}
	defer c.Close()
	io.WriteString(c, question)
	c.(*net.TCPConn).CloseWrite()
	answer, err := io.ReadAll(c)
	if err != nil {
		panic(err)
	}
	return string(answer)
}

// A proxy copies both ways, and passes an end of stream on.
func ExampleTCPConn_ReadFrom() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	echo := serveOnce(func(c *socket.TCPConn) { io.Copy(c, c) })
	proxy := serveOnce(func(client *socket.TCPConn) {
		c, err := netco.Dial("tcp", echo)
		if err != nil {
			return
		}
		defer c.Close()
		server := c.(*socket.TCPConn)
		answers, _ := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			client.ReadFrom(server) // as io.Copy(client, server) does
			client.CloseWrite()
		}})
		server.ReadFrom(client)
		server.CloseWrite()
		answers.Join()
	})
	fmt.Println(ask(proxy, "hello"))
	// Output: hello
}

// A head and a file: one call for the pieces of the head, sendfile for the
// file.
func ExampleBuffers() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	f, err := os.CreateTemp("", "netco")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	os.Remove(f.Name())
	f.WriteString("the file")
	f.Seek(0, io.SeekStart)
	addr := serveOnce(func(c *socket.TCPConn) {
		head := socket.Buffers{[]byte("name: "), []byte("example"), []byte("\n")}
		if _, err := head.WriteTo(c); err != nil {
			return
		}
		io.Copy(c, f)
	})
	fmt.Println(ask(addr, ""))
	// Output:
	// name: example
	// the file
}

// Write net.Buffers like this, because net.Buffers.WriteTo would write
// them one by one.
func ExampleTCPConn_WriteBuffers() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	addr := serveOnce(func(c *socket.TCPConn) {
		v := net.Buffers{[]byte("one "), []byte("call")}
		n, err := c.WriteBuffers(&v)
		fmt.Println(n, err, len(v))
	})
	fmt.Println(ask(addr, ""))
	// Output:
	// 8 <nil> 0
	// one call
}
