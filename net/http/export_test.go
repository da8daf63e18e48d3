package http

import (
	"bytes"
	"time"
)

// SetStayLimit sets how long a goroutine awaits the next request. It is called
// before s serves.
func (s *Server) SetStayLimit(d time.Duration) { s.stayLimit = d }

// SetResetDelay sets how long a peer that may still be sending has to read the
// answer before the reset. It returns a function that undoes it.
func SetResetDelay(d time.Duration) (restore func()) {
	was := resetDelay
	resetDelay = d
	return func() { resetDelay = was }
}

// ParseHead returns the request whose head p begins with, if the package parses
// it itself, and nil otherwise.
func ParseHead(p []byte) *Request {
	w := &response{c: &conn{s: &Server{}, work: new(work)}, contentLength: -1}
	end := bytes.Index(p, []byte("\r\n\r\n"))
	if end < 0 || !w.parse(string(p[:end+2])) {
		return nil
	}
	return &w.req
}

// Habit tracks how often the handler of a pattern blocks.
type Habit struct{ h habit }

// Blocks reports whether the next call runs on a goroutine.
func (h *Habit) Blocks(callerIsGoroutine bool) bool { return h.h.blocks(callerIsGoroutine) }

// Note records whether a call that ran as a coroutine has blocked.
func (h *Habit) Note(blocked bool) { h.h.note(blocked) }
