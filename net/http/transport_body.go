package http

import (
	"compress/gzip"
	"errors"
	"io"
	"sync"
)

// errReadOnClosedBody is the standard's.
var errReadOnClosedBody = errors.New("http: read on closed response body")

// Read implements io.Reader, of the response's body. Its end, its Close, and
// the end of the request's context release the connection.
func (x *trip) Read(p []byte) (n int, err error) {
	switch {
	case x.closed.Load():
		return 0, errReadOnClosedBody
	case x.err != nil:
		return 0, x.err
	}
	n, err = x.body.Read(p)
	if err == nil {
		return n, nil
	}
	if cancelled := x.cancelled(); err != io.EOF && cancelled != nil && !x.done.Load() {
		err = cancelled
	}
	x.err = err
	x.finish(err == io.EOF)
	return n, err
}

// Close implements io.Closer, of the response's body.
func (x *trip) Close() error {
	if !x.closed.Swap(true) {
		x.finish(false)
	}
	return nil
}

// finish releases the connection, once. whole means that the whole response was
// read.
func (x *trip) finish(whole bool) {
	if x.done.Swap(true) {
		return
	}
	pc := x.pc
	if x.stop() && whole && x.keep && pc.br.Buffered() == 0 {
		x.t.putOrClose(pc)
	} else {
		pc.close()
	}
	x.end()
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
