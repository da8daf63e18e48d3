package http

import (
	"compress/gzip"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	ncsync "github.com/netco-go/netco/sync"
)

// errReadOnClosedBody is the standard's.
var errReadOnClosedBody = errors.New("http: read on closed response body")

// responseBody is the body of a response. Its end, its Close, and the end of
// the request's context release the connection.
type responseBody struct {
	x    *trip
	pc   *persistConn
	out  *sending
	body io.ReadCloser
	keep bool // constant: the connection may be used on

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

// finish releases the connection, once. whole means that all of the response
// was read.
func (b *responseBody) finish(whole bool) {
	if b.done.Swap(true) {
		return
	}
	pc, x := b.pc, b.x
	kept := false
	if x.stop() && whole && b.keep && !pc.sawEOF && (pc.br == nil || pc.br.Buffered() == 0) &&
		b.out.sent() {
		err := pc.t.putIdle(pc)
		kept = err == nil
		if f := x.trace.PutIdleConn; f != nil && err != errKeepAlivesDisabled {
			f(err)
		}
	}
	if !kept {
		pc.close()
	}
	x.end()
}

// gzipBody decompresses a response's body.
type gzipBody struct {
	body *responseBody

	mu  ncsync.Mutex // held across Reads
	zr  *gzip.Reader // under mu: nil before the first Read, and after Close
	err error        // under mu: of the stream's head, or Close was called
}

var gzips = sync.Pool{New: func() any { return new(gzip.Reader) }}

func (g *gzipBody) Read(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.zr == nil && g.err == nil {
		g.zr = gzips.Get().(*gzip.Reader)
		g.err = g.zr.Reset(g.body)
	}
	if g.err != nil {
		return 0, g.err
	}
	return g.zr.Read(p)
}

func (g *gzipBody) Close() error {
	err := g.body.Close() // which ends a Read
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err = errReadOnClosedBody; g.zr != nil {
		release(g.zr)
		g.zr = nil
	}
	return err
}

// release keeps a gzip.Reader for another body.
func release(zr *gzip.Reader) {
	zr.Reset(noBytes{})
	gzips.Put(zr)
}

// noBytes is a reader of nothing that gzip needs no buffer for.
type noBytes struct{}

func (noBytes) Read([]byte) (int, error) { return 0, io.EOF }
func (noBytes) ReadByte() (byte, error)  { return 0, io.EOF }
