package handlers

import (
	"github.com/netco-go/netco/net"
)

type server struct{}

func (s *server) serve() error { // want serve:"waits"
	ln, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	go s.count()
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		go s.handle(c) // want `go statement for c, which is netco's: .*; use netco.Go`
		go func() {    // want `go statement for c`
			s.handle(c)
		}()
	}
}

func (s *server) handle(c net.Conn) { // want handle:"waits"
	c.Read(nil)
}

func (s *server) count() {}
