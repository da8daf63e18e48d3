package tls

import (
	"context"
	stdtls "crypto/tls"
	"fmt"
	"net"
	"os"
	stdsync "sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/internal/serving"
	"github.com/netco-go/netco/sync"
)

// Conn is a TLS connection, a net.Conn: crypto/tls's, whose methods park a
// coroutine and block a goroutine. Any number of both may use it at the same
// time; Reads are serialised among themselves, as are Writes.
//
// Renegotiation is off, whatever Config says.
type Conn struct {
	tls      *stdtls.Conn // its conn is &wire
	raw      net.Conn
	limits   *Limits // constant
	isClient bool    // constant

	shake     sync.Mutex  // serialises handshakes; nothing else calls tls meanwhile
	shaken    atomic.Bool // the handshake has succeeded; written under shake
	shakeErr  error       // under shake: why it has failed
	closed    atomic.Bool // Close was called
	closeOnce stdsync.Once
	writeEnds atomic.Int64 // the write deadline, Unix ns; 0 is none

	read sync.Mutex // serialises Reads
	send sync.Mutex // serialises Writes and sends of Reads; held across waits
	wire wire

	peek   [1]byte // under read
	peeked bool    // under read: peek precedes what tls returns next
	lent   *buffer // under read: is tls's rawInput, or was
}

// maxChunk is how much Write encrypts before it sends: the largest record.
const maxChunk = 16 << 10

// maxUnsent is how many bytes a Read leaves to Writes to send.
const maxUnsent = 64 << 10

// Read reads decrypted bytes, waiting for some if need be, and shakes hands
// first. After the error of a deadline, or of Stop, reading may go on, also
// within a record.
// io.EOF is the peer's close_notify, or the end of the stream between two
// records. Parks.
//
// Read answers the peer's key updates, and sends an alert about invalid
// records. It waits until these are sent if no Write is under way.
func (c *Conn) Read(p []byte) (int, error) {
	if err := c.Handshake(); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	c.read.Lock()
	defer c.read.Unlock()
	if c.peeked {
		c.peeked = false
		p[0] = c.peek[0]
		if len(p) == 1 {
			return 1, nil
		}
		n, _ := c.decrypt(p[1:]) // the next Read returns the error again
		return 1 + n, nil
	}
	for {
		n, err := c.decrypt(p)
		if err != errEmpty {
			return n, err
		}
		n, err = c.wire.fill()
		if err != nil {
			return 0, err
		}
		c.lend(n)
	}
}

// Readable reports whether a Read returns at once, with bytes or an error, from
// what was received already. It is for handlers of a socket.Server, which
// return once nothing is left. It waits for a Read that is under way.
func (c *Conn) Readable() bool {
	if !c.shaken.Load() {
		return false
	}
	c.read.Lock()
	defer c.read.Unlock()
	if !c.peeked {
		n, err := c.decrypt(c.peek[:])
		if n == 0 {
			return err != errEmpty
		}
		c.peeked = true
	}
	return true
}

// decrypt calls crypto/tls's Read on the bytes received. It returns errEmpty if
// these are not enough. Precondition: read is held.
//
// decrypt sends the bytes that crypto/tls writes meanwhile, unless a Write is
// under way, which then sends them: a Read that waited for the Write could
// deadlock two peers that both write. decrypt does not send after a deadline
// has ended a Write, either. It bounds the unsent bytes, so that a peer cannot
// make it pile up answers.
func (c *Conn) decrypt(p []byte) (int, error) {
	if c.wire.unsent.Load() > maxUnsent {
		if err := c.flush(); err != nil {
			return 0, err
		}
	}
	n, err := c.tls.Read(p)
	if c.wire.pending() && c.send.TryLock() {
		c.wire.send() // the next Write returns the error, too
		c.unlockSend()
	}
	if err == errEmpty {
		if n > 0 {
			return n, nil
		}
		c.shrink()
	}
	return n, err
}

// unlockSend unlocks send, and sends the bytes that Reads have left to its
// holder.
func (c *Conn) unlockSend() {
	for {
		c.send.Unlock()
		if !c.wire.pending() || !c.send.TryLock() {
			return
		}
		c.wire.send()
	}
}

// flush sends the bytes that crypto/tls has written. Parks.
func (c *Conn) flush() error {
	if c.wire.unsent.Load() == 0 {
		return nil
	}
	c.send.Lock()
	defer c.unlockSend()
	return c.wire.send()
}

// Write encrypts p and sends it, after a handshake if there was none. Parks.
//
// With an error, n is how many bytes were encrypted and are sent: all of them
// before Write has returned, except that the last 16 KiB of a Write that a
// deadline or Stop has ended may be sent by the next one. So unlike with
// crypto/tls, the connection may be written to afterwards, with p[n:] or
// anything else.
func (c *Conn) Write(p []byte) (n int, err error) {
	if c.closed.Load() {
		return 0, net.ErrClosed
	}
	if err := c.Handshake(); err != nil {
		return 0, err
	}
	c.send.Lock()
	defer c.unlockSend()
	if at := c.writeEnds.Load(); at != 0 && time.Now().UnixNano() >= at {
		return 0, os.ErrDeadlineExceeded
	}
	if err := c.wire.send(); err != nil {
		return 0, err
	}
	for {
		m, err := c.tls.Write(p[n:min(len(p), n+maxChunk)])
		n += m
		if err != nil {
			return n, err
		}
		if err := c.wire.send(); err != nil {
			if !isPassing(err) {
				n -= m
			}
			return n, err
		}
		if n == len(p) {
			return n, nil
		}
	}
}

