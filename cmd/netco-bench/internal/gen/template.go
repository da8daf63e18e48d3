package gen

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// randDigits is the width of a {rand}. It is fixed, so that lengths are.
const randDigits = 12

// defaultRand is the number of values of a {rand}.
const defaultRand = 1_000_000

// A piece is a part of a text given by the user: bytes, a random number, or the
// payload, which is as long as -size says.
type piece struct {
	literal string
	limit   uint64 // of a random number, else 0
	payload bool
}

// parsePieces cuts s at {rand}, {rand:N} and {size}.
func parsePieces(s string) (all []piece, err error) {
	for {
		start := strings.Index(s, "{rand")
		if size := strings.Index(s, "{size}"); size >= 0 && (start < 0 || size < start) {
			all = append(all, piece{literal: s[:size]}, piece{payload: true})
			s = s[size+len("{size}"):]
			continue
		}
		if start < 0 {
			return append(all, piece{literal: s}), nil
		}
		arg, after, closed := strings.Cut(s[start+len("{rand"):], "}")
		limit := uint64(defaultRand)
		if arg != "" || !closed {
			limit, err = strconv.ParseUint(strings.TrimPrefix(arg, ":"), 10, 39)
			if err != nil || limit == 0 || !closed || arg[0] != ':' {
				return nil, fmt.Errorf("{rand%s: want {rand} or {rand:N}, N from 1 to 500000000000",
					arg)
			}
		}
		all = append(all, piece{literal: s[:start]}, piece{limit: limit})
		s = after
	}
}

// variant is a request of one size, with places for random numbers.
type variant struct {
	text  []byte
	rands []randPlace
}

type randPlace struct {
	at    int
	limit uint64
}

func (v *variant) literal(s string) { v.text = append(v.text, s...) }

func (v *variant) pieces(all []piece, payload []byte) {
	for _, p := range all {
		switch {
		case p.payload:
			v.text = append(v.text, payload...)
		case p.limit > 0:
			v.rands = append(v.rands, randPlace{len(v.text), p.limit})
			v.text = append(v.text, strings.Repeat("0", randDigits)...)
		}
		v.literal(p.literal)
	}
}

// append adds o behind v.
func (v *variant) append(o variant) {
	for _, r := range o.rands {
		v.rands = append(v.rands, randPlace{len(v.text) + r.at, r.limit})
	}
	v.text = append(v.text, o.text...)
}

// fill appends the text with random numbers in their places.
func (v *variant) fill(b []byte, rng *rand.Rand) []byte {
	at := len(b)
	b = append(b, v.text...)
	for _, r := range v.rands {
		putDigits(b[at+r.at:][:randDigits], rng.Uint64N(r.limit))
	}
	return b
}

// template is requests with places to fill in: a variant for each size of the
// mix and each path. All connections share it.
type template struct {
	mix      Mix // as often as there are paths
	weights  int
	variants []variant
	repeated []byte // the only variant, several times, if it has no places
}

// maxRepeated bounds template.repeated.
const maxRepeated = 1 << 20

// newTemplate makes a template; a build returns the request with a payload, and
// all are sent equally often. Up to pipeline requests go out together.
func newTemplate(mix Mix, pipeline int, builds ...func(payload []byte) variant) *template {
	t := &template{mix: slices.Repeat(mix, len(builds))}
	t.weights = t.mix.total()
	for _, build := range builds {
		for _, s := range mix {
			t.variants = append(t.variants, build(payload(s.Size)))
		}
	}
	if v := &t.variants[0]; len(t.mix) == 1 && len(v.rands) == 0 {
		n := max(1, min(pipeline, maxRepeated/max(len(v.text), 1)))
		t.repeated = bytes.Repeat(v.text, n)
	}
	return t
}

// payload returns n printable bytes that are easy to recognise in a dump.
func payload(n int) []byte {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	return bytes.Repeat([]byte(letters), n/len(letters)+1)[:n]
}

// sender makes the requests of one connection from a template.
type sender struct {
	*template
	rng   *rand.Rand
	out   []byte
	drawn *ring[int] // if set, gets the index of each request's size
}

func (s *sender) requests(k int) []byte {
	if one := len(s.variants[0].text); k*one <= len(s.repeated) && s.drawn == nil {
		return s.repeated[:k*one]
	}
	s.out = s.out[:0]
	for range k {
		i := s.mix.draw(s.rng, s.weights)
		if s.drawn != nil {
			s.drawn.push(i)
		}
		s.out = s.variants[i].fill(s.out, s.rng)
	}
	return s.out
}

// putDigits writes n in decimal, with zeros in front.
func putDigits(b []byte, n uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
}
