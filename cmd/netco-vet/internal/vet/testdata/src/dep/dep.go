// Package dep is a dependency of package calls, and does not know netco.
package dep

import "time"

type Client struct{ answers chan int }

func (c *Client) Do() int { return c.get() } // want Do:"chan"

func (c *Client) get() int { return <-c.answers } // want get:"chan"

func Retry(f func()) { // want Retry:"time,calls"
	for range 3 {
		f()
		time.Sleep(time.Second)
	}
}

func Apply(f func()) { f() } // want Apply:"calls"

func Background(f func()) { go f() }

type Server struct {
	Handler func()
	Other   interface{ Handle() }
}

func (s *Server) ServeConn() { s.serve() } // want ServeConn:"fields"

func (s *Server) serve() { // want serve:"fields"
	s.Handler()
	s.Other.Handle()
}

func Serve(f func()) { // want Serve:"calls,fields"
	s := &Server{Handler: f}
	s.ServeConn()
}

func NewHandler() func() { // want NewHandler:`returns\(chan\)`
	done := make(chan int)
	return func() {
		go func() { done <- 1 }()
		<-done
	}
}
