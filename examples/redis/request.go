package main

import (
	"bytes"
	"errors"
)

// Limits against hostile input. What a request claims to hold is not believed:
// memory grows with what has come.
const (
	maxArgs    = 2048     // redis: 1M; a command deals with its keys in one step, some 100 µs
	maxRequest = 16 << 20 // redis: 512 MiB for each argument
	maxInline  = 64 << 10
)

// protocolError is the answer to a client before the connection is closed.
func protocolError(text string) error { return errors.New("ERR Protocol error: " + text) }

var (
	badArgCount   = protocolError("invalid multibulk length")
	badBulkLength = protocolError("invalid bulk length")
)

// parser finds requests in what has come of them. What it has found of one
// that is not all there it keeps, so that a request costs as much work as it
// has bytes, however it is cut. The zero value is ready for use.
type parser struct {
	args [][]byte // what next has returned
	// Of the request under way, counted from its first byte:
	parts []span // those found
	left  int    // parts still to come
	// Where the next part begins; in an incomplete line, how far there is no
	// end of it; 0: nothing is known yet.
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
// need makes the tries few even of a request of many parts that comes in a
// byte at a time: it knows where the part under way ends, and that each of
// those outstanding takes six bytes at least.
func (pr *parser) next(p []byte) (args [][]byte, used, need int, err error) {
	if p[0] != '*' {
		return pr.line(p)
	}
	if pr.at == 0 {
		count, at, ok := number(p, 1)
		if !ok || count > maxArgs {
			return nil, 0, 0, badArgCount
		}
		pr.left, pr.at = count, at
		if at == 0 {
			return nil, 0, 0, nil
		}
	}
	for ; pr.left > 0; pr.left-- {
		if pr.at == len(p) {
			return nil, 0, 0, nil
		}
		size, start, ok := number(p, pr.at+1)
		end := start + size
		switch {
		case p[pr.at] != '$':
			return nil, 0, 0, protocolError("expected '$', got '" + string(p[pr.at:pr.at+1]) + "'")
		case !ok:
			return nil, 0, 0, badBulkLength
		case start == 0:
			return nil, 0, 0, nil
		case end+2 > maxRequest:
			return nil, 0, 0, protocolError("too big request")
		case end+2 > len(p):
			return nil, 0, end + 2 + 6*(pr.left-1), nil
		case p[end] != '\r' || p[end+1] != '\n':
			return nil, 0, 0, protocolError("expected CRLF after a bulk string")
		}
		pr.parts = append(pr.parts, span{uint32(start), uint32(end)})
		pr.at = end + 2
	}
	pr.args = pr.args[:0]
	for _, s := range pr.parts {
		pr.args = append(pr.args, p[s.start:s.end:s.end])
	}
	used = pr.at
	pr.parts, pr.at = pr.parts[:0], 0
	return pr.args, used, 0, nil
}

// line is next for words with spaces between, as one types them into telnet.
func (pr *parser) line(p []byte) (args [][]byte, used, need int, err error) {
	end := pr.at + bytes.IndexByte(p[pr.at:], '\n')
	if end < pr.at {
		pr.at, end = len(p), len(p)
	} else {
		pr.at, used = 0, end+1
	}
	if end > maxInline {
		return nil, 0, 0, protocolError("too big inline request")
	}
	pr.args = pr.args[:0]
	if used > 0 {
		for word := range bytes.FieldsSeq(p[:end]) {
			pr.args = append(pr.args, word)
		}
	}
	return pr.args, used, 0, nil
}

// maxDigits is how long a number may be.
const maxDigits = 12

// number reads the number at p[at:] and its end of line; next is what follows
// that, 0 if it is not all there.
func number(p []byte, at int) (n, next int, ok bool) {
	i := at
	for ; i < len(p) && i <= at+maxDigits && p[i]-'0' <= 9; i++ {
		n = n*10 + int(p[i]-'0')
	}
	rest := p[min(i, len(p)):]
	switch {
	case i > at+maxDigits:
		return 0, 0, false
	case len(rest) == 0 || len(rest) == 1 && rest[0] == '\r':
		return 0, 0, true
	case i == at || rest[0] != '\r' || rest[1] != '\n':
		return 0, 0, false
	}
	return n, i + 2, true
}
