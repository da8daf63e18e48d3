package http

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A request's head is parsed here if it is of the form that almost all have.
// Everything else, also what is no request, is left to the standard's server,
// with the connection: so this parser accepts less than that one does, never
// more, and has no errors of its own.

// errUnusual leaves a request, and what follows it, to the standard's server:
// nothing of it was taken.
var errUnusual = errors.New("http: not of the usual form")

// refusal is an answer to what has ended, or must, before it is a request.
type refusal string

const (
	errCut      refusal = "400 Bad Request"
	errTooLarge refusal = "431 Request Header Fields Too Large"
)

// Error implements error.
func (r refusal) Error() string { return string(r) }

// readRequest reads the next request.
func (c *conn) readRequest() (*response, error) {
	s, x := c.s, c.work
	var whole time.Time
	if s.ReadTimeout > 0 {
		whole = time.Now().Add(s.ReadTimeout)
	}
	if d := s.WriteTimeout; d > 0 {
		defer func() {
			c.writeTimed = true
			c.nc.SetWriteDeadline(time.Now().Add(d))
		}()
	}
	if c.wasPost {
		start, _ := x.in.Peek(4)
		x.in.Discard(len(start) - len(bytes.TrimLeft(start, "\r\n"))) // as old clients send
	}
	if x.in.Buffered() == 0 {
		if _, err := x.in.Peek(1); err != nil {
			return nil, err
		}
	}
	head, _ := x.in.Peek(x.in.Buffered())
	if end := bytes.Index(head, []byte("\r\n\r\n")); end >= 0 {
		head = head[:end+4]
	} else {
		var err error
		if head, err = c.collect(); err != nil {
			return nil, err
		}
	}
	w := &response{c: c, contentLength: -1}
	if err := w.parse(string(head[:len(head)-2])); err != nil {
		return nil, err
	}
	if w.req.TransferEncoding == nil {
		x.in.Discard(len(head))
	} else {
		std, err := http.ReadRequest(x.in)
		if err != nil {
			return nil, err // it has none, since parse had none
		}
		w.body.std = std
	}
	c.wasPost = w.req.Method == MethodPost
	w.method, w.target, w.is11 = w.req.Method, w.req.RequestURI, w.req.ProtoMinor == 1
	w.bodyRead = w.body == nil
	if w.body != nil {
		w.req.Body = w.body
	} else {
		w.req.Body = NoBody
	}
	w.req.RemoteAddr = c.remote
	w.req.TLS = c.tlsState
	if !whole.IsZero() {
		c.setReadDeadline(whole)
	} else if c.readTimed {
		c.setReadDeadline(time.Time{})
	}
	x.body.Reset((*chunkWriter)(w))
	x.trailers = nil
	return w, nil
}

// collect reads on until a head has come whole, which it returns, or is seen to
// be of another form, or too large. All that was read comes again.
func (c *conn) collect() (head []byte, err error) {
	x, limit := c.work, cmp.Or(max(0, c.s.MaxHeaderBytes), DefaultMaxHeaderBytes)+4096
	begun, _ := x.in.Peek(x.in.Buffered())
	all := bytes.Clone(begun)
	x.in.Discard(len(begun))
	defer func() { x.from.early = append(all, x.from.early...) }()
	for fields, start, seen := -1, 0, 0; ; {
		if end := bytes.IndexByte(all[seen:], '\n'); end >= 0 {
			seen += end + 1
			line := string(all[start:seen])
			start = seen
			switch {
			case fields >= 0 && line == "\r\n" && seen <= limit:
				return all[:seen], nil
			case fields >= c.s.maxHeaderValues():
				return nil, errTooLarge
			case !isUsual(line, fields < 0):
				return nil, errUnusual
			}
			fields++
			continue
		}
		if seen = len(all); seen >= limit {
			return nil, errTooLarge
		}
		all = slices.Grow(all, max(readSize/2, len(all)))
		n, err := x.from.Read(all[len(all):min(cap(all), limit)])
		all = all[:len(all)+n]
		switch {
		case n > 0 || err == nil:
		case err == io.EOF && seen > 0, start < seen: // net/http takes half a line for one
			return nil, errCut
		default:
			return nil, err
		}
	}
}

// isUsual reports whether parse would take a line, if the head was whole.
func isUsual(line string, first bool) (ok bool) {
	line, ok = strings.CutSuffix(line, "\r\n")
	if first {
		_, _, _, usual := requestLine(line)
		return ok && usual
	}
	_, _, usual := field(line)
	return ok && usual
}

// requestLine splits the first line of a head.
func requestLine(line string) (method, target, proto string, ok bool) {
	method, target, _ = strings.Cut(line, " ")
	target, proto, _ = strings.Cut(target, " ")
	return method, target, proto, (proto == "HTTP/1.1" || proto == "HTTP/1.0") &&
		target != "" && target[0] == '/' && isToken(method) && method != MethodConnect
}

// field splits one of the others.
func field(line string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(line, ":")
	value = strings.Trim(value, " \t")
	return key, value, ok && isToken(key) && isFieldValue(value)
}

// blank is what requests are made of, for their context.
var blank Request

