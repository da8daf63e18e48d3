package work

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Plan is a Mix for one machine and one stream: what a server does. A nil
// Plan is no work.
type Plan []step

// A step is the work of the requests whose first two bytes are below a bound
// and not below the bound of the step before.
type step struct {
	below  uint32
	rounds uint64
}

// NewPlan returns the plan of m for requests that begin at any position of the
// stream, all equally often, at speed rounds in a nanosecond.
func NewPlan(m Mix, speed float64, stream []byte) Plan {
	firsts := make([]uint32, len(stream)-1)
	for i := range firsts {
		firsts[i] = first(stream[i:])
	}
	slices.Sort(firsts)
	var p Plan
	share := 0.0
	for i, c := range m {
		share += c.Share
		below := uint32(values)
		if rank := int(math.Round(share * float64(len(firsts)))); i < len(m)-1 &&
			rank < len(firsts) {
			below = firsts[rank]
		}
		p = append(p, step{below, uint64(math.Round(float64(c.CPU) * speed))})
	}
	return p
}

// first is what decides the class of a request that begins with b, which has
// two bytes.
func first(b []byte) uint32 { return uint32(b[0])<<8 | uint32(b[1]) }

// Class returns the index in the Mix of the class of a request that begins with
// b. With one class b may be of any length, else it is at least MinSize long.
func (p Plan) Class(b []byte) int {
	if len(p) < 2 {
		return 0
	}
	f := first(b)
	for i := range p {
		if f < p[i].below {
			return i
		}
	}
	return len(p) - 1
}

// String is what ParsePlan reads.
func (p Plan) String() string {
	var parts []string
	for _, s := range p {
		parts = append(parts, fmt.Sprintf("%d:%d", s.below, s.rounds))
	}
	return strings.Join(parts, ",")
}

// ParsePlan reads what String wrote.
func ParsePlan(text string) (Plan, error) {
	if text == "" {
		return nil, nil
	}
	var p Plan
	for part := range strings.SplitSeq(text, ",") {
		var s step
		if _, err := fmt.Sscanf(part, "%d:%d", &s.below, &s.rounds); err != nil {
			return nil, fmt.Errorf("%q is no step of a plan: %w", part, err)
		}
		p = append(p, s)
	}
	if !slices.IsSortedFunc(p, func(a, b step) int { return cmp.Compare(a.below, b.below) }) {
		return nil, fmt.Errorf("the bounds of %q do not rise", text)
	}
	return p, nil
}
