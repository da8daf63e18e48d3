// Package http2 has a Transport whose requests end with their contexts, as
// net/http's Client believes of any type named *http2.Transport. With it
// Client.Timeout is a deadline of the context; with other types it takes a
// timer and a goroutine for each request.
//
// It is for the engine: net/http's Client wraps its Transport in this one.
package http2

import "net/http"

// Transport wraps a RoundTripper whose round trips end with their contexts.
type Transport struct{ http.RoundTripper }