// parse makes w of a head, without the empty line. The error is errUnusual or
// errTooLarge.
func (w *response) parse(head string) error {
	line, rest, _ := strings.Cut(head, "\r\n")
	method, target, proto, ok := requestLine(line)
	if !ok || !w.parseTarget(target) {
		return errUnusual
	}
	minor := int(proto[7] - '0')
	h := head1{w: w, is11: minor == 1}
	h.header = make(Header, min(strings.Count(rest, "\n"), 8))
	for most := w.c.s.maxHeaderValues(); len(rest) > 0; most-- {
		line, rest, _ = strings.Cut(rest, "\r\n")
		if !h.add(line) {
			return errUnusual
		}
		if most == 0 {
			return errTooLarge
		}
	}
	if h.host == "" && (minor == 1 || h.hasHost) || h.chunked && has(h.header, "Content-Length") {
		return errUnusual
	}
	if get(h.header, "Pragma") == "no-cache" && !has(h.header, "Cache-Control") {
		h.header["Cache-Control"] = []string{"no-cache"}
	}
	w.req = *blank.WithContext((*requestContext)(w)) // which is on the stack
	req := &w.req
	req.Method, req.URL, req.RequestURI = method, &w.url, target
	req.Proto, req.ProtoMajor, req.ProtoMinor = proto, 1, minor
	req.Header, req.Host, req.ContentLength = h.header, h.host, h.length
	req.Close = h.closes || minor == 0
	w.wantsClose = req.Close
	if h.chunked {
		req.TransferEncoding, req.ContentLength = []string{"chunked"}, -1
	}
	if req.ContentLength != 0 {
		w.body = &body{w: w, in: w.c.work.in, left: h.length}
	}
	return nil
}

// parseTarget parses a target that begins with a slash. A path that needs no
// unescaping, and its query, are what they are.
func (w *response) parseTarget(target string) bool {
	path, query, has := strings.Cut(target, "?")
	if allIn(path, &pathBytes) && allIn(query, &queryBytes) && has == (query != "") {
		w.url = url.URL{Path: path, RawQuery: query}
		return true
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return false
	}
	w.url = *u
	return true
}

// head1 is a header while it is parsed.
type head1 struct {
	w           *response
	is11        bool
	header      Header
	values      int // in w.values
	host        string
	hasHost     bool
	length      int64
	chunked     bool
	closes      bool // Connection has close
	connections int
}

// add parses a line; false means that it is not of the usual form.
func (h *head1) add(line string) bool {
	key, value, ok := field(line)
	if !ok {
		return false
	}
	key = textproto.CanonicalMIMEHeaderKey(key)
	switch key {
	case "Host":
		if h.hasHost || !isHost(value) {
			return false
		}
		h.host, h.hasHost = value, true
		return true
	case "Content-Length":
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil || h.header["Content-Length"] != nil || value[0] == '+' {
			return false
		}
		h.length = int64(n)
	case "Transfer-Encoding":
		if h.chunked || !h.is11 || !strings.EqualFold(value, "chunked") {
			return false
		}
		h.chunked = true
		return true
	case "Expect", "Trailer":
		return false
	case "Connection":
		if h.connections++; h.connections > 1 {
			return false
		}
		h.closes = listsToken(value, "close")
		if h.closes != tokenIn(value, "close") { // net/http asks in both ways
			return false
		}
		if !h.is11 && tokenIn(value, "keep-alive") {
			return false
		}
	}
	if old := h.header[key]; old != nil {
		h.header[key] = append(old, value)
		return true
	}
	if h.values == len(h.w.values) {
		h.header[key] = []string{value}
		return true
	}
	h.w.values[h.values] = value
	h.header[key] = h.w.values[h.values : h.values+1 : h.values+1]
	h.values++
	return true
}

// isToken reports whether s is a token of RFC 9110, such as a field's name.
func isToken(s string) bool { return s != "" && allIn(s, &tokenBytes) }

// isHost reports whether s has only what may be in a Host.
func isHost(s string) bool { return allIn(s, &hostBytes) }

// allIn reports whether all bytes of s are in the set.
func allIn[T string | []byte](s T, set *[4]uint64) bool {
	for i := range len(s) {
		if set[s[i]>>6]>>(s[i]&63)&1 == 0 {
			return false
		}
	}
	return true
}

const lettersAndDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

var (
	tokenBytes = bytesOf(lettersAndDigits + "!#$%&'*+-.^_`|~")
	pathBytes  = bytesOf(lettersAndDigits + "$&+,-./:;=@_~") // url leaves them as they are
	queryBytes = [4]uint64{math.MaxUint64 << 33 & math.MaxUint64, math.MaxUint64 >> 1,
		math.MaxUint64, math.MaxUint64} // all but spaces and what controls
	hostBytes = bytesOf(lettersAndDigits + "!$%&'()*+,-.:;=[]_~")
)

// bytesOf returns a set of bytes.
func bytesOf(s string) (set [4]uint64) {
	for i := range len(s) {
		set[s[i]>>6] |= 1 << (s[i] & 63)
	}
	return set
}

// isFieldValue reports whether s may be a field's value.
func isFieldValue(s string) bool {
	for i := range len(s) {
		if b := s[i]; b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}
