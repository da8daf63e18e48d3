package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

// TestSoakShort is a soak as it runs for hours, at full length cut down to what
// each of its parts needs to happen once, and otherwise to the load, the first
// disturbances, and the end.
func TestSoakShort(t *testing.T) {
	length := max(2*time.Second, time.Duration(float64(16*time.Second)*testenv.Scale()))
	if failed := run(context.Background(), length, 50, os.Stdout); len(failed) > 0 {
		t.Fail()
	}
}

// TestFlat: growth is seen, a hump and the warming up are not.
func TestFlat(t *testing.T) {
	for _, c := range []struct {
		name    string
		seconds int
		rss     func(at float64) float64
		ok      bool
	}{
		{"level", 600, func(float64) float64 { return 100 }, true},
		{"warming up", 600, func(at float64) float64 { return min(at+40, 100) }, true},
		{"with humps", 600, func(at float64) float64 {
			return 100 + 200*max(0, math.Sin(at/3)-0.8)
		}, true},
		{"a leak of 10 %", 600, func(at float64) float64 { return 100 + at/60 }, false},
		{"a short run, up and down", 30, func(at float64) float64 { return 100 + 10*math.Sin(at) },
			true},
		{"a short run that doubles", 30, func(at float64) float64 { return 100 + at*4 }, false},
		{"shrinking", 600, func(at float64) float64 { return 200 - at/10 }, true},
		{"nothing", 5, func(float64) float64 { return 100 }, false},
	} {
		s := &soak{length: time.Duration(c.seconds) * time.Second, out: io.Discard}
		for i := range c.seconds {
			s.samples = append(s.samples, sample{rss: 1e3 * c.rss(float64(i))})
		}
		s.length = max(s.length, shortest)
		if err := s.flat(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestMetrics: what is read is summed up.
func TestMetrics(t *testing.T) {
	m := parseMetrics("# TYPE a_total counter\na_total{p=\"0\"} 3\na_total{p=\"a b\"} 4e2\ng 7\n")
	if n, err := m.sum("a_total"); n != 403 || err != nil {
		t.Error(n, err)
	}
	if n, err := m.sum("a"); err == nil {
		t.Error(n)
	}
}

// TestAnswers: an answer is right only if all of it is.
func TestAnswers(t *testing.T) {
	sum := fanOutCall(1, 1, 9)
	right := call{done, sum.answer[0], 0, nil}.frame(3)
	streamed := streamCall(2, 8, 0, 9)
	two := append(call{more, streamed.answer[0], 0, nil}.frame(3),
		call{done, streamed.answer[1], 0, nil}.frame(3)...)
	changed := append([]byte{}, right...)
	changed[len(changed)-1]++
	for _, c := range []struct {
		name   string
		call   call
		answer []byte
		ok     bool
	}{
		{"right", sum, right, true},
		{"another number", sum, call{done, sum.answer[0], 0, nil}.frame(2), false},
		{"another status", sum, call{refused, sum.answer[0], 0, nil}.frame(3), false},
		{"another byte", sum, changed, false},
		{"too long", sum, call{done, append(sum.answer[0], 0), 0, nil}.frame(3), false},
		{"cut", sum, right[:12], false},
		{"none", sum, nil, false},
		{"no length", sum, make([]byte, 20), false},
		{"a stream", streamed, two, true},
		{"a stream that ends early", streamed, two[:17], false},
		{"a stream with a frame twice", streamed, append(two[:17:17], two[:17]...), false},
	} {
		if err := c.call.read(bytes.NewReader(c.answer), 3); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
