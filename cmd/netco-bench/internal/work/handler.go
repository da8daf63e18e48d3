package work

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
)

// A Plan is a Mix for one machine: what a server does. A nil Plan is no work.
type Plan []step

// A step is the work of a share of the requests.
type step struct {
	share  float64
	rounds uint64
}

// ForThisMachine reads a mix as Parse does, and measures this machine for it.
func ForThisMachine(text string) (p Plan, err error) {
	m, err := Parse(text)
	speed := 0.0
	if err == nil {
		speed, err = Speed()
	}
	for _, c := range m {
		p = append(p, step{c.Share, uint64(math.Round(float64(c.CPU) * speed))})
	}
	return p, err
}

// String is what ParsePlan reads.
func (p Plan) String() string {
	var parts []string
	for _, s := range p {
		parts = append(parts, fmt.Sprintf("%g:%d", s.share, s.rounds))
	}
	return strings.Join(parts, ",")
}

// ParsePlan reads what String wrote.
func ParsePlan(text string) (p Plan, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		var s step
		if _, err := fmt.Sscanf(part, "%g:%d", &s.share, &s.rounds); err != nil {
			return nil, fmt.Errorf("%q is no step of a plan: %w", part, err)
		}
		p = append(p, s)
	}
	return p, nil
}

// draw returns the rounds of one request, each step's as often as its share
// says.
func (p Plan) draw() uint64 {
	at := rand.Float64()
	for _, s := range p[1:] {
		if at -= s.share; at < 0 {
			return s.rounds
		}
	}
	return p[0].rounds
}

// A Handler answers the requests of one connection.
type Handler struct {
	plan Plan
	size int    // bytes of a request
	have int    // bytes of the current request that have come
	sum  uint64 // results of the work, which are used for nothing
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
		if h.have += n; h.have == h.size {
			h.have = 0
			h.sum = compute(h.plan.draw(), h.sum)
		}
		if _, err := w.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
