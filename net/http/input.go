package http

import (
	"bytes"
	"io"
)

// noLimit is what an input may read.
const noLimit = 1<<63 - 1

// input is what the buffer reads from. Owner: the connection's, and whatever
// has hijacked it.
type input struct {
	c      *conn
	left   int64     // what may be read, then there is an end
	record *readHead // of a request, while http.ReadRequest reads that; or nil
	ahead  longLine  // in a head
}

// Read implements io.Reader. It sends what was written before it waits.
func (r *input) Read(p []byte) (n int, err error) {
	c := r.c
	switch {
	case r.ahead.blocks != nil:
		n, err = r.ahead.Read(p)
	case c.hijacked.Load():
		if n = c.missing.take(p); n > 0 {
			return n, nil
		}
		return c.nc.Read(p)
	default:
		n, err = r.receive(p)
		// ReadRequest has part of the line, if this is one.
		if r.record != nil && n == readSize && bytes.IndexByte(p, '\n') < 0 && !r.readAhead() {
			return 0, io.EOF
		}
	}
	if r.record != nil && r.record.add(p[:n]) > c.s.maxHeaderValues() {
		r.left = 0
		return 0, io.EOF
	}
	return n, err
}

// receive reads from the connection, as much as may be read.
func (r *input) receive(p []byte) (n int, err error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	c := r.c
	p = p[:min(int64(len(p)), r.left)]
	if n = c.missing.take(p); n == 0 {
		if c.work.out.Buffered() > 0 {
			c.flush()
		}
		n, err = c.nc.Read(p)
		if err != nil {
			if w := c.current.Load(); w != nil {
				w.peerGone()
			}
		}
	}
	r.left -= int64(n)
	return n, err
}

// readAhead reads up to the end of a line. It returns false if the line is
// longer than what may be read: then nothing is left of it.
func (r *input) readAhead() bool {
	l := &r.ahead
	for l.err == nil {
		if len(l.blocks) == 0 || l.to == blockSize {
			l.blocks, l.to = append(l.blocks, copyBuffers.Get().(*[blockSize]byte)), 0
		}
		p := l.blocks[len(l.blocks)-1][l.to:]
		n, err := r.receive(p)
		l.to, l.err = l.to+n, err
		switch {
		case bytes.IndexByte(p[:n], '\n') >= 0:
			return true
		case r.left <= 0:
			l.drop()
			return false
		}
	}
	return true
}

// blockSize is that of copyBuffers.
const blockSize = 32 << 10

// longLine is a line of a head that is longer than the buffer. http.ReadRequest
// collects a line in a slice that grows, which copies a megabyte some five
// times, and leaves as much to the garbage collector: so it gets such a line
// once that is known to end.
type longLine struct {
	blocks   []*[blockSize]byte // not empty but while it is read ahead; nil: there is none
	from, to int                // what is unread begins in the first, and ends in the last
	err      error              // that came behind it
}

// Read implements io.Reader.
func (l *longLine) Read(p []byte) (n int, err error) {
	end := blockSize
	if len(l.blocks) == 1 {
		end = l.to
	}
	n = copy(p, l.blocks[0][l.from:end])
	if l.from += n; l.from < end {
		return n, nil
	}
	copyBuffers.Put(l.blocks[0])
	if l.blocks, l.from = l.blocks[1:], 0; len(l.blocks) == 0 {
		err = l.err
		*l = longLine{}
	}
	return n, err
}

// drop gives the blocks back.
func (l *longLine) drop() {
	for _, block := range l.blocks {
		copyBuffers.Put(block)
	}
	*l = longLine{}
}
