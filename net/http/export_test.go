package http

import "bytes"

// ParseHead returns the request whose head p begins with, if it is one that the
// package parses itself.
func ParseHead(p []byte) *Request {
	w := &response{c: &conn{s: &Server{}, work: new(work)}, contentLength: -1}
	end := bytes.Index(p, []byte("\r\n\r\n"))
	if end < 0 || !w.parse(string(p[:end+2])) {
		return nil
	}
	return &w.req
}

// Habit is what a Server has learned of a pattern that blocks.
type Habit struct{ h habit }

// Blocks is how the next call is made: on a goroutine?
func (h *Habit) Blocks() bool { return h.h.blocks() }

// Note is what a call as a coroutine did.
func (h *Habit) Note(blocked bool) { h.h.note(blocked) }
