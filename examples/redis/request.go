package main

import (
	"bytes"
	"time"
)

// Limits against hostile input. What a request claims to hold is not believed:
// memory grows with what has come.
const (
	maxArgs    = 64 << 10  // redis: 1M; they are found in one turn
	maxBulk    = 64 << 20  // redis: 512 MiB
	maxRequest = 128 << 20 // all of it
	maxInline  = 64 << 10

	// Buffers of all clients together for requests of more than minStep that
	// are not all there.
	maxUnfinished = 256 << 20
	// How long such a request may take for as many bytes as have come of it.
	unfinishedTime = 20 * time.Second
)

// protocolError is the answer to a client before the connection is closed.
type protocolError string

const (
	badArgCount   protocolError = "invalid multibulk length"
	badBulkLength protocolError = "invalid bulk length"
	noBulkEnd     protocolError = "expected CRLF after a bulk string"
	longLength    protocolError = "too big count string"
	longInline    protocolError = "too big inline request"
	openQuote     protocolError = "unbalanced quotes in request"
	longRequest   protocolError = "too big request"
	noMemory      protocolError = "too much memory in unfinished requests"
)

func (e protocolError) Error() string { return "Protocol error: " + string(e) }

// parser finds requests in what has come of them. What it has found of one
// that is not all there it keeps, so that a request costs as much work as it
// has bytes, however it is cut. The zero value is ready for use.
type parser struct {
	args [][]byte // what next has returned
	// Of the request under way, counted from its first byte:
	parts []span // those found
	left  int    // parts still to come
	// Where the next one begins; in an incomplete line, how far there is no end
	// of it; 0: nothing is known yet.
	at int
}

// span is where a part lies. maxRequest fits.
type span struct{ start, end uint32 }

// next returns the parts of the request at the front of p, which is not empty;
// they point into p and are good until the next call. used is how long the
// request is. If it is not all there, used is 0, and next is to be called again
// with p and more: a further try is worth while with need bytes, or with any
// more if that is no more than there are. A request may be empty: it is not to
// be answered. After an error the parser is of no more use.
//
// need makes the tries few even of a request of a million parts that comes in a
// byte at a time: it knows where the part under way ends, and that each of
// those outstanding takes six bytes at least.
func (r *parser) next(p []byte) (args [][]byte, used, need int, err error) {
	if p[0] != '*' {
		return r.inline(p)
	}
	if r.at == 0 {
		count, at, err := number(p, 1)
		if at == 0 || err != nil {
			return nil, 0, 0, err
		}
		if count > maxArgs {
			return nil, 0, 0, badArgCount
		}
		r.left, r.at = count, at
	}
	for ; r.left > 0; r.left-- {
		if r.at == len(p) {
			return nil, 0, 0, nil
		}
		if p[r.at] != '$' {
			return nil, 0, 0, protocolError("expected '$', got '" + string(p[r.at:r.at+1]) + "'")
		}
		size, start, err := number(p, r.at+1)
		if err != nil {
			return nil, 0, 0, badBulkLength
		}
		if start == 0 {
			return nil, 0, 0, nil
		}
		if size < 0 || size > maxBulk {
			return nil, 0, 0, badBulkLength
		}
		end := start + size
		if end+2 > len(p) {
			if end > maxRequest {
				return nil, 0, 0, longRequest
			}
			return nil, 0, end + 2 + 6*(r.left-1), nil
		}
		if p[end] != '\r' || p[end+1] != '\n' {
			return nil, 0, 0, noBulkEnd
		}
		r.parts = append(r.parts, span{uint32(start), uint32(end)})
		r.at = end + 2
	}
	r.args = r.args[:0]
	for _, s := range r.parts {
		r.args = append(r.args, p[s.start:s.end:s.end])
	}
	used = r.at
	r.parts, r.at = r.parts[:0], 0
	return r.args, used, 0, nil
}

// forget lets go of what a large request has left behind.
func (r *parser) forget() {
	const keep = 64
	if cap(r.args) > keep {
		r.args = nil
	}
	if cap(r.parts) > keep && len(r.parts) == 0 {
		r.parts = nil
	}
}

// maxDigits is how long a number may be.
const maxDigits = 32

// number reads the number at p[at:] and its end of line; next is what follows
// that, 0 if it is not all there.
func number(p []byte, at int) (n, next int, err error) {
	i := at
	for limit := min(len(p), at+maxDigits+1); i < limit; i++ {
		digit := p[i] - '0'
		if digit > 9 {
			break
		}
		if n = n*10 + int(digit); n > 1<<40 {
			return 0, 0, badArgCount
		}
	}
	if i+1 < len(p) && i > at && p[i] == '\r' && p[i+1] == '\n' {
		return n, i + 2, nil
	}
	return oddNumber(p[at:], at)
}

// oddNumber is number for what is negative, wrong or not all there.
func oddNumber(p []byte, at int) (n, next int, err error) {
	line := p
	end := bytes.IndexByte(p, '\r')
	if end >= 0 {
		line = p[:end]
	}
	digits := bytes.TrimPrefix(line, []byte("-"))
	switch {
	case len(line) > maxDigits:
		return 0, 0, longLength
	case bytes.TrimLeft(digits, "0123456789") != nil &&
		len(bytes.TrimLeft(digits, "0123456789")) > 0:
		return 0, 0, badArgCount
	case end < 0 || end+1 == len(p):
		return 0, 0, nil
	case len(digits) == 0 || p[end+1] != '\n':
		return 0, 0, badArgCount
	}
	return -1, at + end + 2, nil // it has a sign: how much it is does not matter
}
