package socket

import (
	"errors"
	"net"

	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/processor"
)

// lock takes the socket's write lock, which guards the writing side. The error
// is a closed connection's, or the first write error.
func (b *Buffered) lock() error {
	if !b.s.Lock(fd.Write) {
		return b.c.opError("write", net.ErrClosed)
	}
	if b.werr != nil {
		return b.unlock(b.werr)
	}
	return nil
}

// unlock releases the write lock. It returns err, or if that is nil the reason
// why written bytes are lost.
//
// A reader that found the lock taken waits, and has set needsFlush before its
// last attempt to lock. The holder checks needsFlush after it has unlocked: so
// the reader, the holder, or a caller that took the lock in between sends the
// unsent bytes.
//
// Close sends the unsent bytes if it finds the lock free. Otherwise the holder
// sends them: it sees the close while it still has the lock.
func (b *Buffered) unlock(err error) error {
	for b.s.UnlockIfOpen(fd.Write) {
		if !b.needsFlush.Load() || !b.s.TryLock(fd.Write) {
			return err
		}
		unsent := b.flushForReaderLocked()
		if err == nil && errors.Is(unsent, net.ErrClosed) {
			err = unsent // later calls return other errors
		}
	}
	if b.lastLocked() != nil && err == nil {
		err = b.c.opError("write", net.ErrClosed)
	}
	b.s.Unlock(fd.Write)
	return err
}

// autoFlush sends the written bytes. If another caller is writing, that caller
// sends them, so that a read never waits for a write.
func (b *Buffered) autoFlush() error {
	b.reads = 0
	if b.manual {
		return nil
	}
	if !b.s.TryLock(fd.Write) {
		b.needsFlush.Store(true)
		if !b.s.TryLock(fd.Write) {
			return nil
		}
	}
	return b.unlock(b.flushForReaderLocked())
}

// flushForReaderLocked is Flush for a reader: a slice that AvailableBuffer gave
// to a writer stays valid.
func (b *Buffered) flushForReaderLocked() error {
	if b.needsFlush.Load() {
		b.needsFlush.Store(false)
	}
	if b.start == b.end {
		b.dropLocked()
		return nil
	}
	err := b.sendLocked()
	b.dropLocked()
	return err
}

// Flush sends the written bytes, and waits for room if it must. Parks.
func (b *Buffered) Flush() error {
	if err := b.lock(); err != nil {
		return err
	}
	b.lent = false
	err := b.sendLocked()
	b.dropLocked()
	return b.unlock(err)
}

// Write takes all of p, and sends bytes when the buffer is full. A p of 16 KiB
// or more is sent at once without copying it, after the bytes written before.
// Parks only when it sends. It does not allocate.
func (b *Buffered) Write(p []byte) (int, error) {
	if err := b.lock(); err != nil {
		return 0, err
	}
	n, err := b.writeLocked(p)
	return n, b.unlock(err)
}

func (b *Buffered) writeLocked(p []byte) (done int, err error) {
	b.lent = false
	for done < len(p) {
		rest := p[done:]
		if len(rest) >= direct {
			n, err := b.passLocked(rest)
			return done + n, err
		}
		if err := b.roomLocked(); err != nil {
			return done, err
		}
		n := min(len(rest), len(b.out)-b.end)
		if &rest[0] != &b.out[b.end] { // else the caller built it there
			copy(b.out[b.end:], rest[:n])
		}
		b.end += n
		done += n
	}
	return done, nil
}

// passLocked sends the buffered bytes and then p, without copying p, which may
// point into out. It returns how much of p was sent.
func (b *Buffered) passLocked(p []byte) (n int, err error) {
	if b.start == b.end {
		n, err = b.s.WriteLocked(p)
	} else {
		pending := b.end - b.start
		pieces := [2][]byte{b.out[b.start:b.end], p}
		v := Buffers(pieces[:])
		sent, failed := b.s.WriteVecLocked((*[][]byte)(&v))
		n, err = max(0, int(sent)-pending), failed
		b.start = b.end
	}
	b.dropLocked()
	return n, b.sentLocked(err)
}

// WriteString is Write of a string.
func (b *Buffered) WriteString(s string) (done int, err error) {
	if err := b.lock(); err != nil {
		return 0, err
	}
	b.lent = false
	for done < len(s) && err == nil {
		if err = b.roomLocked(); err == nil {
			n := copy(b.out[b.end:], s[done:])
			b.end += n
			done += n
		}
	}
	return done, b.unlock(err)
}

// WriteByte is Write of one byte.
func (b *Buffered) WriteByte(c byte) error {
	if err := b.lock(); err != nil {
		return err
	}
	b.lent = false
	err := b.roomLocked()
	if err == nil {
		b.out[b.end] = c
		b.end++
	}
	return b.unlock(err)
}

// AvailableBuffer returns an empty slice whose capacity is the room left in the
// buffer, to append to and to give to the next Write, which then need not copy.
// With little room left, Flush makes a whole buffer of it. After an error the
// slice has no capacity, and Write returns the error. A buffer that is given
// out is held until that Write. It does not park, unless another caller is
// writing.
func (b *Buffered) AvailableBuffer() []byte {
	if b.lock() != nil {
		return nil
	}
	b.acquireLocked()
	b.lent = true
	p := b.out[b.end:b.end]
	if b.unlock(nil) != nil {
		return nil
	}
	return p
}

// acquireLocked makes sure that there is a buffer. It may be full.
func (b *Buffered) acquireLocked() {
	if b.start == b.end {
		b.start, b.end = 0, 0
	}
	if b.out == nil {
		b.outBuf = processor.AcquireAnyBuffer()
		b.out = b.outBuf.Bytes()
	}
}

// roomLocked makes sure that out[end:] has a free byte, and sends the buffered
// bytes if it has none.
func (b *Buffered) roomLocked() error {
	if b.out != nil && b.end < len(b.out) {
		return nil
	}
	if err := b.sendLocked(); err != nil {
		return err
	}
	b.acquireLocked()
	return nil
}

// sendLocked sends the buffered bytes and leaves the buffer empty.
func (b *Buffered) sendLocked() error {
	if b.start == b.end {
		return nil
	}
	n, err := b.s.WriteLocked(b.out[b.start:b.end])
	b.start += n
	return b.sentLocked(err)
}

// sentLocked keeps an error for later calls, and drops the unsent bytes.
func (b *Buffered) sentLocked(err error) error {
	if err == nil {
		return nil
	}
	b.werr = b.c.opError("write", err)
	b.start = b.end
	b.dropLocked()
	return b.werr
}

// dropLocked gives an empty buffer back, unless a caller is appending to it.
func (b *Buffered) dropLocked() {
	if b.start == b.end && b.outBuf != nil && !b.lent {
		b.outBuf.Release()
		b.out, b.outBuf, b.start, b.end = nil, nil, 0, 0
	}
}
