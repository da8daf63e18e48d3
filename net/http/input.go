package http

import (
	"bytes"
	"io"
	"slices"
)

// noLimit is what an input may read.
const noLimit = 1<<63 - 1

// input is what the buffer reads from. Owner: the connection's, and whatever
// has hijacked it.
type input struct {
	c      *conn
	left   int64     // what may be read, then there is an end
	record *readHead // of a request, while http.ReadRequest reads that; or nil
	early  []byte    // was read already, and comes first
}

// Read implements io.Reader. It sends what was written before it waits.
func (r *input) Read(p []byte) (n int, err error) {
	switch {
	case len(r.early) > 0:
		if n = copy(p, r.early); n == len(r.early) {
			r.early = nil
		} else {
			r.early = r.early[n:]
		}
	case r.c.hijacked.Load():
		return r.c.nc.Read(p)
	default:
		n, err = r.receive(p)
		// ReadRequest has part of the line, if this is one.
		if r.record != nil && n == readSize && bytes.IndexByte(p, '\n') < 0 && !r.readAhead() {
			return 0, io.EOF
		}
	}
	if r.record != nil && r.record.add(p[:n]) > r.c.s.maxHeaderValues() {
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
	if c.work.out.Buffered() > 0 {
		c.flush()
	}
	n, err = c.nc.Read(p[:min(int64(len(p)), r.left)])
	if err != nil {
		if w := c.current.Load(); w != nil {
			w.peerGone()
		}
	}
	r.left -= int64(n)
	return n, err
}

// readAhead reads up to the end of a line that is longer than the buffer, or
// that of the connection. http.ReadRequest collects a line in a slice that
// grows by little, which copies a megabyte some five times: so it gets such a
// line once that is known to end. It returns false if the line is longer than
// what may be read: then nothing is left of it.
func (r *input) readAhead() bool {
	var ahead []byte
	for {
		if len(ahead) == cap(ahead) {
			ahead = slices.Grow(ahead, max(blockSize, len(ahead)))
		}
		p := ahead[len(ahead):cap(ahead)]
		n, err := r.receive(p)
		ahead = ahead[:len(ahead)+n]
		switch {
		case err == nil && r.left <= 0 && bytes.IndexByte(p[:n], '\n') < 0:
			return false
		case err != nil, bytes.IndexByte(p[:n], '\n') >= 0:
			r.early = ahead
			return true
		}
	}
}
