// Package net has the names that the tests need.
package net

import (
	"net"

	"github.com/netco-go/netco/socket"
)

type (
	Conn     = net.Conn
	Listener = net.Listener
	TCPConn  = socket.TCPConn
)

func Listen(network, address string) (Listener, error) { return nil, nil }
func Dial(network, address string) (Conn, error)       { return nil, nil }
