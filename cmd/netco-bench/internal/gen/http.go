package gen

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// httpPlan is what all HTTP/1.1 requests of a run look like.
type httpPlan struct {
	method, host string
	targets      []string // paths with queries; each request draws one
	header       []string // "Name: value"
	body         string
}

func (p *httpPlan) build(target, content []piece, header [][]piece) func(payload []byte) variant {
	return func(payload []byte) variant {
		var v, body variant
		body.pieces(content, payload)
		v.literal(p.method + " ")
		v.pieces(target, payload)
		v.literal(" HTTP/1.1\r\nHost: " + p.host + "\r\n")
		for _, h := range header {
			v.pieces(h, payload)
			v.literal("\r\n")
		}
		if len(body.text) > 0 || sendsBody(p.method) {
			v.literal(fmt.Sprintf("Content-Length: %d\r\n", len(body.text)))
		}
		v.literal("\r\n")
		v.append(body)
		return v
	}
}

// sendsBody reports whether requests have a body, be it an empty one.
func sendsBody(method string) bool {
	return method == "POST" || method == "PUT" || method == "PATCH"
}

func parseHeader(h string) (name, value string, err error) {
	name, value, ok := strings.Cut(h, ":")
	if !ok || name == "" || strings.ContainsAny(h, "\r\n") || strings.ContainsAny(name, " \t") {
		return "", "", fmt.Errorf("-H %q: want 'Name: value'", h)
	}
	return name, strings.TrimSpace(value), nil
}

func newHTTPTemplate(p *httpPlan, mix Mix, pipeline int) (*template, error) {
	content, err := parsePieces(p.body)
	if err != nil {
		return nil, fmt.Errorf("-body: %w", err)
	}
	var header [][]piece
	for _, h := range p.header {
		if _, _, err := parseHeader(h); err != nil {
			return nil, err
		}
		pieces, err := parsePieces(h)
		if err != nil {
			return nil, err
		}
		header = append(header, pieces)
	}
	var builds []func(payload []byte) variant
	for _, s := range p.targets {
		target, err := parsePieces(s)
		if err != nil {
			return nil, err
		}
		builds = append(builds, p.build(target, content, header))
	}
	return newTemplate(mix, pipeline, builds...), nil
}

// httpCodec is HTTP/1.1 on one connection.
type httpCodec struct {
	sender
	httpParser
}

func (c *httpCodec) reset()                   { c.httpParser = httpParser{head: c.head} }
func (c *httpCodec) failure(v verdict) string { return statusText(v) }

// httpParser recognises HTTP/1.x answers, which may come in any pieces. A head
// is wanted as a whole, of a body nothing is kept.
type httpParser struct {
	head bool // the requests are HEAD, whose answers have no body

	state httpState
	v     verdict
	left  int64 // bytes of the body, or of a chunk and the line end behind it
}

type httpState uint8

const (
	inHead     httpState = iota
	inBody               // of left bytes
	inChunkLen           // the line in front of a chunk
	inChunk              // left bytes
	inTrailer            // lines up to an empty one
	untilEnd             // a body that the end of the stream ends
)

func (p *httpParser) answer(b []byte) (int, verdict, error) {
	taken := 0
	for {
		n, more, err := p.step(b[taken:])
		taken += n
		if err != nil {
			return taken, 0, err
		}
		if !more {
			return taken, 0, nil
		}
		if p.state == inHead {
			return taken, p.v, nil
		}
	}
}

// step takes one part of an answer. It reports whether the part is complete;
// the answer is if p is back in the state inHead.
func (p *httpParser) step(b []byte) (n int, done bool, err error) {
	switch p.state {
	case inHead:
		return p.stepHead(b)
	case inBody, inChunk:
		n = int(min(p.left, int64(len(b))))
		if p.left -= int64(n); p.left > 0 {
			return n, false, nil
		}
		if p.state == inBody {
			p.state = inHead
		} else {
			p.state = inChunkLen
		}
		return n, true, nil
	case inChunkLen, inTrailer:
		line, n := cutLine(b)
		if n == 0 {
			return 0, false, nil
		}
		if p.state == inTrailer {
			if len(line) == 0 {
				p.state = inHead
			}
			return n, true, nil
		}
		return n, true, p.chunk(line)
	}
	return len(b), false, nil // untilEnd
}

