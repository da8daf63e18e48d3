package socket

import (
	"io"
	"net"
	"time"
)

// Pipe returns the two ends of a connection within the process, as net.Pipe does: a write is done when reads of the other end have
// taken all of it, nothing is buffered, and deadlines are kept. Waiting parks a coroutine, so both ends may be used by coroutines
// of one Processor, which those of net.Pipe may not. There is no fd behind it. Reads and writes do not allocate.
//
// Errors are net.Pipe's: io.EOF for a read when the other end was closed, io.ErrClosedPipe for everything else on a pipe of which an
// end was closed, and *net.OpError around os.ErrDeadlineExceeded; besides these coroutine.ErrShutdown, when the scheduler ends by
// force. A deadline also ends a write that waits for another's to be done.
func Pipe() (net.Conn, net.Conn) {
	var p struct {
		ways [2]pipeWay
		ends [2]pipeEnd
	}
	p.ends[0] = pipeEnd{in: &p.ways[0], out: &p.ways[1]}
	p.ends[1] = pipeEnd{in: &p.ways[1], out: &p.ways[0]}
	return &p.ends[0], &p.ends[1]
}

// pipeEnd is what one side has of a pipe.
type pipeEnd struct{ in, out *pipeWay }

// pipeAddr is the address of either end.
type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

func (e *pipeEnd) LocalAddr() net.Addr  { return pipeAddr{} }
func (e *pipeEnd) RemoteAddr() net.Addr { return pipeAddr{} }

func (e *pipeEnd) Read(p []byte) (int, error) {
	n, err := e.in.do(reading, p)
	return n, pipeError("read", err)
}

func (e *pipeEnd) Write(p []byte) (int, error) {
	n, err := e.out.do(writing, p)
	return n, pipeError("write", err)
}

// pipeError wraps err as net.Pipe does, which leaves two as they are.
func pipeError(op string, err error) error {
	switch err {
	case nil, io.EOF, io.ErrClosedPipe:
		return err
	}
	return &net.OpError{Op: op, Net: "pipe", Err: err}
}

// Close ends what is under way on both ends. It always returns nil.
func (e *pipeEnd) Close() error {
	e.in.close(reading)
	e.out.close(writing)
	return nil
}

func (e *pipeEnd) SetDeadline(t time.Time) error {
	if err := e.SetReadDeadline(t); err != nil {
		return err
	}
	return e.SetWriteDeadline(t)
}

func (e *pipeEnd) SetReadDeadline(t time.Time) error {
	return e.in.setDeadline(reading, deadline(t))
}

func (e *pipeEnd) SetWriteDeadline(t time.Time) error {
	return e.out.setDeadline(writing, deadline(t))
}
