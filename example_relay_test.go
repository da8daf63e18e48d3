package netco_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/net"
)

// A proxy: each half of a connection has a coroutine, and a channel joins them.
func Example_relay() {
	err := netco.Run(func() {
		backend, client, err := pairOf()
		if err != nil {
			fmt.Println(err)
			return
		}
		proxied, caller, err := pairOf()
		if err != nil {
			fmt.Println(err)
			return
		}
		_, backendErr := netco.Go(func() {
			defer backend.Close()
			io.Copy(backend, backend)
		})
		_, proxyErr := netco.Go(func() {
			defer client.Close()
			defer proxied.Close()
			relay(proxied, client)
		})
		if err := errors.Join(backendErr, proxyErr); err != nil {
			fmt.Println(err)
			return
		}
		defer caller.Close()
		io.WriteString(caller, "through the proxy")
		caller.CloseWrite()
		answer, err := io.ReadAll(caller)
		fmt.Printf("%s, %v\n", answer, err)
	})
	if err != nil {
		fmt.Println(err)
	}
	netco.Shutdown(context.Background())
	// Output: through the proxy, <nil>
}

// pairOf returns the two ends of a connection.
func pairOf() (accepted, dialled *net.TCPConn, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	a, err := ln.Accept()
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return a.(*net.TCPConn), c.(*net.TCPConn), nil
}

// relay connects two peers until both have ended.
func relay(client, server *net.TCPConn) {
	up := channel.Make[struct{}](0)
	_, err := netco.Go(func() { defer up.Close(); half(server, client) })
	if err != nil {
		return // the caller closes both
	}
	half(client, server)
	up.Recv()
}

// half copies one direction and passes its end on.
func half(dst, src *net.TCPConn) {
	if _, err := io.Copy(dst, src); err == nil && dst.CloseWrite() == nil {
		return
	}
	dst.Close() // ends the other half, too
	src.Close()
}
