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
// [Server], and the functions that serve; [Transport] and [Client], with
// DefaultTransport, DefaultClient, Get, Head, Post and PostForm.
//
// # What is the standard's
//
// Everything else is net/http's own, by aliases: a Handler, a Request and a
// ServeMux of either package are the same, so what takes the standard's takes
// these. URLs, cookies, forms and chunked coding are the standard's parsers',
// HTTP/2 is the standard's server's and Transport's.
//
// # How it serves
//
// An idle connection of HTTP/1 has no coroutine, no buffer and no request: it
// waits in a socket.Server. When something comes, a coroutine of the pool reads
// a request, calls the handler and answers, as long as requests are there.
// Answers to requests that came together are sent together, at the latest when
// a handler behind them waits.
//
// A handler may do what handlers do: use Go's channels and mutexes,
// database/sql and C. Its Processor goes on without it. What parks, such as a
// read of the body, a call by this package's Client or netco.Sleep, costs less.
//
// To go on without a coroutine costs more than a goroutine. So a Server that
// finds the handler of a ServeMux's pattern blocking in more than one call of
// some nine, or a handler that is no ServeMux, calls it on ordinary goroutines
// from then on. Package introspect shows which requests these are.
//
// # Other connections
//
// A listener may be anything. Connections of netco's, also with the TLS of
// netco/tls, are served here; those of package net and crypto/tls by the
// standard's server, on goroutines, as is TLS with functions of TLSNextProto.
//
// A connection that speaks HTTP/2 is handed to the standard's server, on
// goroutines over netco's connection, and so is one with a request that waits
// for 100 Continue, declares trailers, goes to a proxy, also by CONNECT, has a
// head of more than 8 KiB, or is malformed: for good, with what follows.
// HTTP/1.0 with keep-alive is as well.
//
// # Hijacked connections
//
// Hijack returns netco's connection: a coroutine that reads it parks. The
// Server, its Shutdown included, does not know it any more. One that is idle
// most of the time can be given to a socket.Server.
//
// # What differs
//
//   - ServerContextKey's value is this package's *Server. What net/http logs
//     for a request by itself (ServeContent and ReverseProxy do) goes to
//     package log in place of ErrorLog.
//   - A request's context finds out that its peer has gone once Done or Err was
//     called, of it or of one derived from it.
//   - MaxBytesReader does not close the connection: as after every handler, up
//     to 256 KiB that are left of the body are read, and it is closed if there
//     is more.
//   - A line that is malformed is answered when the head is whole.
//   - TLSNextProto's functions are not called for a listener of netco/tls.
//   - A connection that has sent nothing yet is idle: Shutdown closes it at
//     once.
//   - A deadline of a listener of netco's without TLS ends Serve once it has
//     passed, where net/http tries again.
//   - Write after the handler has returned is an error.
//   - Transport.CancelRequest does nothing for a request of a coroutine.
//   - ConnState's hook does not see what the standard's server for HTTP/2 calls
//     new.
package http
