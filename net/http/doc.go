// Package http is net/http for coroutines, name for name: every http.Handler
// runs in a coroutine, whether it is your own or belongs to ServeMux, chi, gin
// or echo.
//
//	import "net/http"                              // before
//	import "github.com/netco-go/netco/net/http"    // after
//
// # Use
//
//	func main() {
//		http.HandleFunc("GET /hello", hello)
//		os.Exit(netco.Main(func(context.Context) error {
//			return http.ListenAndServe(":8080", nil)
//		}, netco.MainOptions{}))
//	}
//
// At a signal Serve returns ErrServerClosed. Idle connections are closed, and
// requests under way are answered within the grace of netco.Main. A Server
// works without netco.Main too: it starts the default Scheduler.
//
// # What is netco's, what is the standard's
//
// [Server], with the functions that use it to serve; [Transport] and [Client],
// with DefaultTransport, DefaultClient, Get, Head, Post and PostForm.
//
// Everything else is an alias of net/http's. Handler, Request and ServeMux are
// the same types in both packages, so libraries that use net/http work with
// this package. The standard's code parses URLs, cookies, forms and chunked
// coding; its server and Transport speak HTTP/2.
//
// # How it serves
//
// An idle HTTP/1 connection has no coroutine, no buffer and no request: it
// waits in a socket.Server. When data arrives, a coroutine from the pool reads
// requests, calls the handler and answers, until no request is left. Answers to
// requests that arrived together are sent together, but no later than when a
// handler waits.
//
// A handler may block: in Go's channels and mutexes, in database/sql, in C. Its
// Processor goes on without it. Operations that park cost less: a read of the
// body, a call by this package's Client, netco.Sleep.
//
// Going on without a coroutine costs more than a goroutine. So the Server
// learns which handlers block in more than about one call in nine, and calls
// them on ordinary goroutines, until they rarely block. It tracks each pattern
// of a ServeMux, or the handler as a whole if that is no ServeMux. A connection
// on which one such request follows another within a second waits for the next
// on a goroutine, too. Package introspect shows which requests run on
// goroutines.
//
// # Other connections
//
// Any listener will do. This package serves netco's connections, with or
// without netco/tls. The standard's server serves connections of package net
// and crypto/tls on goroutines, and all TLS connections if TLSNextProto has
// functions.
//
// A connection that speaks HTTP/2 is handed to the standard's server for good,
// which serves it on goroutines. So is a connection with a request that waits
// for 100 Continue, declares trailers, addresses a proxy (CONNECT included),
// has a head of more than 8 KiB, is malformed, or is HTTP/1.0 with keep-alive.
//
// # Hijacked connections
//
// Hijack returns netco's connection: a coroutine that reads it parks. The
// Server and its Shutdown forget the connection. If it is idle most of the
// time, give it to a socket.Server.
//
// # What differs
//
//   - ServerContextKey's value is this package's *Server. Log lines of
//     net/http's own handlers (ServeContent, ReverseProxy) go to package log in
//     place of ErrorLog.
//   - A request's context notices that the peer has gone only after Done or Err
//     was called, on it or on a context derived from it.
//   - MaxBytesReader does not close the connection. As after every handler, up
//     to 256 KiB of the rest of the body are read, and the connection is closed
//     if there is more.
//   - A malformed line is answered only when the whole head has arrived.
//   - TLSNextProto's functions are not called for a listener of netco/tls.
//   - A connection that has sent nothing yet is idle: Shutdown closes it at
//     once.
//   - When the deadline of a netco listener without TLS passes, Serve ends;
//     net/http tries again.
//   - Write after the handler has returned is an error.
//   - Transport.CancelRequest does nothing for a request of a coroutine.
//   - ConnState's hook does not see StateNew from the standard's server for
//     HTTP/2.
package http
