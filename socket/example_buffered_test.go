package socket_test

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// A server that adds numbers. A client that sends several lines at once gets
// their answers in one piece: they are sent when the server finds no further
// line and is about to wait.
func ExampleBuffered() {
	netco.Start(netco.Options{})
	defer netco.Shutdown(context.Background())
	l, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	serve := func(c *socket.TCPConn) {
		b := socket.NewBuffered(c)
		defer b.Close()
		sum := 0
		for {
			line, err := b.ReadLine()
			if err != nil {
				return
			}
			n, err := strconv.Atoi(string(line))
			if err != nil {
				b.WriteString("not a number\n")
				return // Close sends it
			}
			sum += n
			answer := strconv.AppendInt(b.AvailableBuffer(), int64(sum), 10)
			b.Write(append(answer, '\n'))
		}
	}
	if _, err := netco.Go(func() {
		defer l.Close()
		if c, err := l.Accept(); err == nil {
			serve(c.(*socket.TCPConn))
		}
	}); err != nil {
		panic(err)
	}

	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	fmt.Fprint(client, "1\n2\n3\n")
	var answer [64]byte
	n, _ := client.Read(answer[:])
	fmt.Printf("%q\n", answer[:n])
	fmt.Fprint(client, "x\n")
	n, _ = client.Read(answer[:])
	fmt.Printf("%q\n", answer[:n])
	// Output:
	// "1\n3\n6\n"
	// "not a number\n"
}
