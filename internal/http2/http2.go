// Package http2 has a Transport that net/http's Client takes for one which ends
// its requests with their contexts: it knows them by the name of the type,
// *http2.Transport. With them Client.Timeout is a deadline of the context. With
// others it takes a timer and a goroutine for each request.
//
// It is for the engine: net/http's Client puts its Transport into one.
package http2

import "net/http"

// Transport makes the round trips of another, which end with contexts.
type Transport struct{ http.RoundTripper }
