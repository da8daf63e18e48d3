package socket

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/processor"
)

// ErrTooLong is returned for a line, or a Peek, of more than Buffered.SetLimit
// allows. It is a bufio.ErrBufferFull.
var ErrTooLong = fmt.Errorf("netco/socket: more than the limit of the buffer: %w",
	bufio.ErrBufferFull)

// Buffered returns how many bytes can be read without asking the socket.
func (b *Buffered) Buffered() int { return b.w - b.r }

// Read reads available bytes into p, at least one; see net.Conn. Large reads
// bypass the buffer. Parks.
func (b *Buffered) Read(p []byte) (int, error) {
	if b.r == b.w {
		if len(p) == 0 {
			return 0, nil
		}
		if len(p) >= direct {
			return b.readDirect(p)
		}
		if err := b.fill(1); err != nil {
			return 0, err
		}
	}
	b.turn.call()
	n := copy(p, b.in[b.r:b.w])
	b.r += n
	return n, nil
}

// ReadByte reads one byte. Parks.
func (b *Buffered) ReadByte() (byte, error) {
	if b.r == b.w {
		if err := b.fill(1); err != nil {
			return 0, err
		}
	}
	b.turn.byte()
	b.r++
	return b.in[b.r-1], nil
}

// Peek returns the next n bytes without taking them. With an error it returns
// fewer: io.EOF if the stream ends before, ErrTooLong if n exceeds the limit.
// Peek(Buffered()) does not wait. Parks. It allocates only if n bytes do not
// fit in a buffer.
func (b *Buffered) Peek(n int) ([]byte, error) {
	if n < 0 {
		return nil, bufio.ErrNegativeCount
	}
	b.turn.call()
	for b.w-b.r < n {
		if err := b.fill(n); err != nil {
			return b.in[b.r:b.w], err
		}
	}
	return b.in[b.r : b.r+n], nil
}

// Discard takes the next n bytes and forgets them. It returns how many it has
// taken, fewer than n only with an error. Parks.
func (b *Buffered) Discard(n int) (int, error) {
	if n < 0 {
		return 0, bufio.ErrNegativeCount
	}
	b.turn.call()
	for left := n; ; {
		took := min(left, b.w-b.r)
		b.r += took
		if left -= took; left == 0 {
			return n, nil
		}
		if err := b.fill(1); err != nil {
			return n - left, err
		}
	}
}

// ReadSlice takes everything up to and including the first delim. At the end of
// the stream it returns the rest, and io.EOF. With any other error, ErrTooLong
// among them, it takes nothing. Parks. It allocates only if the result does not
// fit in a buffer.
func (b *Buffered) ReadSlice(delim byte) ([]byte, error) {
	b.turn.call()
	for seen := 0; ; {
		if i := bytes.IndexByte(b.in[b.r+seen:b.w], delim); i >= 0 {
			return b.take(seen + i + 1), nil
		}
		seen = b.w - b.r
		if err := b.fill(seen + 1); err == io.EOF {
			return b.take(seen), err
		} else if err != nil {
			return nil, err
		}
	}
}

func (b *Buffered) take(n int) []byte {
	p := b.in[b.r : b.r+n : b.r+n]
	b.r += n
	return p
}

