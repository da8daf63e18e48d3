package fd

import "github.com/netco-go/netco/coroutine"

// A Scheduler that drains waits for its coroutines, and many of them wait for a
// peer's next request. netco.Serve sets the coroutine that serves a connection,
// its handler. While the Scheduler drains, a read that would wait ends with
// ErrShutdown where the handler waits for the first byte of a request.
//
// Only the handler knows where a request ends. A socket knows which side moved
// bytes last, and keeps that in its word served:
//
//	0          no handler: a drain ends no read
//	id<<1      idle: the handler moved bytes last, by a write; or no bytes
//	           have moved yet
//	id<<1 | 1  busy: otherwise
//
//	0 → idle       Serve, in the handler, before it uses the connection
//	idle → busy    a read of anything, by any caller, under the read lock; a
//	               write by any other caller than the handler, under the write
//	               lock; a Buffered in which a part of a request is left, by its
//	               reader
//	busy → idle    a write by the handler begins, under the write lock; the
//	               handler ends a handshake of netco/tls
//
// So a handler that has read is not ended before it has answered. Nor is a
// handler that reads while a second coroutine writes, as in a relay or a chat:
// those bytes may belong to a request.
//
// The holder of the lock stores served without synchronisation. Where only the
// handler reads and writes, so that a drain may end its read, the handler sees
// its own stores. Any other caller stores before its write begins.

// busy is the bit of served.
const busy = 1

// BeginServing makes the calling coroutine the handler.
func (f *FD) BeginServing() {
	f.served.Set(coroutine.Current().ID() << 1)
}

// RequestAnswered records that every request read so far has been answered. It
// has no effect if the caller is not the handler.
func (f *FD) RequestAnswered() {
	if v := f.served.Load(); f.byHandler(v) {
		f.served.Set(v &^ busy)
	}
}

// byHandler reports whether the caller is the handler in v, a value of served.
func (f *FD) byHandler(v uint64) bool {
	co := coroutine.Current()
	return co != nil && co.ID() == v>>1
}

// NoteRead accounts for bytes that were read.
func (f *FD) NoteRead() {
	if v := f.served.Load(); v != 0 && v&busy == 0 {
		f.served.Set(v | busy)
	}
}

// noteWrite accounts for a write that begins. Precondition: there is a handler.
func (f *FD) noteWrite() {
	v := f.served.Load()
	if f.byHandler(v) {
		v &^= busy
	} else {
		v |= busy
	}
	f.served.Set(v)
}

// awaitsRequest reports whether the caller is the handler and waits for the
// first byte of a request. In coroutine.Shield nothing ends its waits.
func (f *FD) awaitsRequest() bool {
	v := f.served.Load()
	return v != 0 && v&busy == 0 && f.byHandler(v) && !coroutine.Current().Shielded()
}
