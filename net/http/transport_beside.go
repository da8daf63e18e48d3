//lint:file-ignore SA1019 Dial and DialTLS work as in net/http

package http

import (
	"bufio"
	"context"
	"io"
	"math"
	stdhttp "net/http"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
)

// standardTransport is the standard's Transport, with the fields of a
// Transport from its first use on.
type standardTransport struct {
	once sync.Once
	t    stdhttp.Transport
}

// std returns the standard's Transport beside t.
func (t *Transport) std() *stdhttp.Transport {
	t.standard.once.Do(func() {
		copyFields(&t.standard.t, t.Clone())
		t.standard.t.TLSClientConfig = t.TLSClientConfig // which it changes, to negotiate HTTP/2
	})
	return &t.standard.t
}

// goroutines runs what would block. It is apart from the default pool, whose
// limit functions that wait for one another would reach.
var goroutines = unlimited()

func unlimited() *blocking.Pool {
	p := new(blocking.Pool)
	if err := p.SetLimit(math.MaxInt); err != nil {
		panic(err)
	}
	return p
}

// onGoroutine runs fn there. If the error is not fn's, fn may still run.
func onGoroutine[T any](fn func() (T, error)) (T, error) {
	r := new(struct {
		value T
		err   error
	})
	if err := goroutines.Do(context.Background(), func() { r.value, r.err = fn() }); err != nil {
		var none T
		return none, err
	}
	return r.value, r.err
}

// roundTripBeside has the standard's Transport make the round trip, on a
// goroutine. Parks.
func (t *Transport) roundTripBeside(req *stdhttp.Request) (*stdhttp.Response, error) {
	ctx, end := context.WithCancel(req.Context())
	own := req.WithContext(ctx)
	var once sync.Once
	var resp *stdhttp.Response
	var failed error
	call := func() { once.Do(func() { resp, failed = t.std().RoundTrip(own) }) }
	if err := goroutines.Do(context.Background(), call); err != nil {
		end() // so it returns soon, and closes the request's body in any case
		go func() {
			call()
			discard(resp)
		}()
		return nil, err
	}
	if resp != nil && resp.Request == own {
		resp.Request = req
	}
	if failed != nil || resp == nil || resp.Body == nil || resp.Body == stdhttp.NoBody {
		end()
		return resp, failed // Client makes something of each
	}
	b := &besideBody{base: resp.Body, size: resp.ContentLength, end: end}
	resp.Body = b
	if w, ok := b.base.(io.Writer); ok {
		resp.Body = upgraded{b, w}
	}
	return resp, nil
}

// discard closes the body of a response that its caller does not get.
func discard(resp *stdhttp.Response) {
	if resp != nil && resp.Body != nil {
		resp.Body.Close()
	}
}

// Sizes of what is read ahead.
const (
	leastRead = 4 << 10
	mostRead  = 32 << 10
)

// besideBody is the body of such a response. One coroutine or goroutine at a
// time reads it, any closes it.
type besideBody struct {
	base   io.ReadCloser // constant
	end    func()        // constant: of the request
	size   int64         // constant: of the whole; -1 if unknown
	ended  atomic.Bool   // atomic: base has returned io.EOF; for good
	closed atomic.Bool   // atomic: Close was called

	// The reader's.
	in     *bufio.Reader // reads on goroutines; nil until a coroutine has read
	failed error         // a goroutine may have the buffer of in
}

// Read implements io.Reader. Parks.
func (b *besideBody) Read(p []byte) (int, error) {
	switch {
	case b.failed != nil:
		return 0, b.failed
	case b.closed.Load(): // base says what a Read returns from now on
		return b.base.Read(p)
	case b.in == nil && coroutine.Current() == nil:
		return b.base.Read(p)
	case b.in == nil:
		size := min(max(int64(len(p)), b.size, leastRead), mostRead)
		b.in = bufio.NewReaderSize(readerFunc(b.readOnGoroutine), int(size))
	}
	if _, err := b.in.Peek(min(1, len(p))); err != nil { // so nothing is read into p
		return 0, err
	}
	return b.in.Read(p)
}

func (b *besideBody) readOnGoroutine(p []byte) (int, error) {
	if b.ended.Load() {
		return 0, io.EOF
	}
	var n int
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
	b.closed.Store(true)
	defer b.end()
	if coroutine.Current() == nil || b.ended.Load() {
		return b.base.Close() // after the end that only takes note
	}
	failed, err := onGoroutine(func() (error, error) { return b.base.Close(), nil })
	if err != nil {
		go b.base.Close() // perhaps a second time, which does nothing
		return err
	}
	return failed
}

// upgraded is the body of a 101 response, a connection.
type upgraded struct {
	*besideBody
	w io.Writer
}

// Write implements io.Writer. Parks.
func (u upgraded) Write(p []byte) (int, error) {
	if coroutine.Current() == nil {
		return u.w.Write(p)
	}
	own := append([]byte(nil), p...) // the goroutine's, should this coroutine not wait for it
	return onGoroutine(func() (int, error) { return u.w.Write(own) })
}
