// Package http is net/http for coroutines, name for name: every http.Handler,
// of ServeMux, chi, gin, echo or one's own, runs in a coroutine.
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
// At a signal Serve returns ErrServerClosed, connections that are idle are
// closed, and requests under way are answered within the grace of netco.Main.
// Without it a Server works as well, and starts the default Scheduler.
//
// # What is netco's
//
// [Server], and the functions that serve by one; [Transport] and [Client], with
// DefaultTransport, DefaultClient, Get, Head, Post and PostForm.
//
// # What is the standard's
//
// Everything else is net/http's own, by aliases: a Handler, a Request and a
// ServeMux of either package are the same, so libraries that take the
// standard's take these. The standard's code parses URLs, cookies, forms and
// chunked coding; its server and Transport speak HTTP/2.
//
// # How it serves
//
// An idle connection of HTTP/1 has no coroutine, no buffer and no request: it
// waits in a socket.Server. When data comes, a coroutine of the pool reads a
// request, calls the handler and answers, until no request is left. Answers to
// requests that came together are sent together, at the latest when a later
// handler waits.
//
// A handler may do what handlers do: use Go's channels and mutexes,
// database/sql and C. Its Processor goes on without it. Operations that park,
// such as a read of the body, a call by this package's Client or netco.Sleep,
// cost less.
//
// Going on without a coroutine costs more than a goroutine. So if the handler
// of a ServeMux's pattern, or a handler that is no ServeMux, blocks in more
// than one call of some nine, the Server calls it on ordinary goroutines from
// then on. Package introspect shows which requests these are.
//
// # Other connections
//
// Any listener will do. This package serves netco's connections, with or
// without netco/tls; the standard's server serves connections of package net
// and crypto/tls on goroutines, and all TLS if TLSNextProto has functions.
//
// A connection that speaks HTTP/2 is handed to the standard's server, for good,
// on goroutines over netco's connection. So is a connection with a request that
// waits for 100 Continue, declares trailers, goes to a proxy, also by CONNECT,
// has a head of more than 8 KiB, is malformed, or is HTTP/1.0 with keep-alive.
//
// # Hijacked connections
//
// Hijack returns netco's connection: a coroutine that reads it parks. The
// Server, its Shutdown included, forgets it. Give a hijacked connection that is
// idle most of the time to a socket.Server.
//
// # What differs
//
//   - ServerContextKey's value is this package's *Server. Log lines of
//     net/http's own handlers (ServeContent, ReverseProxy) go to package log in
//     place of ErrorLog.
//   - A request's context notices that its peer has gone only after a call of
//     Done or Err, of itself or of a derived context.
//   - MaxBytesReader does not close the connection: as after every handler, up
//     to 256 KiB of the body's rest are read, and the connection is closed if
//     there is more.
//   - A malformed line is answered when the head is whole.
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
