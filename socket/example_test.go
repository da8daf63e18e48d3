package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// A server with one coroutine for each connection, and a client of it.
func ExampleListen() {
	defer netco.Shutdown(context.Background())
	l, err := socket.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	netco.Run(func() {
		if _, err := netco.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return // closed
				}
				if _, err := netco.Go(func() {
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

		c, err := socket.Dial("tcp", l.Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Fprint(c, "hello")
		c.(*socket.TCPConn).CloseWrite()
		answer, _ := io.ReadAll(c)
		fmt.Printf("%s\n", answer)
		c.Close()
		l.Close()
	})
	// Output: hello
}

// Ordinary goroutines use the same connections; for them the calls block.
func ExampleDial() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	l, err := socket.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			fmt.Fprint(c, "from a goroutine")
			c.Close()
		}
	}()
	c, err := socket.Dial("tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	answer, _ := io.ReadAll(c)
	fmt.Printf("%s\n", answer)
	// Output: from a goroutine
}

// A server for many connections that are mostly idle waits without a buffer and
// borrows one for each request.
func ExampleTCPConn_WaitReadable() {
	defer netco.Shutdown(context.Background())
	l, err := socket.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	serve := func(c *socket.TCPConn) {
		defer c.Close()
		for c.WaitReadable() == nil {
			buf := socket.AcquireBuffer()
			n, err := c.Read(buf.Bytes())
			if err == nil {
				_, err = c.Write(buf.Bytes()[:n])
			}
			buf.Release() // before the next wait
			if err != nil {
				return
			}
		}
	}
	netco.Run(func() {
		if _, err := netco.Go(func() {
			defer l.Close()
			if c, err := l.Accept(); err == nil {
				serve(c.(*socket.TCPConn))
			}
		}); err != nil {
			fmt.Println(err)
			return
		}
		c, err := socket.Dial("tcp", l.Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		defer c.Close()
		for _, request := range []string{"one", "two"} {
			fmt.Fprint(c, request)
			answer := make([]byte, len(request))
			io.ReadFull(c, answer)
			fmt.Printf("%s\n", answer)
		}
	})
	// Output:
	// one
	// two
}

func ExampleConn_SetReadDeadline() {
	defer netco.Shutdown(context.Background())
	l, err := socket.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	netco.Run(func() {
		c, err := socket.Dial("tcp", l.Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		defer c.Close()
		c.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err = c.Read(make([]byte, 1))
		fmt.Println(errors.Is(err, os.ErrDeadlineExceeded))
		var timeout net.Error
		fmt.Println(errors.As(err, &timeout) && timeout.Timeout())
	})
	// Output:
	// true
	// true
}

// Closing ends what waits.
func ExampleConn_Close() {
	defer netco.Shutdown(context.Background())
	l, err := socket.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	netco.Run(func() {
		c, err := socket.Dial("tcp", l.Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		reader, _ := netco.GoLocal(func() {
			_, err := c.Read(make([]byte, 1))
			fmt.Println(errors.Is(err, net.ErrClosed))
		})
		netco.Yield() // the reader runs, and waits
		c.Close()
		netco.Join(reader)
	})
	// Output: true
}

// One listener for each Processor: no connection changes threads.
func ExampleListenReusePort() {
	netco.Start(netco.Options{Processors: 2})
	defer netco.Shutdown(context.Background())
	listeners, err := socket.ListenReusePort("tcp", "127.0.0.1:0", 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	var served sync.WaitGroup
	served.Add(10)
	for i, l := range listeners {
		if _, err := netco.GoOn(i, func() {
			for {
				c, err := l.AcceptTCP()
				if err != nil {
					return
				}
				if _, err := netco.GoLocal(func() {
					defer served.Done()
					defer c.Close()
					io.Copy(c, c)
				}); err != nil {
					served.Done()
					c.Close()
				}
			}
		}); err != nil {
			panic(err)
		}
	}
	for range 10 {
		c, err := net.Dial("tcp", listeners[0].Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		c.Close()
	}
	served.Wait()
	for _, l := range listeners {
		l.Close()
	}
	fmt.Println("10 served")
	// Output: 10 served
}
