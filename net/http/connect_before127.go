//go:build !go1.27

package http

// connectEnds: as in net/http, CONNECT is a method like any other before Go
// 1.27.
const connectEnds = false
