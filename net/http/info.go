package http

import (
	"sync"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/httpinfo"
	"github.com/netco-go/netco/internal/serving"
)

// busy are the Servers that have connections.
var busy struct {
	mu  sync.Mutex // held for a moment
	all map[*Server]struct{}
}

func init() {
	httpinfo.Register(eachRequest)
	serving.RegisterEnd(ErrServerClosed)
}

// remember lists a connection, until forget.
func (s *Server) remember(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.next = s.open; c.next != nil {
		c.next.prev = c
	}
	if s.open = c; c.next == nil {
		busy.mu.Lock()
		defer busy.mu.Unlock()
		if busy.all == nil {
			busy.all = map[*Server]struct{}{}
		}
		busy.all[s] = struct{}{}
	}
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.prev != nil:
		c.prev.next = c.next
	case s.open == c:
		s.open = c.next
	default:
		return // it was forgotten before
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	c.next, c.prev = nil, nil
	if s.open == nil {
		busy.mu.Lock()
		defer busy.mu.Unlock()
		delete(busy.all, s)
	}
}

// eachRequest is httpinfo.Each.
func eachRequest(f func(httpinfo.Request) bool) {
	for _, w := range underWay() {
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

// underWay returns the requests whose handlers run.
func underWay() (all []*response) {
	busy.mu.Lock()
	servers := make([]*Server, 0, len(busy.all))
	for s := range busy.all {
		servers = append(servers, s)
	}
	busy.mu.Unlock()
	for _, s := range servers {
		s.mu.Lock()
		for c := s.open; c != nil; c = c.next {
			if w := c.current.Load(); w != nil {
				all = append(all, w)
			}
		}
		s.mu.Unlock()
	}
	return all
}
