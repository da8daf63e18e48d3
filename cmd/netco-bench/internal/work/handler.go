package work

import "io"

// A Handler answers the requests of one connection.
type Handler struct {
	plan  Plan
	size  int // bytes of a request
	have  int // bytes of the current request that have come
	begin [MinSize]byte
	sum   uint64 // results of the work, which are used for nothing
}

// NewHandler returns a handler of requests of size bytes.
func (p Plan) NewHandler(size int) Handler { return Handler{plan: p, size: size} }

// Answer echoes b, which has come next on the connection. Each request that b
// completes is computed first and answered by a write of its own, as a server
// does that takes one request after the other from its buffer. Without work all
// of b is one write.
func (h *Handler) Answer(w io.Writer, b []byte) error {
	if h.plan == nil {
		_, err := w.Write(b)
		return err
	}
	for len(b) > 0 {
		n := min(len(b), h.size-h.have)
		if h.have < MinSize {
			copy(h.begin[h.have:], b[:n])
		}
		if h.have += n; h.have == h.size {
			h.have = 0
			h.sum = compute(h.plan[h.plan.Class(h.begin[:])].rounds, h.sum)
		}
		if _, err := w.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
