package socket_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// A dial with a time limit, an option of its own for the socket, and a context
// that can end it.
func ExampleDialer() {
	defer netco.Shutdown(context.Background())
	l, err := socket.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	d := socket.Dialer{
		Timeout:   5 * time.Second,
		KeepAlive: time.Minute,
		Control: func(network, address string, c syscall.RawConn) error {
			fmt.Println(network, address == l.Addr().String())
			var err error
			if cerr := c.Control(func(fd uintptr) {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 30_000)
			}); cerr != nil {
				return cerr
			}
			return err
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	netco.Run(func() {
		c, err := d.DialContext(ctx, "tcp", l.Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("connected to", c.RemoteAddr().String() == l.Addr().String())
		c.Close()

		cancel()
		_, err = d.DialContext(ctx, "tcp", l.Addr().String())
		fmt.Println(errors.Is(err, context.Canceled))
	})
	// Output:
	// tcp4 true
	// connected to true
	// true
}

// Several coroutines ask for one name at once; there is one look-up, and no
// thread of theirs waits for it.
func ExampleResolver() {
	defer netco.Shutdown(context.Background())
	r := &socket.Resolver{Net: &net.Resolver{PreferGo: true}, Limit: 8}
	found := make([]string, 3)
	netco.Run(func() {
		for i := range found {
			if _, err := netco.Go(func() {
				ips, err := r.LookupNetIP(context.Background(), "ip4", "localhost")
				if err != nil {
					fmt.Println(err)
					return
				}
				found[i] = ips[0].Unmap().String()
			}); err != nil {
				fmt.Println(err)
			}
		}
	})
	fmt.Println(found)
	// Output: [127.0.0.1 127.0.0.1 127.0.0.1]
}
