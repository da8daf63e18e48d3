// Package serving reports to package socket which coroutine serves a
// connection, its handler, on behalf of netco.Serve; and that a handshake was
// no request, on behalf of package tls. It is for the engine: users call Serve.
//
// The connection is one of package socket, or a type around it that has a
// method NetConn, as TLS has. For other connections the calls have no effect.
package serving

import (
	"errors"
	"net"
	"slices"
	"time"
)

// Constant once packages are initialised.
var (
	begin, answered func(net.Conn)
	onGoroutine     func(net.Conn, time.Duration, func() bool)
)

// Register sets the functions that Begin, Answered and OnGoroutine call. Called
// once, when package socket is initialised.
func Register(b, a func(net.Conn), g func(net.Conn, time.Duration, func() bool)) {
	begin, answered, onGoroutine = b, a, g
}

// Begin makes the calling coroutine the handler of c, before it uses c.
func Begin(c net.Conn) {
	if begin != nil {
		begin(c)
	}
}

// Answered says that every request read from c so far has been answered. It has
// no effect if the caller is not c's handler.
func Answered(c net.Conn) {
	if answered != nil {
		answered(c)
	}
}

// OnGoroutine calls serve whenever a request arrives on c, until serve returns
// false, or no request has come for a time of idle. Meanwhile no Processor is
// woken by c. The caller is a goroutine.
func OnGoroutine(c net.Conn, idle time.Duration, serve func() bool) { onGoroutine(c, idle, serve) }

var ends []error // constant once packages are initialised

// RegisterEnd adds an error that a server returns when the Scheduler's end has
// ended it. Called when its package is initialised.
func RegisterEnd(err error) { ends = append(ends, err) }

// IsEnd reports whether err is one of these errors, which netco.Main ignores.
func IsEnd(err error) bool {
	return slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) })
}