// cutLine returns the first line of b without its end, and how many bytes it
// has with it; 0 if there is no whole line.
func cutLine(b []byte) (line []byte, n int) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return nil, 0
	}
	line = b[:i]
	if i > 0 && line[i-1] == '\r' {
		line = line[:i-1]
	}
	return line, i + 1
}

func (p *httpParser) chunk(line []byte) error {
	size, digits := int64(0), 0
	for _, c := range line {
		d := hexDigit(c)
		if d < 0 {
			if c == ';' || c == ' ' || c == '\t' {
				break
			}
			return wrongf("chunk length %q", line)
		}
		if size > math.MaxInt64>>8 {
			return wrongf("chunk length %q", line)
		}
		size = size<<4 | int64(d)
		digits++
	}
	switch {
	case digits == 0:
		return wrongf("chunk length %q", line)
	case size == 0:
		p.state = inTrailer
	default:
		p.state, p.left = inChunk, size+2
	}
	return nil
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// stepHead takes a whole head, or nothing.
func (p *httpParser) stepHead(b []byte) (taken int, done bool, err error) {
	line, at := cutLine(b)
	if at == 0 {
		return 0, false, nil
	}
	status, minor, err := parseStatus(line)
	if err != nil {
		return 0, false, err
	}
	length, chunked, closes := int64(-1), false, minor == '0'
	for {
		line, n := cutLine(b[at:])
		if n == 0 {
			return 0, false, nil
		}
		at += n
		if len(line) == 0 {
			break
		}
		switch line[0] | 0x20 {
		case 'c':
			if v, ok := header(line, "content-length"); ok {
				l, ok := parseLength(v)
				if !ok || length >= 0 && length != l {
					return 0, false, wrongf("Content-Length %q", v)
				}
				length = l
			} else if v, ok := header(line, "connection"); ok {
				if equalFold(v, "close") {
					closes = true
				} else if equalFold(v, "keep-alive") {
					closes = false
				}
			}
		case 't':
			if v, ok := header(line, "transfer-encoding"); ok {
				chunked = endsFold(v, "chunked")
			}
		}
	}
	switch {
	case status == 101:
		return 0, false, wrongf("status 101 to a request without Upgrade")
	case status < 200: // the answer is still to come
		n, done, err := p.stepHead(b[at:])
		if n == 0 {
			return 0, done, err
		}
		return at + n, done, err
	}
	p.begin(status, length, chunked, closes)
	return at, true, nil
}

// begin sets the state behind a head.
func (p *httpParser) begin(status int, length int64, chunked, closes bool) {
	p.v = complete | verdict(status)<<statusShift
	if status >= 400 {
		p.v |= failed
	}
	switch {
	case p.head || status == 204 || status == 304 || length == 0 && !chunked:
		p.state = inHead
	case chunked:
		p.state = inChunkLen
	case length > 0:
		p.state, p.left = inBody, length
	default:
		p.state, closes = untilEnd, true
	}
	if closes {
		p.v |= last
	}
}

func (p *httpParser) end() verdict {
	if p.state != untilEnd {
		return 0
	}
	p.state = inHead
	return p.v
}

// parseStatus reads "HTTP/1.1 200 OK".
func parseStatus(line []byte) (status int, minor byte, err error) {
	const least = len("HTTP/1.1 200")
	if len(line) < least || string(line[:7]) != "HTTP/1." || line[8] != ' ' || len(line) > least &&
		line[least] != ' ' {
		return 0, 0, wrongf("%.40q is no HTTP/1.1 status line", line)
	}
	for _, c := range line[9:least] {
		if c < '0' || c > '9' {
			return 0, 0, wrongf("%.40q is no HTTP/1.1 status line", line)
		}
		status = status*10 + int(c-'0')
	}
	if status < 100 {
		return 0, 0, wrongf("status %d", status)
	}
	return status, line[7], nil
}

// header returns a line's value if its name is name, which is in lower case.
func header(line []byte, name string) (value []byte, ok bool) {
	if len(line) <= len(name) || line[len(name)] != ':' || !equalFold(line[:len(name)], name) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(name)+1:]), true
}

// equalFold compares b with lower, which is letters in lower case and hyphens.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range b {
		if b[i] != lower[i] && b[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

func endsFold(b []byte, lower string) bool {
	return len(b) >= len(lower) && equalFold(b[len(b)-len(lower):], lower)
}

func parseLength(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}
