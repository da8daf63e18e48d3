package tls

import (
	"context"
	stdtls "crypto/tls"
	"net"
	"os"
	"sync"
	"time"

	"github.com/netco-go/netco/cosync"
)

// Limits bounds the handshakes of the connections that its methods return. A
// handshake costs a server about a millisecond of computing, and a silent peer
// holds a coroutine. The fields must not be changed after first use. The
// functions of the package use the zero value.
type Limits struct {
	// HandshakeTimeout is how long a handshake may take; then the connection
	// below is closed, and the error is os.ErrDeadlineExceeded. 0 is
	// DefaultHandshakeTimeout, negative is no limit but those of deadlines and
	// contexts.
	HandshakeTimeout time.Duration

	// MaxHandshakes, if it is not 0, is how many handshakes may be under way,
	// over all connections of this Limits. Others wait in the order of arrival;
	// their time runs.
	MaxHandshakes int

	once    sync.Once
	permits *cosync.Semaphore // written in once; nil for any number
}

// DefaultHandshakeTimeout is how long a handshake may take by default.
const DefaultHandshakeTimeout = 10 * time.Second

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
	c.tls = stdtls.Client(&c.wire, config)
	return c
}

func (l *Limits) newConn(conn net.Conn) *Conn {
	c := &Conn{raw: conn, limits: l}
	c.wire.init(c)
	return c
}

func (l *Limits) timeout() time.Duration {
	if l.HandshakeTimeout == 0 {
		return DefaultHandshakeTimeout
	}
	return l.HandshakeTimeout
}

// acquire waits for one of MaxHandshakes, within the time and until ctx is
// done.
func (l *Limits) acquire(ctx context.Context) (release func(), err error) {
	if l.MaxHandshakes <= 0 {
		return func() {}, nil
	}
	l.once.Do(func() { l.permits = cosync.NewSemaphore(int64(l.MaxHandshakes)) })
	release = func() { l.permits.Release(1) }
	switch d := l.timeout(); {
	case ctx.Done() == nil && d > 0:
		return release, l.permits.AcquireTimeout(1, d)
	case d > 0:
		limited, cancel := context.WithTimeoutCause(ctx, d, os.ErrDeadlineExceeded)
		defer cancel()
		if err := l.permits.AcquireContext(limited, 1); err != nil {
			if ctx.Err() == nil && limited.Err() != nil {
				err = os.ErrDeadlineExceeded
			}
			return release, err
		}
		return release, nil
	}
	return release, l.permits.AcquireContext(ctx, 1)
}

// handshake is crypto/tls's handshake, within the limits. Precondition: shake
// is held.
func (c *Conn) handshake(ctx context.Context) error {
	begun := time.Now()
	release, err := c.limits.acquire(ctx)
	if err != nil {
		c.closeRaw()
		return c.limited(err)
	}
	defer release()
	inTime := func() bool { return true }
	if d := c.limits.timeout(); d > 0 {
		watchdog := time.AfterFunc(d-time.Since(begun), func() {
			c.late.Store(true)
			c.closeRaw()
		})
		inTime = watchdog.Stop
		defer inTime()
	}
	c.wire.shaking = true
	defer func() { c.wire.shaking = false }()
	err = c.tls.HandshakeContext(ctx)
	if sent := c.flush(); err == nil { // also the alert of a failure
		err = sent
	}
	if err == nil && !inTime() {
		err = os.ErrDeadlineExceeded // the watchdog closes, or has closed, what is below
	}
	return c.limited(err)
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
