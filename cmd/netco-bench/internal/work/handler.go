package work

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Plan is a Mix for one machine: the rounds of each class, or, if negative,
// the nanoseconds to sleep. A nil Plan is no work.
type Plan []int64

// ForThisMachine measures this machine for a mix.
func ForThisMachine(m Mix) (p Plan) {
	if m == nil {
		return nil
	}
	speed := Speed()
	for _, c := range m {
		if c.Sleep {
			p = append(p, -int64(c.Time))
		} else {
			p = append(p, int64(math.Round(float64(c.Time)*speed)))
		}
	}
	return p
}

// String is what ParsePlan reads.
func (p Plan) String() string { return strings.Trim(fmt.Sprint([]int64(p)), "[]") }

// ParsePlan reads what String wrote.
func ParsePlan(text string) (p Plan, err error) {
	for s := range strings.FieldsSeq(text) {
		rounds, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no number of rounds: %w", s, err)
		}
		p = append(p, rounds)
	}
	return p, nil
}

// A Handler answers the requests of one connection.
type Handler struct {
	plan  Plan
	size  int    // bytes of a request
	have  int    // bytes of the current request that have come
	class byte   // of the current request
	sum   uint64 // results of the work, which are used for nothing
}

// NewHandler returns a handler of requests of size bytes.
func (p Plan) NewHandler(size int) Handler { return Handler{plan: p, size: size} }

// Answer echoes b, which has come next on the connection. Each request that b
// completes is worked on first and answered by a write of its own, as a server
// does that takes one request after the other from its buffer. Without work all
// of b is one write.
func (h *Handler) Answer(w io.Writer, b []byte) error {
	if h.plan == nil {
		_, err := w.Write(b)
		return err
	}
	for len(b) > 0 {
		if h.have == 0 {
			h.class = b[0]
		}
		n := min(len(b), h.size-h.have)
		if h.have += n; h.have == h.size {
			h.have = 0
			if n := h.plan[int(h.class)%len(h.plan)]; n < 0 {
				time.Sleep(time.Duration(-n))
			} else {
				h.sum = compute(uint64(n), h.sum)
			}
		}
		if _, err := w.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
