package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

// TestFlat: growth is seen, a hump and the warming up are not.
func TestFlat(t *testing.T) {
	run := func(seconds int, rss func(at float64) float64) []sample {
		var all []sample
		for i := range seconds {
			all = append(all, sample{at: time.Duration(i) * time.Second,
				rss: int64(1e6 * rss(float64(i)))})
		}
		return all
	}
	for _, c := range []struct {
		name string
		all  []sample
		ok   bool
	}{
		{"level", run(600, func(float64) float64 { return 100 }), true},
		{"warming up", run(600, func(at float64) float64 { return min(at+40, 100) }), true},
		{"with humps", run(600, func(at float64) float64 {
			return 100 + 200*max(0, math.Sin(at/3)-0.8)
		}), true},
		{"a leak of 10 % in the run", run(600, func(at float64) float64 {
			return 100 + at/60
		}), false},
		{"a short run, up and down", run(30, func(at float64) float64 {
			return 100 + 10*math.Sin(at)
		}), true},
		{"a short run that doubles", run(30, func(at float64) float64 {
			return 100 + at*100/30
		}), false},
		{"shrinking", run(600, func(at float64) float64 { return 200 - at/10 }), true},
	} {
		f, err := flat(c.all, func(s sample) float64 { return float64(s.rss) })
		if err != nil || f.ok() != c.ok {
			t.Errorf("%s: %+v, %v", c.name, f, err)
		}
	}
	if _, err := flat(run(5, func(float64) float64 { return 1 }), func(s sample) float64 {
		return 1
	}); err == nil {
		t.Error("five samples are enough")
	}
	if _, err := flat(nil, func(s sample) float64 { return 1 }); err == nil {
		t.Error("none are enough")
	}
}

// TestMetrics: what is read is summed up by labels, and what has fallen or gone
// is noticed.
func TestMetrics(t *testing.T) {
	parse := func(text string) *metrics {
		m, err := parseMetrics([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	before := parse("# HELP a_total x\n# TYPE a_total counter\na_total{p=\"0\",q=\"x\"} " +
		"3\na_total{p=\"1\",q=\"x\"} 4e2\n" +
		"# TYPE g gauge\ng 7\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 5\nh_sum 1.5\nh_count 5\n")
	if n, ok := before.sum("a_total"); n != 403 || !ok {
		t.Error(n, ok)
	}
	if n, ok := before.sum("a_total", `p="1"`, `q="x"`); n != 400 || !ok {
		t.Error(n, ok)
	}
	if _, ok := before.sum("a_total", `p="2"`); ok {
		t.Error("there is no such label")
	}
	after := parse("# TYPE a_total counter\na_total{p=\"0\",q=\"x\"} 2\n# TYPE g gauge\ng 1\n# " +
		"TYPE h histogram\nh_bucket{le=\"+Inf\"} 5\nh_sum 1.5\nh_count 4\n")
	if w := strings.Join(after.fallen(before), "\n"); strings.Count(w, "\n") != 2 ||
		!strings.Contains(w, `p="0"`) || !strings.Contains(w, `p="1"`) ||
		!strings.Contains(w, "h_count") {
		t.Errorf("fallen:\n%s", w)
	}
	for _, bad := range []string{"a", "a b\n", "a 1\na 2\n"} {
		if _, err := parseMetrics([]byte(bad)); err == nil {
			t.Errorf("%q is a metric", bad)
		}
	}
}

// TestAnswers: an answer is right only if all of it is.
func TestAnswers(t *testing.T) {
	frame := func(status byte, number uint32, body ...byte) []byte {
		p := binary.BigEndian.AppendUint32(nil, uint32(5+len(body)))
		p = append(p, status)
		return append(binary.BigEndian.AppendUint32(p, number), body...)
	}
	one := xorshift(9)
	eight := binary.BigEndian.AppendUint64(nil, one)
	two := append(frame(more, 4, eight...),
		frame(done, 4, binary.BigEndian.AppendUint64(nil, xorshift(one))...)...)
	for _, c := range []struct {
		name    string
		call    func() *call
		answer  []byte
		corrupt bool
		missing bool
	}{
		{"right", func() *call {
			return computeCall(3, 1, 9)
		}, frame(done, 3, eight...), false, false},
		{"another number", func() *call {
			return computeCall(3, 1, 9)
		}, frame(done, 2, eight...), true, false},
		{"another status", func() *call {
			return computeCall(3, 1, 9)
		}, frame(refused, 3, eight...), true, false},
		{"another byte", func() *call {
			return computeCall(3, 1, 8)
		}, frame(done, 3, eight...), true, false},
		{"too long", func() *call {
			return computeCall(3, 1, 9)
		}, frame(done, 3, append(eight, 0)...), true, false},
		{"cut", func() *call {
			return computeCall(3, 1, 9)
		}, frame(done, 3, eight...)[:12], false, true},
		{"none", func() *call { return computeCall(3, 1, 9) }, nil, false, true},
		{"a stream", func() *call { return streamCall(4, 2, 8, 0, 9) }, two, false, false},
		{"a stream that ends early", func() *call {
			return streamCall(4, 2, 8, 0, 9)
		}, frame(done, 4, eight...), true, false},
		{"a stream with a frame twice", func() *call {
			return streamCall(4, 2, 8, 0, 9)
		}, append(two[:17:17], frame(done, 4, eight...)...), true, false},
		{"no length", func() *call { return computeCall(3, 1, 9) }, make([]byte, 20), true, false},
	} {
		err := c.call().read(bytes.NewReader(c.answer))
		var bad corrupt
		if errors.As(err, &bad) != c.corrupt ||
			(errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) != c.missing ||
			(err != nil) != (c.corrupt || c.missing) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
