package socket

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/processor"
)

// stream returns the connection that v is, or nil if it is no stream.
func stream(v any) *conn {
	if c := connOf(v); c != nil && !c.s.HasPackets() {
		return c
	}
	return nil
}

// readFrom is ReadFrom for all types that have one.
func (c *conn) readFrom(r io.Reader) (int64, error) {
	n, err := c.readAll(r)
	return n, c.opError("readfrom", err)
}

func (c *conn) readAll(r io.Reader) (n int64, err error) {
	remain, inner := int64(fd.Unlimited), r
	limited, _ := r.(*io.LimitedReader)
	if limited != nil {
		if remain, inner = limited.N, limited.R; remain <= 0 {
			return 0, nil
		}
	}
	handled := true
	if src := stream(inner); src != nil {
		n, err = fd.Move(&c.s, &src.s, remain)
	} else if f := fileOf(inner); f != nil {
		n, handled, err = c.sendFile(f, remain)
	} else {
		handled = false
	}
	if !handled {
		return c.copyFrom(r)
	}
	if limited != nil {
		limited.N -= n
	}
	return n, err
}

// writeTo is WriteTo for all types that have one.
func (c *conn) writeTo(w io.Writer) (int64, error) {
	n, err := c.writeAll(w)
	return n, c.opError("writeto", err)
}

func (c *conn) writeAll(w io.Writer) (int64, error) {
	dst := stream(w)
	if dst == nil {
		return c.copyTo(w)
	}
	n, err := fd.Move(&dst.s, &c.s, fd.Unlimited)
	if err != nil && dst.network.isTCP() {
		err = dst.opError("readfrom", err) // as net's WriteTo, which calls the sink's ReadFrom
	}
	return n, err
}

// plainWriter is a connection without its ReadFrom: a reader's WriteTo cannot
// call back into readFrom.
type plainWriter struct{ c *conn }

func (w plainWriter) Write(p []byte) (int, error) { return w.c.Write(p) }

// copyFrom copies from a reader of unknown type.
func (c *conn) copyFrom(r io.Reader) (done int64, err error) {
	if from, ok := r.(io.WriterTo); ok {
		return from.WriteTo(plainWriter{c})
	}
	for {
		n, more, err := c.copyPiece(r)
		done += int64(n)
		if err != nil || !more {
			return done, err
		}
		if n == 0 {
			coroutine.Yield() // r may need others to run
		}
	}
}

// copyPiece reads once and writes the bytes.
func (c *conn) copyPiece(r io.Reader) (n int, more bool, err error) {
	b := processor.AcquireAnyBuffer()
	defer b.Release() // r may panic
	got, failed := r.Read(b.Bytes())
	if got > 0 {
		n, err = c.Write(b.Bytes()[:got])
	}
	if err == nil && failed != io.EOF {
		err = failed
	}
	return n, failed == nil, err
}

// copyTo copies to a writer of unknown type. It holds no buffer while it waits
// for data.
func (c *conn) copyTo(w io.Writer) (done int64, err error) {
	for {
		if err := c.WaitReadable(); err != nil {
			return done, err
		}
		n, more, err := c.copyPieceTo(w)
		done += int64(n)
		if err != nil || !more {
			return done, err
		}
	}
}

// copyPieceTo is copyPiece in the other direction.
func (c *conn) copyPieceTo(w io.Writer) (n int, more bool, err error) {
	b := processor.AcquireAnyBuffer()
	defer b.Release() // w may panic
	got, err := c.Read(b.Bytes())
	if err == io.EOF {
		return 0, false, nil
	} else if err != nil {
		return 0, false, err
	}
	n, err = w.Write(b.Bytes()[:got])
	if n < 0 || n > got {
		n, err = 0, errInvalidWrite
	} else if n < got && err == nil {
		err = io.ErrShortWrite
	}
	return n, true, err
}

var errInvalidWrite = errors.New("netco/socket: the writer says that it wrote more than it was " +
	"given")

// fileOf returns the file behind r if there is one: r is an *os.File, or the
// type of package os that File.WriteTo passes on in its place. Types of other
// packages that embed a file may have a Read of their own.
func fileOf(r any) syscall.Conn {
	if f, ok := r.(*os.File); ok {
		return f
	}
	if f, ok := r.(syscall.Conn); ok && packageOf(r) == "os" {
		return f
	}
	return nil
}

// sendFile is fd.FD.SendFile for a file with an fd.
func (c *conn) sendFile(f syscall.Conn, remain int64) (n int64, handled bool, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, false, nil
	}
	if regular, err := isRegular(raw); err != nil || !regular {
		return 0, false, nil // a read will return the error
	}
	return c.s.SendFile(raw, remain)
}

func isRegular(raw syscall.RawConn) (regular bool, err error) {
	cerr := raw.Control(func(fd uintptr) {
		var st unix.Stat_t
		err = unix.Fstat(int(fd), &st)
		regular = st.Mode&unix.S_IFMT == unix.S_IFREG
	})
	return regular, errors.Join(cerr, err)
}
