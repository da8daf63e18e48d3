package work

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for s, want := range map[string]Mix{
		"40us":               {{40_000, false, 1}},
		"0s":                 {{0, false, 1}},
		"5us, 2ms:0.05":      {{5_000, false, 0.95}, {2_000_000, false, 0.05}},
		"1ms:0.25,5us":       {{1_000_000, false, 0.25}, {5_000, false, 0.75}},
		"1us,2us:0.5,3us:.1": {{1_000, false, 0.4}, {2_000, false, 0.5}, {3_000, false, 0.1}},
		"5us,sleep=1ms:0.1":  {{5_000, false, 0.9}, {1_000_000, true, 0.1}},
	} {
		got, err := Parse(s)
		if err != nil || len(got) != len(want) {
			t.Fatalf("Parse(%q) = %v, %v", s, got, err)
		}
		for i, c := range got {
			share := want[i].Share
			if want[i].Share = c.Share; c != want[i] || math.Abs(c.Share-share) > 1e-9 {
				t.Errorf("Parse(%q) = %v, want %v", s, got, want)
			}
		}
	}
	for s, want := range map[string]string{
		"":                "no time",
		"40":              "no time",
		"-1us":            "no time",
		"1h":              "no time",
		"40us,":           "no time",
		"sleep=":          "no time",
		"sleep=-1us":      "no time",
		"5us,2ms":         "more than one has no share",
		"5us:0.5,2ms:0.5": "must leave some",
		"5us:0.5":         "must leave some",
		"5us,2ms:1":       "between 0 and 1",
		"5us,2ms:0":       "between 0 and 1",
		"5us,2ms:NaN":     "between 0 and 1",
		"5us,1s:.6,2s:.5": "must leave some",
	} {
		if _, err := Parse(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want %q", s, err, want)
		}
	}
}

// TestDraw: each class gets its share of the requests.
func TestDraw(t *testing.T) {
	m, err := Parse("1us,sleep=2us:0.5,30us:0.1")
	if err != nil {
		t.Fatal(err)
	}
	const draws = 100_000
	rng := rand.New(rand.NewPCG(1, 2))
	var counts [3]float64
	for range draws {
		counts[m.Draw(rng)]++
	}
	for i, c := range m {
		if math.Abs(counts[i]-c.Share*draws) > 0.02*draws {
			t.Errorf("class %d is drawn %v times of %d", i, counts[i], draws)
		}
	}
	if back, err := Parse(m.String()); err != nil || !slices.Equal(back[1:], m[1:]) {
		t.Errorf("%v reads back as %v, %v", m, back, err)
	}
}

// TestPlan: each class gets its time, and the plan reads back as it was.
func TestPlan(t *testing.T) {
	p := ForThisMachine(Mix{{Time: 1000}, {Time: 30_000}, {Time: 1000, Sleep: true}})
	back, err := ParsePlan(p.String())
	if err != nil || !slices.Equal(back, p) || len(p) != 3 || p[2] != -1000 {
		t.Fatalf("%v, %v, %v", p, back, err)
	}
	if once, ratio := p[0], p[1]/max(p[0], 1); once < 10 || ratio < 25 || ratio > 35 {
		t.Errorf("plan %v", p)
	}
	for _, s := range []string{"x", "1 2.5"} {
		if p, err := ParsePlan(s); err == nil {
			t.Errorf("ParsePlan(%q) = %v", s, p)
		}
	}
}

// writes keeps what it is given, piece by piece.
type writes [][]byte

func (w *writes) Write(b []byte) (int, error) {
	*w = append(*w, bytes.Clone(b))
	return len(b), nil
}

// TestHandler: however the bytes come, all of them are echoed in order, a write
// ends where a request does, and a request's first byte is its class.
func TestHandler(t *testing.T) {
	const size, requests = 10, 7
	sent := []byte(strings.Repeat("\x00123456789\x01bcdefghij", requests)[:size*requests])
	for _, chunk := range []int{1, 3, 9, 10, 11, 25, len(sent)} {
		h := Plan{3, 5}.NewHandler(size)
		var got writes
		want := uint64(0)
		for i := range uint64(requests) {
			want = compute(3+2*(i%2), want)
		}
		for b := sent; len(b) > 0; b = b[min(chunk, len(b)):] {
			if err := h.Answer(&got, b[:min(chunk, len(b))]); err != nil {
				t.Fatal(err)
			}
		}
		at := 0
		for _, b := range got {
			if at/size != (at+len(b)-1)/size {
				t.Errorf("chunks of %d: a write of bytes %d to %d", chunk, at, at+len(b))
			}
			at += len(b)
		}
		if !bytes.Equal(bytes.Join(got, nil), sent) || h.sum != want {
			t.Errorf("chunks of %d: echoed %x, want %x; the work's result %x, want %x", chunk,
				bytes.Join(got, nil), sent, h.sum, want)
		}
	}
	var all writes
	none := Plan(nil).NewHandler(size)
	if err := none.Answer(&all, sent); err != nil || len(all) != 1 {
		t.Errorf("without work: %d writes, %v", len(all), err)
	}
}

func TestHandlerAllocatesNothing(t *testing.T) {
	h := Plan{1000}.NewHandler(64)
	b := make([]byte, 128)
	if n := testing.AllocsPerRun(100, func() { _ = h.Answer(discard{}, b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// TestSpeed: no machine computes a round, six instructions that wait for one
// another, much faster or slower.
func TestSpeed(t *testing.T) {
	if speed := Speed(); speed < 0.01 || speed > 100 {
		t.Errorf("%v rounds in a nanosecond", speed)
	}
}
