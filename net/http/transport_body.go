package http

import (
	"compress/gzip"
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// errReadOnClosedBody is the standard's.
var errReadOnClosedBody = errors.New("http: read on closed response body")

// responseBody is the body of a response. Its end, its Close, and the end of
// the request's context release the connection.
type responseBody struct {
	x    *trip
	pc   *persistConn
	body io.ReadCloser
	keep bool // constant: the connection may be reused

	err    error       // the reader's: of the Read that failed, for good
	closed atomic.Bool // Close was called
	done   atomic.Bool // finish was called
}

func (b *responseBody) Read(p []byte) (n int, err error) {
	switch {
	case b.closed.Load():
		return 0, errReadOnClosedBody
	case b.err != nil:
		return 0, b.err
	}
	n, err = b.body.Read(p)
	if err == nil {
		return n, nil
	}
	if cancelled := b.x.cancelled(); err != io.EOF && cancelled != nil && !b.done.Load() {
		err = cancelled
	}
	b.err = err
	b.finish(err == io.EOF)
	return n, err
}

func (b *responseBody) Close() error {
	if !b.closed.Swap(true) {
		b.finish(false)
	}
	return nil
}

// finish releases the connection, once. whole means that the whole response was
// read.
func (b *responseBody) finish(whole bool) {
	if b.done.Swap(true) {
		return
	}
	pc, x := b.pc, b.x
	if x.stop() && whole && b.keep && (pc.br == nil || pc.br.Buffered() == 0) {
		pc.t.putOrClose(pc)
	} else {
		pc.close()
	}
	x.end()
}

// gzipBody decompresses a response's body.
type gzipBody struct {
	*responseBody
	zr    *gzip.Reader // the reader's: nil before the first Read, and after the end
	ended error        // the reader's
}

var gzips = sync.Pool{New: func() any { return new(gzip.Reader) }}

func (g *gzipBody) Read(p []byte) (n int, err error) {
	switch {
	case g.closed.Load():
		return 0, errReadOnClosedBody
	case g.ended != nil:
		return 0, g.ended
	case g.zr == nil:
		g.zr = gzips.Get().(*gzip.Reader)
		err = g.zr.Reset(g.responseBody)
	}
	if err == nil {
		n, err = g.zr.Read(p)
	}
	if g.ended = err; err != nil {
		gzips.Put(g.zr)
		g.zr = nil
	}
	return n, err
}
