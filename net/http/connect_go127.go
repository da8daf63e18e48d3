//go:build go1.27

package http

// connectEnds: as in net/http, a connection is closed after CONNECT, and an
// answer of 2xx to it has no framing.
const connectEnds = true
