package tls_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

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

// flushing sends what was written before a Read waits.
type flushing struct {
	*tls.Conn
	w *bufio.Writer
}

func (f flushing) Read(p []byte) (int, error) {
	if !f.Readable() {
		if err := f.w.Flush(); err != nil {
			return 0, err
		}
	}
	return f.Conn.Read(p)
}

// Buffers over a connection, as socket.Buffered has them: a client that sends
// several lines at once gets their answers in one record. They are sent when
// the server is about to wait, also within a line.
func ExampleConn_Readable() {
	server, client := configs()
	netco.Run(func() {
		ln, err := tls.Listen("tcp", "127.0.0.1:0", server)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer ln.Close()
		serve := func(c *tls.Conn) error {
			defer c.Close()
			w := bufio.NewWriter(c)
			r := bufio.NewReader(flushing{c, w})
			for sum := 0; ; {
				line, err := r.ReadString('\n')
				if err != nil {
					return err
				}
				n, err := strconv.Atoi(strings.TrimSpace(line))
				if err != nil {
					return err
				}
				sum += n
				fmt.Fprintln(w, sum)
			}
		}
		if _, err := netco.Go(func() {
			if c, err := ln.Accept(); err == nil {
				serve(c.(*tls.Conn))
			}
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
		var answer [64]byte
		for _, request := range []string{"1\n2\n3\n4", "0\n"} {
			io.WriteString(c, request)
			n, _ := c.Read(answer[:])
			fmt.Printf("%q\n", answer[:n])
		}
	})
	netco.Shutdown(context.Background())
	// Output:
	// "1\n3\n6\n"
	// "46\n"
}
