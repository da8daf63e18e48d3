package http_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net/http"
)

// The limits of the Server that is attacked, and the bytes that each handler
// writes.
const (
	maxHead    = 16 << 10 // MaxHeaderBytes
	maxFields  = 100      // MaxHeaderValueCount
	maxStreams = 20       // MaxConcurrentStreams
	handlers   = 64 << 10 // what a handler that writes has
)

// The memory that an attacking connection may take, derived from them.
const (
	// Buffers of 4 + 4 + 2 KiB, a request, a coroutine, the client's end.
	connBytes = 24 << 10
	// The line that is read, its text, what http.ReadRequest makes of it, and
	// a block that is read ahead.
	headBytes = connBytes + 3*maxHead + 32<<10
	// net/http lets four more streams wait for each that has a handler, and
	// takes at most 8 KiB for each.
	http2Streams = 5 * maxStreams
	http2Bytes   = 64<<10 + 4*maxHead
)

// siege is an attack that goes on.
type siege struct {
	begin string // all of it is read; the Server then holds the most that it may
	more  string // what comes once it does, which ends the connection; "" is nothing
	conns int    // the attackers
	bytes uint64 // that each of them may have the Server hold
	runs  int    // coroutines and goroutines for each of them
}

var sieges = map[string]siege{
	"smuggling": {begin: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n" +
		"Transfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n" + plain,
		conns: 40, bytes: connBytes, runs: 1},
	"target": {begin: "GET /" + strings.Repeat("x", maxHead),
		more: strings.Repeat("x", 16*maxHead), conns: 40, bytes: headBytes, runs: 1},
	"field": {begin: "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", maxHead),
		more: strings.Repeat("x", 16*maxHead), conns: 40, bytes: headBytes, runs: 1},
	"fields": {begin: "GET / HTTP/1.1\r\n" + strings.Repeat("X: y\r\n", maxFields),
		more: strings.Repeat("X: y\r\n", 16*maxHead/6), conns: 40, bytes: headBytes, runs: 1},
	"slow heads": {begin: "GET / HTTP/1.1\r\nHo", conns: 40, bytes: connBytes, runs: 1},
	"slow bodies": {begin: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nx", conns: 40,
		bytes: connBytes, runs: 1},
	"slow chunks": {begin: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y",
		conns: 40, bytes: connBytes, runs: 1},
	"slow readers": {begin: "GET /huge HTTP/1.1\r\nHost: a\r\n\r\n", conns: 40,
		bytes: connBytes + handlers, runs: 1},
	"rapid reset": {begin: opening + resets(0, http2Streams), more: resets(http2Streams, 5_000),
		conns: 10, bytes: http2Bytes + http2Streams<<13, runs: maxStreams + 5},
	"continuations": {begin: opening + frame(frameHeaders, endStream, 1, getHeaders),
		more: strings.Repeat(frame(frameContinuation, 0, 1,
			"\x00\x01x\x7f\xfb\x7e"+strings.Repeat("y", 16_384-6)), 16),
		conns: 10, bytes: http2Bytes, runs: 5},
}

// The frames of HTTP/2 that the attacks are made of, and their flags.
const (
	frameHeaders, frameReset, frameContinuation = 1, 3, 9

	endStream, endHeaders = 1, 4
)

// frame returns a frame.
func frame(kind, flags byte, stream uint32, payload string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	b = binary.BigEndian.AppendUint32(append(b, flags), stream)
	return string(b) + payload
}

// getHeaders is GET / of host a, as HPACK has it.
const getHeaders = "\x82\x86\x84\x41\x01a"

// opening begins HTTP/2, with SETTINGS that set nothing.
const opening = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// resets are streams that are opened and reset.
func resets(from, to uint32) string {
	var b strings.Builder
	for n := from; n < to; n++ {
		b.WriteString(frame(frameHeaders, endStream|endHeaders, 2*n+1, getHeaders) +
			frame(frameReset, 0, 2*n+1, "\x00\x00\x00\x08"))
	}
	return b.String()
}

