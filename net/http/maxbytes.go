package http

import (
	"io"
	"net/http"
)

// MaxBytesReader is net/http's.
func MaxBytesReader(w ResponseWriter, r io.ReadCloser, n int64) io.ReadCloser {
	return http.MaxBytesReader(w, r, n)
}

// MaxBytesHandler is net/http's.
func MaxBytesHandler(h Handler, n int64) Handler { return http.MaxBytesHandler(h, n) }
