package socket

import (
	"net"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/serving"
	"github.com/netco-go/netco/processor"
)

// A Scheduler that drains waits for its coroutines, and many of them wait for a
// peer's next request. netco.Serve says which coroutine serves a connection,
// its handler. While the Scheduler drains, a read that would wait ends with
// ErrShutdown where the handler waits for the first byte of a request.
//
// What a request is, only the handler knows. A socket knows what has moved, and
// keeps it in its word served:
//
//	0          no handler: a drain ends no read
//	id<<1      idle: the last to move bytes was the handler, by a write; or
//	           none have moved yet
//	id<<1 | 1  busy: all else
//
//	0 → idle       Serve, in the handler, before that uses the connection
//	idle → busy    a read of anything, by any caller, under the read lock; a
//	               write by another than the handler, under the write lock; a
//	               Buffered in which a part of a request is left, by its reader
//	busy → idle    a write by the handler begins, under the write lock; the
//	               handler ends a handshake of netco/tls
//
// So a handler that has read is not ended before it has answered, nor is one
// that reads while another writes, as in a relay or a chat: what the other is
// about to write may belong to a request.
//
// A store is a plain one, of whichever caller holds the lock. Where only the
// handler reads and writes, which is where a drain may end it, it finds what it
// has stored itself. A write by another is stored before it begins.

// busy is the bit of served.
const busy = 1

func init() { serving.Register(beginServing, requestAnswered) }

// servable returns the socket of a connection that may have a handler, or nil.
func servable(c net.Conn) *socket {
	for {
		switch x := c.(type) {
		case interface{ base() *conn }:
			if s := &x.base().s; s.descriptor != nil && !s.kind.isPackets() {
				return s
			}
			return nil
		case *limitedConn:
			c = x.Conn
		case interface{ NetConn() net.Conn }:
			c = x.NetConn()
		default:
			return nil
		}
	}
}

// beginServing implements serving.Begin.
func beginServing(c net.Conn) {
	if s, co := servable(c), coroutine.Current(); s != nil && co != nil {
		s.pd.SetServed()
		s.served.Set(co.ID() << 1)
	}
}

// requestAnswered implements serving.Answered.
func requestAnswered(c net.Conn) {
	if s := servable(c); s != nil && s.byHandler(s.served.Load()) {
		s.served.Set(s.served.Load() &^ busy)
	}
}

// byHandler reports whether the caller is the handler in v, a value of served.
func (s *socket) byHandler(v uint64) bool {
	co := coroutine.Current()
	return v != 0 && co != nil && co.ID() == v>>1
}

// noteRead accounts for bytes that were read.
func (s *socket) noteRead() {
	if v := s.served.Load(); v != 0 && v&busy == 0 {
		s.served.Set(v | busy)
	}
}

// noteWrite accounts for a write that begins. Precondition: there is a handler.
func (s *socket) noteWrite() {
	v := s.served.Load()
	if s.byHandler(v) {
		v &^= busy
	} else {
		v |= busy
	}
	s.served.Set(v)
}

// awaitsRequest reports whether the caller is the handler and waits for the
// first byte of a request. In coroutine.Shield nothing ends its waits.
func (s *socket) awaitsRequest() bool {
	v := s.served.Load()
	return v&busy == 0 && s.byHandler(v) && !coroutine.Current().Shielded()
}

// waitLocked waits for an edge. A wait for a request ends when the Scheduler
// drains, unless there is something to read. Under the read lock.
func (s *socket) waitLocked(here *processor.Processor) (processor.Verdict, error) {
	s.beforeWait(here.IO())
	if s.served.Load() == 0 || !s.awaitsRequest() {
		return s.pd.WaitFrom(here, s.fd, processor.Read, coroutine.ReasonRead, 0)
	}
	v, err := s.pd.WaitForRequest(here, s.fd)
	if v == processor.Drained && s.pollReadable() {
		s.queue = maybe // its edge was not reported yet
		return processor.Ready, err
	}
	return v, err
}