// TestBounds: a Server that is attacked holds no more than its limits allow,
// while it answers others: live memory, coroutines, goroutines and fds. Nothing
// of it stays.
func TestBounds(t *testing.T) {
	testenv.NoRace(t) // which has memory and coroutines of its own
	for name, x := range sieges {
		t.Run(name, func(t *testing.T) {
			testrun.Start(t, 2)
			release := make(chan bool)
			addr := serve(t, besieged(release))
			others(t, addr)
			others(t, addr)
			var before holdings
			for range 3 {
				before = held()
			}
			limit := before
			limit.bytes += uint64(x.conns)*x.bytes + slack
			limit.runs += x.conns * x.runs
			limit.goroutines += x.conns*x.runs + 2*crowd() // and idle ones that served the others
			limit.files += 2 * x.conns
			var all []net.Conn
			for range x.conns {
				c := testenv.Must(net.Dial("tcp", addr))
				testenv.Must(io.WriteString(c, x.begin))
				all = append(all, c)
			}
			others(t, addr)
			limit.hold(t, addr, "it goes on")
			ends, more := make(chan error, len(all)), []byte(x.more)
			for _, c := range all {
				go func() { ends <- end(c, more) }()
			}
			others(t, addr)
			limit.goroutines += 2 * x.conns // those above
			limit.hold(t, addr, "it ends")
			for range all {
				testenv.NoError(t, testenv.Await(t, ends, "the end of a connection"))
			}
			close(release)
			before.bytes += slack
			before.goroutines = limit.goroutines // coroutines leave idle ones
			testenv.Until(t, "what it was before", func() bool { return held().within(before) })
		})
	}
}

// end sends more, if there is any, and returns once the Server has closed the
// connection.
func end(c net.Conn, more []byte) error {
	defer c.Close()
	if len(more) == 0 {
		return nil
	}
	c.SetDeadline(time.Now().Add(testenv.Limit))
	go c.Write(more)
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

// besieged is a Server whose handlers end with their request, those of HTTP/2
// once they are released.
func besieged(release chan bool) *http.Server {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	answer := make([]byte, handlers)
	return &http.Server{MaxHeaderBytes: maxHead, MaxHeaderValueCount: maxFields, Protocols: p,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams}, ErrorLog: quiet,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 {
				<-release
				return
			}
			var buf [1 << 10]byte
			for err := error(nil); err == nil; {
				_, err = r.Body.Read(buf[:])
			}
			for err := error(nil); err == nil && r.URL.Path == "/huge"; {
				_, err = w.Write(answer)
			}
		})}
}

// holdings are the resources that the process holds.
type holdings struct {
	bytes                   uint64 // live, without stacks
	runs, goroutines, files int    // coroutines; goroutines with those
}

// slack is for memory that has nothing to do with the attack.
const slack = 512 << 10

// held collects garbage once; a sync.Pool gives up the values that two
// collections found unused.
func held() (h holdings) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	h.bytes = m.HeapAlloc
	coroutine.Range(func(coroutine.Info) bool { h.runs++; return true })
	h.goroutines, h.files = runtime.NumGoroutine(), testenv.Files()
	return h
}

func (h holdings) within(limit holdings) bool {
	return h.bytes <= limit.bytes && h.runs <= limit.runs && h.goroutines <= limit.goroutines &&
		h.files <= limit.files
}

// hold waits until the Server has read all bytes, and then until the process
// holds no more than limit.
func (limit holdings) hold(t *testing.T, addr, when string) {
	t.Helper()
	port := testenv.Must(net.ResolveTCPAddr("tcp", addr)).Port
	testenv.Until(t, "all to be read", func() bool {
		time.Sleep(10 * time.Millisecond) // Unread takes CPU from the Server
		return testenv.Unread(port) == 0
	})
	var now holdings
	defer func() {
		if t.Failed() {
			t.Logf("%+v is held", now)
		}
	}()
	testenv.Until(t, fmt.Sprintf("at most %+v to be held, while %s", limit, when), func() bool {
		now = held()
		return now.within(limit)
	})
}
