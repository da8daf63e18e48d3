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

type count struct{ n int }

func (c *count) up() { c.n++ }

// assigned: a go statement evaluates its arguments where it stands.
func assigned() { // want assigned:"waits"
	ln, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return
	}
	var field, method count
	var element [1]int
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go closes(c, field) // want `go statement for c`
		field.n++
		go closes(c, method) // want `go statement for c`
		method.up()
		go closes(c, element) // want `go statement for c`
		element[0]++
	}
}

func closes(c net.Conn, _ any) { c.Close() } // want closes:"calls"

func (s *server) handle(c net.Conn) { // want handle:"waits"
	c.Read(nil)
}

func (s *server) count() {}