// CloseWrite sends close_notify and ends writing, after a Write that is under
// way. It does not call CloseWrite on the connection below. It parks for 5 s at
// most.
func (c *Conn) CloseWrite() error {
	if !c.shaken.Load() {
		return c.tls.CloseWrite() // it does not wait
	}
	c.send.Lock()
	defer c.unlockSend()
	return c.closeNotify(c.tls.CloseWrite)
}

// closeNotify calls end, which makes crypto/tls write close_notify, and sends
// that. Precondition: send is held.
func (c *Conn) closeNotify(end func() error) error {
	err := end()
	c.wire.end()
	if c.wire.unsent.Load() == 0 {
		return err // the second time
	}
	c.raw.SetWriteDeadline(time.Now().Add(closeNotifyTimeout))
	if serr := c.wire.send(); serr != nil {
		err = serr
	}
	c.raw.SetWriteDeadline(time.Now())
	return err
}

const closeNotifyTimeout = 5 * time.Second

// Close sends close_notify, if the handshake has succeeded and no Write is
// under way, for 5 s at most, and closes the connection below. Reads and Writes
// end with net.ErrClosed. A second Close returns net.ErrClosed, too; the first
// also returns an error if the end of a handshake has closed the connection
// below. Parks.
func (c *Conn) Close() error {
	if !c.closed.CompareAndSwap(false, true) {
		return net.ErrClosed
	}
	var notified error
	if c.shaken.Load() && c.send.TryLock() {
		notified = c.closeNotify(c.tls.Close)
		c.unlockSend()
	}
	if err := c.raw.Close(); err != nil {
		return err
	}
	if notified != nil {
		return fmt.Errorf(
			"tls: failed to send closeNotify alert (but connection was closed anyway): %w",
			notified,
		)
	}
	return nil
}

// closeRaw closes the connection below, at the end of a handshake.
func (c *Conn) closeRaw() { c.closeOnce.Do(func() { c.raw.Close() }) }

// Handshake shakes hands, if that has not happened yet. Read and Write call it.
// A failure is final. Parks.
func (c *Conn) Handshake() error {
	if c.shaken.Load() {
		return nil
	}
	return c.HandshakeContext(context.Background())
}

// HandshakeContext is Handshake until ctx is done, or the time of Limits is up:
// the connection below is closed then. The context of callbacks is derived from
// ctx. Parks.
func (c *Conn) HandshakeContext(ctx context.Context) error {
	if c.shaken.Load() {
		return nil
	}
	if err := c.lockShake(ctx); err != nil {
		c.closeRaw()
		return err
	}
	defer c.shake.Unlock()
	if c.shaken.Load() || c.shakeErr != nil {
		return c.shakeErr
	}
	c.shakeErr = c.handshake(ctx)
	c.shaken.Store(c.shakeErr == nil)
	if c.shakeErr == nil && c.wire.in == nil {
		serving.Answered(c.raw)
	}
	return c.shakeErr
}

func (c *Conn) lockShake(ctx context.Context) error {
	if ctx.Done() == nil {
		c.shake.Lock()
		return nil
	}
	return c.shake.LockContext(ctx)
}

// ConnectionState returns crypto/tls's details about the connection. It waits
// for a handshake that is under way. Parks.
func (c *Conn) ConnectionState() ConnectionState {
	defer c.settle()()
	return c.tls.ConnectionState()
}

// OCSPResponse returns the OCSP response that the server has stapled, if any.
// It waits as ConnectionState.
func (c *Conn) OCSPResponse() []byte {
	defer c.settle()()
	return c.tls.OCSPResponse()
}

// VerifyHostname returns nil if the peer's certificates are valid for host,
// else an error. It is for clients, after the handshake. It waits as
// ConnectionState.
func (c *Conn) VerifyHostname(host string) error {
	defer c.settle()()
	return c.tls.VerifyHostname(host)
}

// settle waits for a handshake that is under way, which holds the mutex of
// crypto/tls, and keeps new handshakes from starting until the caller calls
// done.
func (c *Conn) settle() (done func()) {
	if c.shaken.Load() {
		return func() {}
	}
	c.shake.Lock()
	return c.shake.Unlock
}

// NetConn returns the connection below. Reading or writing it breaks TLS.
func (c *Conn) NetConn() net.Conn { return c.raw }

// LocalAddr returns the local address.
func (c *Conn) LocalAddr() net.Addr { return c.raw.LocalAddr() }

// RemoteAddr returns the peer's address.
func (c *Conn) RemoteAddr() net.Addr { return c.raw.RemoteAddr() }

// SetDeadline sets when Reads and Writes, present and future, end with
// os.ErrDeadlineExceeded. The zero time is never. The connection is usable
// afterwards, except that a handshake which a deadline ends has failed.
func (c *Conn) SetDeadline(t time.Time) error {
	c.setWriteEnds(t)
	return c.raw.SetDeadline(t)
}

// SetReadDeadline is SetDeadline for Reads.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.raw.SetReadDeadline(t) }

// SetWriteDeadline is SetDeadline for Writes.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.setWriteEnds(t)
	return c.raw.SetWriteDeadline(t)
}

func (c *Conn) setWriteEnds(t time.Time) {
	at := int64(0)
	if !t.IsZero() {
		at = max(1, t.UnixNano())
	}
	c.writeEnds.Store(at)
}
