package tls

import (
	"context"
	stdtls "crypto/tls"
	"errors"
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
	// time, on all connections of this Limits. Callbacks of Config count as
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

// handshake is a handshake of crypto/tls. It holds one permit of MaxHandshakes
// only while it computes, so a slow peer keeps no other handshake waiting.
//
//	state      permit  means                    becomes
//	waiting    no      crypto/tls wants to      computing, when something has
//	                   read, or it is over      come and a permit is free
//	computing  yes     crypto/tls runs          waiting, when crypto/tls wants
//	                                            to read, and at the end
//
// A client begins with computing, a server with waiting. With a part of a
// record crypto/tls only checks a header.
//
// Owner: the caller that shakes hands.
type handshake struct {
	c         *Conn
	ctx       context.Context // the caller's, within the time
	permits   *sync.Semaphore
	computing bool // the handshake holds a permit
}

// handshake is crypto/tls's handshake, within the limits. Precondition: shake
// is held.
func (c *Conn) handshake(ctx context.Context) (err error) {
	h := &handshake{c: c, ctx: ctx, permits: c.limits.computing()}
	if d := c.limits.timeout(); d > 0 {
		var cancel context.CancelFunc
		h.ctx, cancel = context.WithTimeoutCause(ctx, d, os.ErrDeadlineExceeded)
		defer cancel()
	}
	inTime := context.AfterFunc(h.ctx, c.closeRaw)
	c.wire.shaking = h
	defer func() {
		c.wire.shaking = nil
		h.release()
	}()
	if c.isClient {
		err = h.acquire()
	}
	if err == nil {
		err = c.tls.HandshakeContext(ctx)
	}
	h.release()
	if sent := c.flush(); err == nil { // after a failure it sends the alert
		err = sent
	}
	// A waiter for a permit may see the end of h.ctx before closeRaw's start.
	if !inTime() || err != nil && errors.Is(err, h.ctx.Err()) {
		c.closeRaw() // it waits for a closeRaw under way
		if err = context.Cause(h.ctx); err != os.ErrDeadlineExceeded {
			err = h.ctx.Err()
		}
	}
	if header, ok := err.(RecordHeaderError); ok && header.Conn != nil {
		header.Conn = c.raw // not the wire: the user may write to it
		err = header
	}
	return err
}

// read is for crypto/tls: it sends what was written, waits for the peer, and
// then for a permit.
func (h *handshake) read(p []byte) (int, error) {
	h.release()
	if err := h.c.flush(); err != nil {
		return 0, err
	}
	n, err := h.c.raw.Read(p)
	if n > 0 {
		if err := h.acquire(); err != nil {
			return 0, err
		}
	}
	return n, err
}

// acquire waits for a permit until the handshake's context is done. Parks.
func (h *handshake) acquire() error {
	if h.permits == nil {
		return nil
	}
	if !h.permits.TryAcquire(1) {
		if err := h.permits.AcquireContext(h.ctx, 1); err != nil {
			return err
		}
	}
	h.computing = true
	return h.ctx.Err() // not worth computing
}

func (h *handshake) release() {
	if h.computing {
		h.computing = false
		h.permits.Release(1)
	}
}
