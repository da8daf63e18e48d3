package main

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// server is what connections share.
type server struct {
	db     *store
	ids    atomic.Int64 // of connections, see CLIENT ID
	ending atomic.Bool

	unfinished    atomic.Int64 // bytes reserved for large requests
	maxUnfinished int64
}

// newServer returns a server for that many Processors; 0 is one for each CPU.
func newServer(processors int) *server {
	if processors == 0 {
		processors = runtime.GOMAXPROCS(0)
	}
	return &server{db: newStore(processors), maxUnfinished: maxUnfinished}
}

// reserve reports whether there is room for n more bytes of large requests, and
// takes it.
func (s *server) reserve(n int64) bool {
	if s.unfinished.Add(n) <= s.maxUnfinished {
		return true
	}
	s.unfinished.Add(-n)
	return false
}

// accept starts a coroutine for each connection until the listener is closed.
func (s *server) accept(ln *socket.TCPListener) {
	for {
		c, err := ln.AcceptTCP()
		if err != nil {
			return
		}
		if _, err := netco.Go(newClient(s, c).serve); err != nil {
			c.Close()
		}
	}
}

// expirePeriod is how often keys that are not asked for are checked.
const expirePeriod = 100 * time.Millisecond

// expire is the coroutine that does so until the server ends.
func (s *server) expire() {
	for !s.ending.Load() {
		netco.Sleep(expirePeriod)
		s.db.expire(netco.Yield)
	}
}
