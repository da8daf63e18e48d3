package http

import (
	"bufio"
	"io"
	"time"

	"github.com/netco-go/netco/sync"
)

// body is a request's body. It reads from the connection's buffer, directly up
// to Content-Length or through the standard's reader of chunks.
type body struct {
	w   *response     // constant
	std *Request      // constant: a chunked request as the standard parsed it, else nil
	in  *bufio.Reader // constant: the buffer; Hijack takes it from the connection

	mu     sync.Mutex // held across reads
	unread int64      // under mu: what is left of Content-Length; -1 if chunked
	sawEnd bool       // under mu
	closed bool       // under mu
	early  bool       // under mu, or after the handler: closed before the end
}

// maxDiscard is how much of an unread body is read after the handler.
const maxDiscard = 256 << 10

// Read implements io.Reader. Parks.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.w.done.Load() {
		return 0, ErrBodyReadAfterClose
	}
	return b.readLocked(p)
}

func (b *body) readLocked(p []byte) (n int, err error) {
	if b.sawEnd {
		return 0, io.EOF
	}
	if b.std != nil {
		n, err = b.std.Body.Read(p)
		if err == io.EOF && b.w.req.Trailer == nil {
			b.w.req.Trailer = b.std.Trailer
		}
	} else {
		n, err = b.in.Read(p[:min(int64(len(p)), b.unread)])
		if b.unread -= int64(n); b.unread == 0 && err == nil {
			err = io.EOF
		}
	}
	if err == io.EOF {
		b.sawEnd = true
		b.w.bodyAtEnd()
		if b.unread > 0 { // the connection has ended
			err = io.ErrUnexpectedEOF
		}
	}
	return n, err
}

// endRead ends a Read by another goroutine or coroutine, once the handler has
// returned. Then the rest of the body is not read, and the connection is to be
// closed.
func (b *body) endRead() {
	if b == nil {
		return
	}
	if !b.mu.TryLock() {
		nc := b.w.c.nc
		nc.SetReadDeadline(longAgo)
		b.mu.Lock()
		nc.SetReadDeadline(time.Time{})
		b.early = b.early || !b.sawEnd
		b.closed = b.closed || b.early
	}
	b.mu.Unlock()
}

// Close implements io.Closer. It reads on to the end of the body, up to
// maxDiscard bytes. Parks.
func (b *body) Close() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	switch {
	case b.sawEnd:
		return nil
	case b.std == nil && (b.w.req.Close || b.unread >= maxDiscard):
		b.early = b.unread > int64(b.in.Buffered())
		return nil
	}
	_, err := io.CopyN(io.Discard, readerFunc(b.readLocked), maxDiscard+1)
	if err == io.EOF {
		return nil // within maxDiscard
	}
	b.early = true
	return err
}

// discard closes the body when the handler begins to answer, and reports
// whether it reached the end. If the rest is too long, discard leaves the body
// open: the handler may read on.
func (b *body) discard() bool {
	b.mu.Lock()
	long := b.unread >= maxDiscard
	b.mu.Unlock()
	if long {
		return false
	}
	b.Close()
	return !b.early
}

// received reports whether the rest of the body is in the buffer.
func (b *body) received() bool {
	if !b.mu.TryLock() {
		return false
	}
	defer b.mu.Unlock()
	return b.sawEnd || b.std == nil && b.unread <= int64(b.in.Buffered())
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
