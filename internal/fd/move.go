package fd

import (
	"io"
	"math"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// transfer copies from one stream socket to another, in a loop of two steps:
// take gets bytes from the source, waiting if there are none, and give passes
// them to the sink.
//
//	empty    holds neither buffer nor pipe
//	in buf   bytes from..to of a buffer of the Processor
//	in pipe  held bytes
//
//	take: empty → in buf     for small amounts: one recv and one send, in
//	                         memory that is in the cache
//	take: empty → in pipe    for bulk data: after full buffers in a row, until
//	                         pieces are small again
//	give: in … → empty       all of it reached the sink
//	end:  in … → empty       what did not reach the sink is lost
//
// A transfer waits for the source only when empty, so an idle connection costs
// neither buffer nor pipe. It holds the source's read lock from take on, and
// releases the lock only to wait for the sink, so that a slow sink does not
// delay a Close of the source. It holds the sink's write lock in give. It never
// waits for a read lock while it holds a write lock, so copies in a circle do
// not deadlock.
type transfer struct {
	src, dst *FD
	remain   int64 // bytes still to be moved
	moved    int64 // bytes that have reached the sink

	locked bool // has src's read lock
	last   int  // bytes of the last round, not yet accounted for in the budget

	buf      *processor.Buffer
	from, to int
	pipe     *Pipe
	held     int

	fulls  int // takes in a row that filled the buffer; spliceAfter of them begin splicing
	smalls int // splices in a row that got less than a buffer's worth
}

// Unlimited is the length for Move when only the end of the stream ends it.
const Unlimited = math.MaxInt64

const (
	spliceAfter = 2
	spliceUntil = 4   // smalls
	noPipe      = -64 // fulls when no pipe was available: 64 full buffers until the next attempt
	noSplice    = math.MinInt
)

// Move copies up to n bytes, or to the end of the stream, and returns how many
// have reached the sink.
func Move(dst, src *FD, n int64) (int64, error) {
	t := transfer{src: src, dst: dst, remain: n}
	err := t.run()
	return t.moved, err
}

func (t *transfer) run() error {
	defer t.end() // also when a wait for a lock unwinds
	for t.remain > 0 {
		if err := t.take(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := t.give(); err != nil {
			return err
		}
	}
	return nil
}

// end releases everything. Bytes that the sink did not take are lost, as with
// net: the copy returns the number of bytes that reached the sink.
func (t *transfer) end() {
	t.letGo()
	t.unlockSource()
}

// letGo releases buffer and pipe.
func (t *transfer) letGo() {
	if t.buf != nil {
		t.buf.Release()
		t.buf, t.from, t.to = nil, 0, 0
	}
	switch {
	case t.pipe == nil:
		return
	case t.held == 0:
		t.pipe.Release()
	default:
		t.pipe.discard()
	}
	t.pipe, t.held = nil, 0
}

func (t *transfer) unlockSource() {
	if t.locked {
		t.locked = false
		t.src.Unlock(Read)
	}
}

// take waits for bytes and takes the available ones, or returns io.EOF.
func (t *transfer) take() error {
	s := t.src
	if !t.locked {
		if !s.mu.Lock(Read) {
			return net.ErrClosed
		}
		t.locked = true
	}
	if t.last > 0 {
		s.spendRead(t.last) // for both directions, while no buffer is held
		t.last = 0
	}
	if v := s.check(Read); v != processor.Try {
		return verdictError(v)
	}
	for {
		if s.worthAttemptLocked() {
			n, call, errno := t.tryTake()
			switch {
			case n > 0:
				s.NoteRead()
				t.last = n
				return nil
			case errno == 0:
				return io.EOF
			case errno != unix.EAGAIN:
				return os.NewSyscallError(call, errno)
			}
		}
		t.letGo()
		if err := s.awaitReadableLocked(processor.Current()); err != nil {
			return err
		}
	}
}

// tryTake takes the available bytes, by one or two system calls.
func (t *transfer) tryTake() (n int, call string, errno syscall.Errno) {
	s := t.src
	s.pd.Clear(Read)
	if t.fulls >= spliceAfter && t.openPipe() {
		if errno = s.keepNonblocking(); errno == 0 { // SPLICE_F_NONBLOCK is about the pipe
			n, errno = sysx.TrySpliceIn(t.pipe.fds.w, s.fd, int(min(pipeSize, t.remain)))
		}
		processor.CountRead(n, errno)
		switch {
		case errno == unix.EINVAL:
			t.fulls = noSplice // not from this kind of socket
		case n == 0 && errno == 0, errno == unix.EAGAIN && (s.pd.Shared() || s.pd.ReadOn()):
			// In front of urgent data a splice finds nothing for ever, or the
			// end of the stream if the peer has closed it. A read goes on
			// behind it.
		default:
			s.endAttemptLocked(false, errno)
			t.spliced(n)
			return n, "splice", errno
		}
		t.letGo()
	}
	if t.buf == nil {
		t.buf = processor.AcquireAnyBuffer()
	}
	p := t.buf.Bytes()
	n, short, errno := s.tryRecv(processor.CurrentIO(), p[:min(int64(len(p)), t.remain)])
	s.endAttemptLocked(short && n > 0, errno)
	t.to = n
	switch {
	case n == len(p):
		t.fulls++
	case t.fulls > 0 && errno == 0:
		t.fulls = 0
	}
	return n, "read", errno
}

// openPipe gets a pipe, unless it has one.
func (t *transfer) openPipe() bool {
	if t.pipe == nil {
		t.pipe = AcquirePipe()
	}
	if t.pipe == nil {
		t.fulls = noPipe
	}
	return t.pipe != nil
}

// spliced decides by the size of a piece whether splicing pays.
func (t *transfer) spliced(n int) {
	t.held = n
	switch {
	case n >= spliceMin:
		t.smalls = 0
	case n > 0:
		if t.smalls++; t.smalls >= spliceUntil {
			t.smalls, t.fulls = 0, 0
		}
	}
}

// spliceMin is the size in bytes from which on splicing pays.
const spliceMin = 16 << 10

// give passes the bytes of take to the sink.
func (t *transfer) give() error {
	d := t.dst
	if !d.mu.TryLock(Write) {
		t.unlockSource()
		if !d.mu.Lock(Write) {
			return net.ErrClosed
		}
	}
	err := t.giveLocked()
	d.Unlock(Write)
	return err
}

func (t *transfer) giveLocked() error {
	d := t.dst
	if v := d.check(Write); v != processor.Try {
		return verdictError(v)
	}
	for {
		n, call, errno := t.tryGive()
		t.moved += int64(n)
		t.remain -= int64(n)
		switch {
		case errno == 0 && t.held == 0 && t.from == t.to:
			t.letGo()
			return nil
		case errno == 0:
			d.spendWrite(n)
		case errno != unix.EAGAIN:
			return os.NewSyscallError(call, errno)
		default:
			t.unlockSource()
			if err := d.awaitWritableLocked(); err != nil {
				return err
			}
		}
	}
}

// tryGive passes as many bytes as the sink takes without a wait.
func (t *transfer) tryGive() (n int, call string, errno syscall.Errno) {
	if t.held > 0 {
		if errno = t.dst.keepNonblocking(); errno == 0 {
			n, errno = sysx.TrySpliceOut(t.dst.fd, t.pipe.fds.r, t.held)
		}
		processor.CountWrite(n, errno)
		t.held -= n
		return n, "splice", errno
	}
	n, errno = t.dst.TrySend(t.buf.Bytes()[t.from:t.to])
	t.from += n
	return n, "write", errno
}
