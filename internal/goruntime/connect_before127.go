//go:build !go1.27

package goruntime

// ConnectEnds is explained for Go 1.27, where it is true.
const ConnectEnds = false
