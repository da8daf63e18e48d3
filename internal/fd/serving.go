package fd

import "github.com/netco-go/netco/coroutine"

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

// BeginServing makes the calling coroutine the handler.
func (s *FD) BeginServing() {
	if co := coroutine.Current(); co != nil {
		s.pd.SetServed()
		s.served.Set(co.ID() << 1)
	}
}

// RequestAnswered says that what was read so far belongs to no request that is
// still to be answered. Without effect if the caller is not the handler.
func (s *FD) RequestAnswered() {
	if v := s.served.Load(); s.byHandler(v) {
		s.served.Set(v &^ busy)
	}
}

// byHandler reports whether the caller is the handler in v, a value of served.
func (s *FD) byHandler(v uint64) bool {
	co := coroutine.Current()
	return v != 0 && co != nil && co.ID() == v>>1
}

// NoteRead accounts for bytes that were read.
func (s *FD) NoteRead() {
	if v := s.served.Load(); v != 0 && v&busy == 0 {
		s.served.Set(v | busy)
	}
}

// noteWrite accounts for a write that begins. Precondition: there is a handler.
func (s *FD) noteWrite() {
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
func (s *FD) awaitsRequest() bool {
	v := s.served.Load()
	return v&busy == 0 && s.byHandler(v) && !coroutine.Current().Shielded()
}
