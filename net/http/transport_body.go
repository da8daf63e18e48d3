package http

import (
	"compress/gzip"
	"errors"
	"io"
	"sync"
)

// errReadOnClosedBody is the standard's.
var errReadOnClosedBody = errors.New("http: read on closed response body")

// Read implements io.Reader of the response's body. The body's end, its Close
// and the end of the request's context each release the connection.
func (t *trip) Read(p []byte) (n int, err error) {
	switch {
	case t.closed.Load():
		return 0, errReadOnClosedBody
	case t.err != nil:
		return 0, t.err
	}
	n, err = t.body.Read(p)
	if err == nil {
		return n, nil
	}
	if cancelled := t.cancelled(); err != io.EOF && cancelled != nil && !t.done.Load() {
		err = cancelled
	}
	t.err = err
	t.finish(err == io.EOF)
	return n, err
}

// Close implements io.Closer of the response's body.
func (t *trip) Close() error {
	if !t.closed.Swap(true) {
		t.finish(false)
	}
	return nil
}

// finish releases the connection, once. whole means that the whole response was
// read.
func (t *trip) finish(whole bool) {
	if t.done.Swap(true) {
		return
	}
	pc := t.pc
	if t.stop() && whole && t.keep && pc.br.Buffered() == 0 {
		t.t.putOrClose(pc)
	} else {
		pc.close()
	}
	t.end()
}

// gunzip decompresses a response's body, up to the first error.
type gunzip struct {
	in io.Reader    // constant
	zr *gzip.Reader // nil before the first Read, and after the last
}

var gzips = sync.Pool{New: func() any { return new(gzip.Reader) }}

func (g *gunzip) Read(p []byte) (n int, err error) {
	if g.zr == nil {
		g.zr = gzips.Get().(*gzip.Reader)
		err = g.zr.Reset(g.in)
	}
	if err == nil {
		n, err = g.zr.Read(p)
	}
	if err != nil {
		gzips.Put(g.zr)
		g.zr = nil
	}
	return n, err
}
