package http

import (
	"bytes"
	"cmp"
	"math"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
)

// This parser accepts heads of the form that almost all requests have. All
// other input stays in the buffer and goes to the standard's server with the
// connection. So this parser never accepts more than the standard's, and has no
// errors of its own.

// readRequest reads the next request. It returns nil if there is an error, or
// if it has handed the connection over.
func (c *conn) readRequest() (*response, error) {
	s, x := c.s, c.work
	whole := after(s.ReadTimeout)
	if c.wasPost {
		start, _ := x.in.Peek(4)
		x.in.Discard(len(start) - len(bytes.TrimLeft(start, "\r\n"))) // old clients send these
	}
	head, err := c.readHead()
	if head == "" {
		return nil, err
	}
	w := &response{c: c, contentLength: -1}
	if !w.parse(head) {
		return nil, c.handOver(&s.std, nil)
	}
	if w.req.TransferEncoding == nil {
		x.in.Discard(len(head) + len("\r\n"))
	} else {
		std, err := http.ReadRequest(x.in)
		if err != nil {
			return nil, err // there is none, since parse had none
		}
		w.body.std = std
	}
	w.method, w.target, w.proto = w.req.Method, w.req.RequestURI, w.req.Proto
	c.wasPost = w.method == MethodPost
	w.bodyRead = w.body == nil
	w.req.RemoteAddr = c.remote
	w.req.TLS = c.tlsState
	if s.ReadHeaderTimeout != 0 { // else the deadline is that of the whole request
		c.nc.SetReadDeadline(whole)
	}
	if s.WriteTimeout > 0 {
		c.nc.SetWriteDeadline(after(s.WriteTimeout))
	}
	x.body.Reset((*chunkWriter)(w))
	return w, nil
}

// readHead returns the next head, without the empty line, and leaves it in the
// buffer. If the head is cut off or does not fit in the buffer, the standard's
// server gets the connection, and readHead returns "".
func (c *conn) readHead() (string, error) {
	in, limit := c.work.in, cmp.Or(max(0, c.s.MaxHeaderBytes), DefaultMaxHeaderBytes)+4096
	limit = min(limit, in.Size())
	for {
		head, _ := in.Peek(min(in.Buffered(), limit))
		if end := bytes.Index(head, []byte("\r\n\r\n")); end >= 0 {
			return string(head[:end+2]), nil
		}
		if len(head) == limit || len(head) > 0 && !allIn(head[:1], &tokenBytes) {
			return "", c.handOver(&c.s.std, nil) // no token may be TLS, whose client waits
		}
		if _, err := in.Peek(len(head) + 1); err != nil && len(head) > 0 {
			return "", c.handOver(&c.s.std, err)
		} else if err != nil {
			return "", err
		}
	}
}

// parse fills w from a head, without the empty line. It returns false if the
// head does not have the usual form.
func (w *response) parse(head string) bool {
	line, rest, _ := strings.Cut(head, "\r\n")
	method, target, _ := strings.Cut(line, " ")
	target, proto, _ := strings.Cut(target, " ")
	if proto != "HTTP/1.1" && proto != "HTTP/1.0" || target == "" || target[0] != '/' ||
		!isToken(method) || method == MethodConnect || !w.parseTarget(target) {
		return false
	}
	w.req = *new(Request).WithContext((*requestContext)(w)) // both Requests are on the stack
	req := &w.req
	req.Method, req.URL, req.RequestURI = method, &w.url, target
	req.Proto, req.ProtoMajor, req.ProtoMinor = proto, 1, int(proto[7]-'0')
	req.Close = req.ProtoMinor == 0
	req.Header = make(Header, min(strings.Count(rest, "\n"), 8))
	most := cmp.Or(max(0, w.c.s.MaxHeaderValueCount), DefaultMaxHeaderValueCount)
	for ; len(rest) > 0; most-- {
		line, rest, _ = strings.Cut(rest, "\r\n")
		if most == 0 || !w.addField(line) {
			return false
		}
	}
	if req.Host == "" && req.ProtoMinor == 1 ||
		req.TransferEncoding != nil && has(req.Header, "Content-Length") {
		return false
	}
	if req.Header.Get("Pragma") == "no-cache" && !has(req.Header, "Cache-Control") {
		req.Header["Cache-Control"] = []string{"no-cache"}
	}
	w.closeAfter = req.Close
	req.Body = NoBody
	if req.ContentLength != 0 {
		w.body = &body{w: w, in: w.c.work.in, unread: req.ContentLength}
		req.Body = w.body
	}
	return true
}

// parseTarget parses a target that begins with a slash. A path that needs no
// unescaping, and its query, are taken as they are.
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

// addField parses a line of the header. It returns false if the line does not
// have the usual form.
func (w *response) addField(line string) bool {
	key, value, ok := strings.Cut(line, ":")
	value = strings.Trim(value, " \t")
	if !ok || !isToken(key) || !allIn(value, &valueBytes) {
		return false
	}
	req := &w.req
	key = textproto.CanonicalMIMEHeaderKey(key)
	old := req.Header[key]
	switch key {
	case "Host":
		if req.Host != "" || value == "" || !allIn(value, &hostBytes) {
			return false
		}
		req.Host = value
		return true
	case "Content-Length":
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil || old != nil || value[0] == '+' {
			return false
		}
		req.ContentLength = int64(n)
	case "Transfer-Encoding":
		if req.TransferEncoding != nil || req.ProtoMinor == 0 ||
			!strings.EqualFold(value, "chunked") {
			return false
		}
		req.TransferEncoding, req.ContentLength = []string{"chunked"}, -1
		return true
	case "Expect", "Trailer":
		return false
	case "Connection":
		if old != nil {
			return false
		}
		for option := range strings.SplitSeq(value, ",") {
			option = strings.Trim(option, " \t")
			if !isToken(option) || req.ProtoMinor == 0 && strings.EqualFold(option, "keep-alive") {
				return false
			}
			req.Close = req.Close || strings.EqualFold(option, "close")
		}
	}
	if n := len(req.Header); old == nil && n < len(w.values) {
		w.values[n] = value
		req.Header[key] = w.values[n : n+1 : n+1]
	} else {
		req.Header[key] = append(old, value)
	}
	return true
}

// isToken reports whether s is a token of RFC 9110, such as a field's name.
func isToken(s string) bool { return s != "" && allIn(s, &tokenBytes) }

// allIn reports whether all bytes of s are in the set.
func allIn[T string | []byte](s T, set *[4]uint64) bool {
	for i := range len(s) {
		if set[s[i]>>6]>>(s[i]&63)&1 == 0 {
			return false
		}
	}
	return true
}

const (
	lettersAndDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	ones             = math.MaxUint64
)

var (
	tokenBytes = bytesOf(lettersAndDigits + "!#$%&'*+-.^_`|~")
	pathBytes  = bytesOf(lettersAndDigits + "$&+,-./:;=@_~")               // kept by package url
	queryBytes = [4]uint64{ones << 33 & ones, ones >> 1, ones, ones}       // no spaces, controls
	valueBytes = [4]uint64{ones<<32&ones | 1<<'\t', ones >> 1, ones, ones} // no controls
	hostBytes  = bytesOf(lettersAndDigits + "!$%&'()*+,-.:;=[]_~")
)

func bytesOf(s string) (set [4]uint64) {
	for i := range len(s) {
		set[s[i]>>6] |= 1 << (s[i] & 63)
	}
	return set
}
