package http

// ParseHead returns the request whose head p begins with, if it is one that the
// package parses itself.
func ParseHead(p []byte) *Request {
	w := &response{c: &conn{s: &Server{}, work: new(work)}, contentLength: -1}
	if w.parse(p) == 0 {
		return nil
	}
	return &w.req
}
