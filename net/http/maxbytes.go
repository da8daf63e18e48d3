package http

import (
	"errors"
	"io"
	"net/http"
)

// MaxBytesReader is net/http's. A request of this package's Server whose body
// is too large ends its connection.
func MaxBytesReader(w ResponseWriter, r io.ReadCloser, n int64) io.ReadCloser {
	limited := http.MaxBytesReader(w, r, n)
	if own, ok := w.(interface{ requestTooLarge() }); ok {
		return &maxBytesReader{limited, own.requestTooLarge}
	}
	return limited
}

// maxBytesReader reports to its request that the body is too large.
type maxBytesReader struct {
	io.ReadCloser
	tooLarge func()
}

// Read implements io.Reader.
func (r *maxBytesReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	var tooLarge *MaxBytesError
	if r.tooLarge != nil && errors.As(err, &tooLarge) {
		r.tooLarge()
		r.tooLarge = nil
	}
	return n, err
}

// MaxBytesHandler is net/http's, with this package's MaxBytesReader.
func MaxBytesHandler(h Handler, n int64) Handler {
	return HandlerFunc(func(w ResponseWriter, r *Request) {
		r2 := *r
		r2.Body = MaxBytesReader(w, r.Body, n)
		h.ServeHTTP(w, &r2)
	})
}
