package gen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Share is one size of a mix and its weight.
type Share struct {
	Size, Weight int
}

// Mix is the sizes of requests. One of one size is the common case.
type Mix []Share

// String writes what ParseMix reads.
func (m Mix) String() string {
	if len(m) == 1 {
		return fmt.Sprint(m[0].Size)
	}
	var parts []string
	for _, s := range m {
		parts = append(parts, fmt.Sprintf("%d:%d", s.Size, s.Weight))
	}
	return strings.Join(parts, ",")
}

// Largest is the largest size.
func (m Mix) Largest() (size int) {
	for _, s := range m {
		size = max(size, s.Size)
	}
	return size
}

// draw returns the index of a size, at random by weight.
func (m Mix) draw(rng *rand.Rand, total int) int {
	if len(m) == 1 {
		return 0
	}
	n := rng.IntN(total)
	if total == len(m) {
		return n // all weights are 1
	}
	for i := range m {
		if n -= m[i].Weight; n < 0 {
			return i
		}
	}
	return 0
}

func (m Mix) total() (weight int) {
	for _, s := range m {
		weight += s.Weight
	}
	return weight
}
