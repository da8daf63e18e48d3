package http

import (
	"sync"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/httpinfo"
	"github.com/netco-go/netco/internal/serving"
)

// busy are the Servers that have connections.
var busy sync.Map // *Server → nil

func init() {
	httpinfo.Register(eachRequest)
	serving.RegisterEnd(ErrServerClosed)
}

// remember lists a connection, until forget.
func (s *Server) remember(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*conn]struct{}{}
	}
	if s.open[c] = struct{}{}; len(s.open) == 1 {
		busy.Store(s, nil)
	}
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.open, c); len(s.open) == 0 {
		busy.Delete(s)
	}
}

// eachRequest is httpinfo.Each.
func eachRequest(f func(httpinfo.Request) bool) {
	var all []*response
	for s := range busy.Range {
		s := s.(*Server)
		s.mu.Lock()
		for c := range s.open {
			if w := c.current.Load(); w != nil {
				all = append(all, w)
			}
		}
		s.mu.Unlock()
	}
	for _, w := range all {
		r := httpinfo.Request{Method: w.method, Target: w.target, Proto: "HTTP/1.0",
			Remote: w.c.remote, Goroutine: w.aside.Load()}
		if w.is11 {
			r.Proto = "HTTP/1.1"
		}
		if w.began != 0 {
			r.Age = time.Duration(clock.Now() - w.began)
		}
		if !f(r) {
			return
		}
	}
}
