package socket_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// A Server's connections hold no coroutine while they wait for their next
// request.
func ExampleServer() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	l, err := socket.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := &socket.Server{
		Handle: func(c *socket.ServerConn) error {
			b := socket.AcquireBuffer()
			defer b.Release()
			n, err := c.Read(b.Bytes())
			if err != nil {
				return err // also io.EOF: the connection is closed
			}
			_, err = fmt.Fprintf(c, "you said %s", b.Bytes()[:n])
			return err // nil: idle again
		},
	}
	if _, err := netco.Go(func() {
		if err := server.Serve(l); !errors.Is(err, socket.ErrServerClosed) {
			fmt.Println(err)
		}
	}); err != nil {
		panic(err)
	}

	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	answers := bufio.NewReader(c)
	for _, request := range []string{"one", "two"} {
		fmt.Fprintln(c, request)
		answer, _ := answers.ReadString('\n')
		fmt.Print(answer)
	}
	server.Shutdown(context.Background())
	// Output:
	// you said one
	// you said two
}
