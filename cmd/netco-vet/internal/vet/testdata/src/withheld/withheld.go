// Package withheld has a fix whose result would not compile.
package withheld

import (
	"io"
	"net"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// closeWrite has cases that are one type once the import has changed.
func closeWrite(w io.Writer) {
	switch c := w.(type) {
	case *socket.TCPConn:
		c.CloseWrite()
	case *net.TCPConn:
		c.CloseWrite()
	}
}

func start() error {
	_, err := netco.Go(func() {
		c, err := net.Dial("tcp", "localhost:1")
		if err == nil {
			closeWrite(c)
		}
	})
	return err
}
