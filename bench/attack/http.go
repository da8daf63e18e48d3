package main

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// attack is what one connection sends until the server has had enough.
type attack struct {
	begin string
	more  func(n uint32) string // the nth part behind it
	parts uint32                // how many there are, 0 for any number
	pause time.Duration         // between two parts
	slow  bool                  // it reads one byte in each pause
}

func always(s string) func(uint32) string { return func(uint32) string { return s } }

const (
	moment  = 100 * time.Millisecond
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// attacks are those of netco/net/http's attack_test.go.
var attacks = map[string]attack{
	"smuggling": {begin: "POST /json/a HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n" +
		"Transfer-Encoding: chunked, x\r\n\r\n0\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n"},
	"header":      {begin: "GET / HTTP/1.1\r\nHost: a\r\n", more: always(strings.Repeat("X: y\r\n", 1<<10))},
	"url":         {begin: "GET /", more: always(strings.Repeat("x", 8<<10))},
	"slow header": {begin: "GET / HTTP/1.1\r\nHost: a\r\nX: ", more: always("y"), pause: moment},
	"slow body": {begin: "POST /json/a HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n",
		more: always(" "), pause: moment},
	"slow reader": {begin: "GET /file HTTP/1.1\r\nHost: a\r\n\r\n", more: always("G"), pause: moment,
		slow: true},
	"rapid reset": {begin: preface + frame(settings, 0, 0, ""), more: resets, parts: 50},
	"continuation": {begin: preface + frame(settings, 0, 0, "") +
		frame(headers, endStream, 1, "\x82\x86\x84\x41\x01a"),
		more: always(frame(continuation, 0, 1, "\x00\x01x\x7f\x81\x7f"+strings.Repeat("y", 16<<10-6)))},
}

// resets are 20 streams that are opened and reset.
func resets(n uint32) string {
	const getOfA, cancel = "\x82\x86\x84\x41\x01a", "\x00\x00\x00\x08"
	var b strings.Builder
	for id := 40*n + 1; id <= 40*n+39; id += 2 {
		b.WriteString(frame(headers, endStream|endHeaders, id, getOfA) + frame(reset, 0, id, cancel))
	}
	return b.String()
}

// The frames of HTTP/2, and their flags.
const (
	headers, reset, settings, continuation = 1, 3, 4, 9

	endStream, endHeaders = 1, 4
)

func frame(kind, flags byte, stream uint32, payload string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	b = binary.BigEndian.AppendUint32(append(b, flags), stream)
	return string(b) + payload
}

// run returns once the server has ended the connection, or all was sent.
func (a attack) run(address string) (all bool, err error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return false, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	end := make(chan error, 1)
	if a.slow {
		c.(*net.TCPConn).SetReadBuffer(4 << 10)
	} else {
		go func() {
			_, err := io.Copy(io.Discard, c)
			end <- err
		}()
	}
	_, err = io.WriteString(c, a.begin)
	for n := uint32(0); a.more != nil && err == nil; n++ {
		if a.parts > 0 && n == a.parts {
			return true, nil
		}
		time.Sleep(a.pause)
		if a.slow {
			c.Read(make([]byte, 1))
		}
		_, err = io.WriteString(c, a.more(n))
	}
	if err == nil {
		err = <-end
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, err
	}
	return false, nil
}
