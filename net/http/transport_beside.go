//lint:file-ignore SA1019 Dial and DialTLS work as in net/http

package http

import (
	"bufio"
	"bytes"
	"context"
	"io"
	stdhttp "net/http"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/blocking"
)

// std returns the standard's Transport beside t, with t's fields as they were
// at the first call.
func (t *Transport) std() *stdhttp.Transport {
	t.once.Do(func() { copyFields(&t.standard, t) })
	return &t.standard
}

// goroutines runs functions that block. It has no limit: functions that wait
// for one another could exhaust any.
var goroutines blocking.Pool

// onGoroutine runs fn on a goroutine, even if the caller is being stopped. Then
// abandon gets fn's value, if there is no error.
func onGoroutine[T any](fn func() (T, error), abandon func(T)) (value T, err error) {
	call := sync.OnceValues(fn)
	if err = goroutines.Do(context.Background(), func() { call() }); err == nil {
		return call()
	}
	go func() {
		if value, err := call(); err == nil {
			abandon(value)
		}
	}()
	return value, err
}

// roundTripBeside has the standard's Transport make the round trip, on a
// goroutine. Parks.
func (t *Transport) roundTripBeside(req *stdhttp.Request) (*stdhttp.Response, error) {
	ctx, end := context.WithCancel(req.Context())
	own := req.WithContext(ctx)
	resp, err := onGoroutine(func() (*stdhttp.Response, error) {
		return t.std().RoundTrip(own)
	}, func(resp *stdhttp.Response) {
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
	})
	if resp != nil && resp.Request == own {
		resp.Request = req
	}
	if err != nil || resp == nil || resp.Body == nil || resp.Body == stdhttp.NoBody {
		end()            // also of an abandoned round trip
		return resp, err // Client handles each combination
	}
	b := &besideBody{base: resp.Body, end: end}
	size := min(uint64(resp.ContentLength), readAhead) // unknown is -1: readAhead then
	b.in = bufio.NewReaderSize(readerFunc(b.readOnGoroutine), int(size))
	resp.Body = b
	if w, ok := b.base.(io.Writer); ok {
		resp.Body = upgraded{b, w}
	}
	return resp, nil
}

// readAhead is how many bytes are read ahead at most.
const readAhead = 16 << 10

// besideBody is the body of a response of the standard's Transport, read on
// goroutines. One coroutine or goroutine at a time may read it; any may close
// it.
type besideBody struct {
	base   io.ReadCloser // constant
	end    func()        // constant: ends the request
	ended  atomic.Bool   // atomic: base has returned io.EOF; for good
	closed atomic.Bool   // atomic: base was closed

	// The reader's.
	in     *bufio.Reader
	failed error // an abandoned goroutine may still use in's buffer
}

// Read implements io.Reader. Parks.
func (b *besideBody) Read(p []byte) (int, error) {
	switch {
	case b.failed != nil:
		return 0, b.failed
	case b.closed.Load(): // base decides what a Read returns after Close
		return b.base.Read(p)
	}
	if _, err := b.in.Peek(min(1, len(p))); err != nil { // so base does not read into p
		return 0, err
	}
	return b.in.Read(p)
}

func (b *besideBody) readOnGoroutine(p []byte) (int, error) {
	if b.ended.Load() {
		return 0, io.EOF
	}
	var n int // the goroutine may outlive this call
	var err error
	b.failed = goroutines.Do(context.Background(), func() { n, err = b.base.Read(p) })
	if b.failed != nil {
		return 0, b.failed
	}
	if err == io.EOF {
		b.ended.Store(true)
		b.end()
	}
	return n, err
}

// Close implements io.Closer. Parks.
func (b *besideBody) Close() error {
	defer b.end()
	defer b.closed.Store(true) // before base is closed, its Read may return io.EOF
	if b.ended.Load() {
		return b.base.Close() // which does not wait
	}
	_, err := onGoroutine(func() (none struct{}, err error) { return none, b.base.Close() },
		func(struct{}) {})
	return err
}

// upgraded is the body of a 101 response, a connection.
type upgraded struct {
	*besideBody
	w io.Writer
}

// Write implements io.Writer. Parks.
func (u upgraded) Write(p []byte) (int, error) {
	own := bytes.Clone(p) // the goroutine may outlive this call
	return onGoroutine(func() (int, error) { return u.w.Write(own) }, func(int) {})
}
