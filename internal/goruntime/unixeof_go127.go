//go:build go1.27

package goruntime

// BareUnixEOF says how package net reports the end of a Unix stream from
// ReadFrom, ReadFromUnix and ReadMsgUnix of a UnixConn: as io.EOF itself since
// Go 1.27, and before that in an *net.OpError.
const BareUnixEOF = true
