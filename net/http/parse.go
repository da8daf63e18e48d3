package http

import (
	"bufio"
	"bytes"
	"math"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A request's head is parsed here if it has come whole and is of the form that
// almost all have. Everything else, also what is no request, is left to
// http.ReadRequest, as is chunked coding: so this parser accepts less than that
// one does, never more, and has no errors of its own.

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
	x.from.left = s.readLimit()
	if c.wasPost {
		start, _ := x.in.Peek(4)
		x.in.Discard(len(start) - len(bytes.TrimLeft(start, "\r\n"))) // as old clients send
	}
	if x.in.Buffered() == 0 {
		x.in.Peek(1) // an error is there again below
	}
	head, _ := x.in.Peek(x.in.Buffered())
	w := &response{c: c, contentLength: -1}
	n := w.parse(head)
	if n > 0 {
		x.in.Discard(n)
	} else if err := w.readSlowly(head); err != nil {
		return nil, err
	}
	x.from.left = noLimit
	c.wasPost = w.req.Method == MethodPost
	w.method, w.target, w.is11 = w.req.Method, w.req.RequestURI, w.req.ProtoAtLeast(1, 1)
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

// blank is what requests are made of, for their context.
var blank Request

// parse makes w of the head that buf begins with, and returns how long that is;
// 0 if http.ReadRequest is to see it.
func (w *response) parse(buf []byte) int {
	end := bytes.Index(buf, []byte("\r\n\r\n"))
	if end < 0 {
		return 0
	}
	head := string(buf[:end+2])
	line, rest, _ := strings.Cut(head, "\r\n")
	method, target, _ := strings.Cut(line, " ")
	target, proto, _ := strings.Cut(target, " ")
	if proto != "HTTP/1.1" && proto != "HTTP/1.0" || target == "" || target[0] != '/' ||
		!isToken(method) || method == MethodConnect {
		return 0
	}
	if !w.parseTarget(target) {
		return 0
	}
	minor := int(proto[7] - '0')
	h := head1{w: w, is11: minor == 1}
	h.header = make(Header, min(strings.Count(rest, "\n"), 8))
	for len(rest) > 0 {
		line, rest, _ = strings.Cut(rest, "\r\n")
		if !h.add(line) {
			return 0
		}
	}
	if h.host == "" && (minor == 1 || h.hasHost) {
		return 0
	}
	w.req = *blank.WithContext((*requestContext)(w)) // which is on the stack
	req := &w.req
	req.Method, req.URL, req.RequestURI = method, &w.url, target
	req.Proto, req.ProtoMajor, req.ProtoMinor = proto, 1, minor
	req.Header, req.Host, req.ContentLength = h.header, h.host, h.length
	req.Close = h.close(minor)
	w.http10Keep = minor == 0 && h.keep
	w.wantsClose = req.Close
	if h.length > 0 {
		w.body = &body{w: w, in: w.c.work.in, left: h.length}
	}
	return end + 4
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
	count       int
	host        string
	hasHost     bool
	length      int64
	closes      bool // Connection has close
	keep        bool // or keep-alive
	connections int
}

func (h *head1) close(minor int) bool {
	return h.closes || minor == 0 && !h.keep
}

// add parses a line; false leaves the request to http.ReadRequest.
func (h *head1) add(line string) bool {
	colon := strings.IndexByte(line, ':')
	if colon <= 0 {
		return false
	}
	key, value := line[:colon], strings.Trim(line[colon+1:], " \t")
	if !isToken(key) || !isFieldValue(value) {
		return false
	}
	if h.count++; h.count > h.w.c.s.maxHeaderValues() {
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
	case "Transfer-Encoding", "Trailer", "Pragma":
		return false
	case "Connection":
		if h.connections++; h.connections > 1 {
			return false
		}
		h.closes = listsToken(value, "close")
		h.keep = listsToken(value, "keep-alive")
		if h.closes != tokenIn(value, "close") || h.keep != tokenIn(value, "keep-alive") {
			return false // net/http asks in both ways
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

// readHead is what was read of a request's fields, and perhaps of what follows.
type readHead struct {
	raw     []byte
	started bool // the line before them has ended
	fields  int
	ended   bool // raw has the empty line
}

// add takes note of what was read, and returns how many fields there are. Lines
// that continue a field are none.
func (h *readHead) add(p []byte) (fields int) {
	if !h.started {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			return 0
		}
		h.started, p = true, p[end:]
	}
	next := max(0, len(h.raw)-1)
	h.raw = append(h.raw, p...)
	for !h.ended {
		end := bytes.IndexByte(h.raw[next:], '\n')
		if next += end + 1; end < 0 || next == len(h.raw) {
			break
		}
		switch h.raw[next] {
		case '\r', '\n':
			h.ended = true
		case ' ', '\t':
		default:
			h.fields++
		}
	}
	return h.fields
}

// readSlowly makes w by http.ReadRequest, and does what net/http's server does
// besides. head is what the buffer has.
func (w *response) readSlowly(head []byte) error {
	x := w.c.work
	var read readHead
	read.add(head)
	x.from.record = &read
	std, err := http.ReadRequest(x.in)
	x.from.record = nil
	if err != nil {
		// That of net/http is another value, which Go 1.27's returns as well.
		if x.from.left <= 0 || err.Error() == "http: request too large" {
			return errTooLarge
		}
		return err
	}
	if std.ProtoMajor != 1 && !isPreface(std) {
		return statusError{StatusHTTPVersionNotSupported, ": unsupported protocol version"}
	}
	if read.fields > w.c.s.maxHeaderValues() {
		return errTooLarge
	}
	if err := check(std, read.raw); err != nil {
		return err
	}
	w.req = *std.WithContext((*requestContext)(w))
	w.wantsClose = std.Close || tokenIn(get(std.Header, "Connection"), "close")
	w.http10Keep = std.ProtoMajor == 1 && std.ProtoMinor == 0 &&
		tokenIn(get(std.Header, "Connection"), "keep-alive")
	w.closeAfter = isPreface(std)
	if std.Body == NoBody {
		return nil
	}
	w.body = &body{w: w, in: x.in}
	if len(std.TransferEncoding) > 0 {
		w.body.std = std
	} else {
		w.body.left = std.ContentLength
	}
	return nil
}

func isPreface(r *Request) bool {
	return r.Method == "PRI" && len(r.Header) == 0 && r.URL.Path == "*" && r.ProtoMajor == 2 &&
		r.ProtoMinor == 0
}

// check is what net/http's server checks behind ReadRequest. raw has the
// fields, after the end of the line before.
func check(r *Request, raw []byte) error {
	host, hasHost := r.Host, r.Host != ""
	if r.URL.Host != "" || !hasHost { // r does not show its Host field
		in := textproto.NewReader(bufio.NewReader(bytes.NewReader(raw[1:])))
		fields, _ := in.ReadMIMEHeader()
		host, hasHost = get(Header(fields), "Host"), has(Header(fields), "Host")
	}
	if r.ProtoAtLeast(1, 1) && !hasHost && !isPreface(r) && r.Method != MethodConnect {
		return statusError{StatusBadRequest, ": missing required Host header"}
	}
	if !isHost(host) {
		return statusError{StatusBadRequest, ": malformed Host header"}
	}
	for k, values := range r.Header {
		if !isToken(k) {
			return statusError{StatusBadRequest, ": invalid header name"}
		}
		for _, v := range values {
			if !isFieldValue(v) {
				return statusError{StatusBadRequest, ": invalid header value"}
			}
		}
	}
	return nil
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
