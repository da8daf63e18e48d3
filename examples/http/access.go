package main

import (
	"bufio"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/net/http"
)

// accessLog logs each request once it is answered: in each second the first
// hundred of a route, and then every hundredth, as logging.New has it. It names
// the coroutine by the route, and so do profiles (profile.Labels), reports and
// the live pages.
func accessLog(mux *http.ServeMux, log *zap.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, route := mux.Handler(r)
		if route == "" {
			route = "no route"
		}
		netco.SetName(route)
		a := &recorder{ResponseWriter: w, status: http.StatusOK}
		began := time.Now()
		mux.ServeHTTP(a, r)
		log.Info(route, zap.String("method", r.Method), zap.String("path", r.URL.Path),
			zap.String("remote", r.RemoteAddr), zap.Int("status", a.status),
			zap.Int64("bytes", a.bytes), zap.Duration("took", time.Since(began)))
	})
}

// recorder is a ResponseWriter that notes what is answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Hijack implements http.Hijacker, which the upgrader of WebSockets looks for.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	r.status = http.StatusSwitchingProtocols
	return http.NewResponseController(r.ResponseWriter).Hijack()
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}
