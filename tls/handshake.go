package tls

import (
	"context"
	stdtls "crypto/tls"
	"net"
	"os"
	stdsync "sync"
	"time"

	"github.com/netco-go/netco/sync"
)

// Limits bounds the handshakes of the connections that its methods return. A
// handshake costs a server about a millisecond of computing, and a silent peer
// holds a coroutine. The fields must not be changed after first use. The
// functions of the package use the zero value.
type Limits struct {
	// HandshakeTimeout is how long a handshake may take; then the connection
	// below is closed, and the error is os.ErrDeadlineExceeded. 0 is
	// 10 s, negative is no limit but those of deadlines and contexts.
	HandshakeTimeout time.Duration

	// MaxHandshakes, if it is not 0, is how many handshakes may compute at a
	// time, over all connections of this Limits. Callbacks of Config count as
	// computing. Others wait in the order of arrival; their time runs. A
	// handshake that waits for its peer does not count, so peers that are
	// silent or slow keep no other waiting: HandshakeTimeout ends them, and
	// what limits connections limits their number, such as
	// socket.LimitListener.
	MaxHandshakes int

	once    stdsync.Once
	permits *sync.Semaphore // written in once
}

// defaultHandshakeTimeout is how long a handshake may take by default.
const defaultHandshakeTimeout = 10 * time.Second

var defaults Limits

// Server is the function Server with these limits.
func (l *Limits) Server(conn net.Conn, config *Config) *Conn {
	c := l.newConn(conn)
	c.tls = stdtls.Server(&c.wire, config)
	return c
}

// Client is the function Client with these limits.
func (l *Limits) Client(conn net.Conn, config *Config) *Conn {
	if config != nil && config.Renegotiation != RenegotiateNever {
		config = config.Clone()
		config.Renegotiation = RenegotiateNever
	}
	c := l.newConn(conn)
	c.isClient = true
	c.tls = stdtls.Client(&c.wire, config)
	return c
}

func (l *Limits) newConn(conn net.Conn) *Conn {
	c := &Conn{raw: conn, limits: l}
	c.wire.init(c)
	return c
}

// computing returns the permits of MaxHandshakes, nil for any number.
func (l *Limits) computing() *sync.Semaphore {
	if l.MaxHandshakes <= 0 {
		return nil
	}
	l.once.Do(func() { l.permits = sync.NewSemaphore(int64(l.MaxHandshakes)) })
	return l.permits
}

func (l *Limits) timeout() time.Duration {
	if l.HandshakeTimeout == 0 {
		return defaultHandshakeTimeout
	}
	return l.HandshakeTimeout
}

// handshake is a handshake of crypto/tls. It holds one of MaxHandshakes only
// while it computes, so what a peer sends, or does not, keeps no other waiting.
//
//	state      permit  means                    becomes
//	waiting    no      crypto/tls wants to      computing, when a record is
//	                   read, or it is over      complete and a permit is free
//	computing  yes     crypto/tls runs          waiting, when crypto/tls wants
//	                                            to read, and at the end
//
// A client begins with computing, a server with waiting. Parts of a record do
// not end a wait: crypto/tls does no more with them than to check a header.
//
// Owner: the caller that shakes hands.
type handshake struct {
	c         *Conn
	ctx       context.Context
	until     time.Time // zero is never
	permits   *sync.Semaphore
	computing bool // it holds one of permits
	records   records
}

// handshake is crypto/tls's handshake, within the limits. Precondition: shake
// is held.
func (c *Conn) handshake(ctx context.Context) error {
	h := &handshake{c: c, ctx: ctx, permits: c.limits.computing()}
	inTime := func() bool { return true }
	if d := c.limits.timeout(); d > 0 {
		h.until = time.Now().Add(d)
		watchdog := time.AfterFunc(d, func() {
			c.late.Store(true)
			c.closeRaw()
		})
		inTime = watchdog.Stop
		defer inTime()
	}
	c.wire.shaking = h
	defer func() {
		c.wire.shaking = nil
		h.release()
	}()
	if c.isClient {
		if err := h.acquire(); err != nil {
			return c.limited(err)
		}
	}
	err := c.tls.HandshakeContext(ctx)
	h.release()
	if sent := c.flush(); err == nil { // also the alert of a failure
		err = sent
	}
	if err == nil && !inTime() {
		err = os.ErrDeadlineExceeded // the watchdog closes, or has closed, what is below
	}
	return c.limited(err)
}

// read is for crypto/tls: it sends what was written, waits for the peer, and
// then for a permit if there is something to compute.
func (h *handshake) read(p []byte) (int, error) {
	h.release()
	if err := h.c.flush(); err != nil {
		return 0, err
	}
	n, err := h.c.raw.Read(p)
	if h.records.add(p[:n]) {
		if err := h.acquire(); err != nil {
			return 0, err
		}
	}
	return n, err
}

// acquire waits for a permit, within the time and until ctx is done. An error
// closes the connection below. Parks.
func (h *handshake) acquire() error {
	if h.permits == nil || h.computing {
		return nil
	}
	if !h.permits.TryAcquire(1) {
		if err := h.awaitPermit(); err != nil {
			h.c.closeRaw()
			return err
		}
	}
	h.computing = true
	if h.c.rawClosed.Load() { // meanwhile: not worth computing
		return h.c.opError("read", net.ErrClosed)
	}
	return nil
}

func (h *handshake) awaitPermit() error {
	switch {
	case h.until.IsZero():
		return h.permits.AcquireContext(h.ctx, 1)
	case h.ctx.Done() == nil:
		return h.permits.AcquireTimeout(1, time.Until(h.until))
	}
	limited, cancel := context.WithDeadline(h.ctx, h.until)
	defer cancel()
	err := h.permits.AcquireContext(limited, 1)
	if err != nil && h.ctx.Err() == nil && limited.Err() != nil {
		err = os.ErrDeadlineExceeded
	}
	return err
}

func (h *handshake) release() {
	if h.computing {
		h.computing = false
		h.permits.Release(1)
	}
}

// records finds where the records of a stream end.
type records struct {
	header [5]byte
	have   int // of header
	left   int // of what follows it
}

// add reports whether a record ends within p, the next bytes of the stream.
func (r *records) add(p []byte) (ended bool) {
	for len(p) > 0 {
		if r.have < len(r.header) {
			n := copy(r.header[r.have:], p)
			r.have, p = r.have+n, p[n:]
			r.left = int(r.header[3])<<8 | int(r.header[4])
		}
		if r.have == len(r.header) {
			n := min(r.left, len(p))
			r.left, p = r.left-n, p[n:]
			if r.left == 0 {
				ended, r.have = true, 0
			}
		}
	}
	return ended
}

// limited returns the error of a handshake as a caller should see it.
func (c *Conn) limited(err error) error {
	switch header, ok := err.(RecordHeaderError); {
	case err == nil:
		return nil
	case c.late.Load(), err == os.ErrDeadlineExceeded:
		return c.opError("handshake", os.ErrDeadlineExceeded)
	case ok && header.Conn != nil:
		header.Conn = c.raw // not the wire: it is to be written to
		return header
	}
	return err
}
