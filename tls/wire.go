package tls

import (
	"cmp"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/socket"
)

// wire is the net.Conn that crypto/tls sees: memory, in both directions, so
// that no call of crypto/tls waits once the handshake is over.
//
//   - Bytes that crypto/tls writes are appended to out. Conn sends them.
//   - Bytes that crypto/tls reads are taken from in, which Conn fills. If in is
//     empty, the read returns errEmpty, which crypto/tls returns to its caller
//     and forgets, because the error is temporary: the next read continues
//     within the same record.
//   - During the handshake, which crypto/tls cannot interrupt, a read sends the
//     written bytes and then waits for the peer.
type wire struct {
	c    *Conn        // constant
	wait func() error // constant: waits until raw has something to read; nil for none

	// The reading half, of the caller that shakes hands or reads.
	shaking *handshake // nil when it is over
	in      *buffer    // nil if there is nothing in it
	r, w    int        // in.bytes[r:w] has not been read by crypto/tls
	err     error      // follows in: the end of the stream, or what broke it

	// The writing half. unsent counts the bytes of out and of sending.
	mu     sync.Mutex // held for a copy at most
	out    []byte     // under mu; of a buffer's capacity, or nil
	over   bool       // under mu: drop written bytes
	unsent atomic.Int64
	broken atomic.Bool // the last send has failed; written under Conn.send

	// The bytes that the holder of Conn.send is sending: sending[sent:].
	sending []byte
	sent    int
}

// buffer has room for one encrypted record, and some more.
type buffer [20 << 10]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// emptyError is a temporary net.Error, which crypto/tls does not remember.
type emptyError struct{}

func (emptyError) Error() string   { return "tls: nothing was received" }
func (emptyError) Timeout() bool   { return true }
func (emptyError) Temporary() bool { return true }

var errEmpty net.Error = emptyError{}

func (w *wire) init(c *Conn) {
	w.c = c
	switch raw := c.raw.(type) {
	case *socket.TCPConn, *socket.UnixConn, *socket.ServerConn, *socket.Buffered:
		// Not a type that embeds one of these: it may have read before.
		w.wait = raw.(interface{ WaitReadable() error }).WaitReadable
	}
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	if w.shaking != nil {
		return w.shaking.read(p)
	}
	if w.in == nil {
		return 0, cmp.Or(w.err, error(errEmpty))
	}
	n := copy(p, w.in[w.r:w.w])
	w.r += n
	if w.r == w.w {
		buffers.Put(w.in)
		w.in = nil
	}
	return n, nil
}

// fill waits for bytes of the peer, for a Read that found in empty, and returns
// their number. It returns only errors after which reading may go on;
// crypto/tls reads other errors from the wire.
func (w *wire) fill() (int, error) {
	if w.wait != nil {
		if err := w.wait(); err != nil { // no buffer is held meanwhile
			return 0, w.keep(err)
		}
	}
	b := buffers.Get().(*buffer)
	n, err := w.c.raw.Read(b[:])
	if n == 0 {
		buffers.Put(b)
	} else {
		w.in, w.r, w.w = b, 0, n
	}
	return n, w.keep(err)
}

func (w *wire) keep(err error) error {
	if isPassing(err) {
		return err
	}
	w.err = err
	return nil
}

// isPassing reports whether an error leaves the connection below usable: the
// error of a deadline, or of a coroutine that was stopped.
func isPassing(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, coroutine.ErrShutdown)
}

// Write implements net.Conn. It does not wait.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return len(p), nil
	}
	if w.out == nil {
		w.out = buffers.Get().(*buffer)[:0]
	}
	w.out = append(w.out, p...)
	w.unsent.Add(int64(len(p)))
	return len(p), nil
}

// send sends the bytes that were written before it returns, as far as it can.
// Parks. Precondition: Conn.send is held.
func (w *wire) send() error {
	for w.unsent.Load() > 0 {
		if w.sending == nil {
			w.mu.Lock()
			w.sending, w.sent, w.out = w.out, 0, nil
			w.mu.Unlock()
		}
		n, err := w.c.raw.Write(w.sending[w.sent:])
		w.sent += n
		w.unsent.Add(-int64(n))
		if w.sent == len(w.sending) {
			if cap(w.sending) == len(buffer{}) {
				buffers.Put((*buffer)(w.sending[:len(buffer{})]))
			}
			w.sending = nil
		}
		if err != nil {
			w.broken.Store(true)
			return err
		}
	}
	w.broken.Store(false)
	return nil
}

// pending reports whether there are bytes to send and sending works.
func (w *wire) pending() bool { return w.unsent.Load() > 0 && !w.broken.Load() }

// end makes the wire drop the bytes that are written from now on.
func (w *wire) end() {
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
}

// Close implements net.Conn. crypto/tls calls it where the context of a
// handshake ends, and in its own Close, after which Conn closes.
func (w *wire) Close() error {
	if !w.c.closed.Load() {
		w.c.closeRaw()
	}
	return nil
}

// NetConn returns the connection that was given to Server or Client. It is for
// callbacks, which see a wire as ClientHelloInfo.Conn.
func (w *wire) NetConn() net.Conn { return w.c.raw }

func (w *wire) LocalAddr() net.Addr  { return w.c.raw.LocalAddr() }
func (w *wire) RemoteAddr() net.Addr { return w.c.raw.RemoteAddr() }

// Conn implements the deadlines: writing to memory has none.

func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
