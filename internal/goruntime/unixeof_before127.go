//go:build !go1.27

package goruntime

// BareUnixEOF is explained for Go 1.27, where it is true.
const BareUnixEOF = false