// ReadLine takes a line and returns it without its end, \n or \r\n. A stream
// that ends within a line is io.ErrUnexpectedEOF, so that a command cut short
// is not taken for a shorter one. Otherwise it is like ReadSlice.
func (b *Buffered) ReadLine() ([]byte, error) {
	line, err := b.ReadSlice('\n')
	if err != nil {
		if len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

// WriteTo writes to w until the end of the stream, straight from the buffer;
// io.Copy calls it. w may be the Buffered itself. Parks.
func (b *Buffered) WriteTo(w io.Writer) (total int64, err error) {
	for {
		if b.r < b.w {
			n, err := w.Write(b.in[b.r:b.w])
			b.r += n
			total += int64(n)
			if err != nil {
				return total, err
			}
			if b.r < b.w {
				return total, io.ErrShortWrite
			}
		}
		if err := b.fill(1); err == io.EOF {
			return total, nil
		} else if err != nil {
			return total, err
		}
	}
}

// WaitReadable waits until a read will probably return without a wait. It
// returns at once if bytes are buffered; otherwise it sends the written bytes
// first, and holds no buffer while it waits. Parks.
func (b *Buffered) WaitReadable() error {
	if b.r < b.w {
		return nil
	}
	return b.idle(fd.ErrWouldPark)
}

// fill appends at least one received byte to the buffered bytes, in a buffer
// with room for need bytes in all.
func (b *Buffered) fill(need int) error {
	for {
		if err := b.makeRoom(need); err != nil {
			if b.r == b.w {
				b.release()
			}
			return err
		}
		n, err := b.s.TryRead(b.in[b.w:])
		if n > 0 {
			b.w += n
			return b.hasRead()
		}
		if err := b.idle(err); err != nil {
			return err
		}
	}
}

// readDirect is fill into the caller's memory. Precondition: nothing is
// buffered.
func (b *Buffered) readDirect(p []byte) (int, error) {
	for {
		n, err := b.s.TryRead(p)
		if n > 0 {
			return n, b.hasRead()
		}
		if err := b.idle(err); err != nil {
			return 0, err
		}
	}
}

// makeRoom ensures a free byte at in[w:], and room for need bytes from in[r:]
// on.
func (b *Buffered) makeRoom(need int) error {
	if b.in == nil {
		b.inBuf = processor.AcquireAnyBuffer()
		b.in = b.inBuf.Bytes()
	}
	if b.r > 0 {
		b.w = copy(b.in, b.in[b.r:b.w])
		b.r = 0
	}
	if need <= len(b.in) {
		return nil
	}
	if need > b.limit {
		return ErrTooLong
	}
	in := make([]byte, min(max(need, 2*len(b.in)), b.limit))
	w := copy(in, b.in[:b.w])
	b.release()
	b.in, b.w = in, w
	return nil
}

// release gives the reading side's memory back.
func (b *Buffered) release() {
	if b.inBuf != nil {
		b.inBuf.Release()
	}
	b.in, b.inBuf, b.r, b.w = nil, nil, 0, 0
}

// hasRead sends the written bytes after maxReads reads in a row that found
// data: a peer that never stops sending would otherwise get no answer until a
// buffer is full. The error is net.ErrClosed only; later calls return other
// errors.
func (b *Buffered) hasRead() error {
	if b.reads++; b.reads < maxReads {
		return nil
	}
	if err := b.autoFlush(); errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// idle is called with the error of an attempt to read. It releases an empty
// buffer, sends the written bytes, and waits if the error is fd.ErrWouldPark.
// nil means to try again.
func (b *Buffered) idle(found error) error {
	if b.r == b.w {
		b.release()
	}
	unsent := b.autoFlush()
	switch {
	case found == io.EOF && !errors.Is(unsent, net.ErrClosed):
		return found
	case found != fd.ErrWouldPark && found != io.EOF:
		return b.c.opError("read", found)
	case unsent != nil:
		return unsent
	}
	b.turn.units = 0
	if b.r < b.w {
		b.s.NoteRead() // part of a request is here, though all before it are answered
	}
	return b.stream.WaitReadable()
}

// turnCheck yields between requests that are served from a buffer: 16 KiB of
// small ones may take longer than a second, and none of them makes a system
// call, where a coopBudget would read the clock. Owner: the reader.
//
// Reads that find data count units. After each step units turnCheck reads the
// clock, and yields when the turn is over. The step is shorter where the work
// between two reads takes long.
type turnCheck struct {
	units uint8 // since the clock was last read
	step  uint8 // 0 is maxStep
}

const (
	callUnits = 8  // a ReadByte counts one
	maxStep   = 64 // eight calls: the clock is read, some 40 ns, once for eight requests
)

func (tc *turnCheck) call() {
	if tc.units += callUnits; tc.units >= tc.step {
		tc.check()
	}
}

func (tc *turnCheck) byte() {
	if tc.units++; tc.units >= tc.step {
		tc.check()
	}
}

// check yields if the turn is over, and adapts the step: down to one call when
// the turn has lasted twice its limit, up again by doubling.
func (tc *turnCheck) check() {
	if tc.step == 0 {
		tc.step = maxStep // the first request of all
		return
	}
	tc.units = 0
	age := processor.TurnAge()
	switch {
	case age < processor.TurnLimit:
		tc.step = min(2*tc.step, maxStep)
		return
	case age >= 2*processor.TurnLimit:
		tc.step = callUnits
	}
	// A cancelled coroutine notices when the buffer is empty.
	processor.YieldTurn()
}
