package main

import "bytes"

// Limits against hostile input. What a request claims to hold is not believed: memory grows with what has come.
const (
	maxArgs    = 1 << 20
	maxBulk    = 64 << 20  // redis: 512 MiB
	maxRequest = 128 << 20 // all of it
	maxInline  = 64 << 10
)

// protocolError is what a client is told before the connection is closed.
type protocolError string

const (
	badArgCount   protocolError = "invalid multibulk length"
	badBulkLength protocolError = "invalid bulk length"
	noBulkEnd     protocolError = "expected CRLF after a bulk string"
	longLength    protocolError = "too big count string"
	longInline    protocolError = "too big inline request"
	openQuote     protocolError = "unbalanced quotes in request"
	longRequest   protocolError = "too big request"
)

func (e protocolError) Error() string { return "Protocol error: " + string(e) }

// parse finds the parts of the request at the front of p, which is not empty, and appends them to args; they point into p. used is how
// long the request is. If it is not all there, used is 0, and a further try is worth while with need bytes, or with any more
// if that is no more than there are. A request may be empty: it is not to be answered.
//
// need makes the tries few even of a request of a million parts that comes in a byte at a time: it knows where the part under
// way ends, and that each of those outstanding takes six bytes at least.
func parse(p []byte, args [][]byte) (_ [][]byte, used, need int, err error) {
	if p[0] != '*' {
		return parseInline(p, args)
	}
	count, at, err := number(p, 1)
	if at == 0 || err != nil {
		return args, 0, 0, err
	}
	if count > maxArgs {
		return args, 0, 0, badArgCount
	}
	for ; count > 0; count-- {
		if at == len(p) {
			return args, 0, 0, nil
		}
		if p[at] != '$' {
			return args, 0, 0, protocolError("expected '$', got '" + string(p[at:at+1]) + "'")
		}
		size, start, err := number(p, at+1)
		if err != nil {
			return args, 0, 0, badBulkLength
		}
		if start == 0 {
			return args, 0, 0, nil
		}
		if size < 0 || size > maxBulk {
			return args, 0, 0, badBulkLength
		}
		end := start + size
		if end+2 > len(p) {
			if end > maxRequest {
				return args, 0, 0, longRequest
			}
			return args, 0, end + 2 + 6*(count-1), nil
		}
		if p[end] != '\r' || p[end+1] != '\n' {
			return args, 0, 0, noBulkEnd
		}
		args = append(args, p[start:end:end])
		at = end + 2
	}
	return args, at, 0, nil
}

// number reads the number at p[at:] and its end of line; next is what follows that, 0 if it is not all there.
func number(p []byte, at int) (n, next int, err error) {
	i := at
	for ; i < len(p); i++ {
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
	case len(line) > 32:
		return 0, 0, longLength
	case bytes.TrimLeft(digits, "0123456789") != nil && len(bytes.TrimLeft(digits, "0123456789")) > 0:
		return 0, 0, badArgCount
	case end < 0 || end+1 == len(p):
		return 0, 0, nil
	case len(digits) == 0 || p[end+1] != '\n':
		return 0, 0, badArgCount
	}
	return -1, at + end + 2, nil // it has a sign: how much it is does not matter
}
