package gen

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// times returns the intended times below end of all parts, in order.
func times(from, to, ramp float64, poisson bool, parts int, end int64) (all []int64) {
	for part := range parts {
		s := newSchedule(from, to, ramp, poisson, 7, part, parts)
		for at := s.next(); at < end; at = s.next() {
			all = append(all, at)
		}
	}
	slices.Sort(all)
	return all
}

func TestScheduleUniform(t *testing.T) {
	for _, parts := range []int{1, 2, 3} {
		all := times(2000, 2000, 0, false, parts, 1e9)
		if len(all) != 2000 || all[0] != 0 {
			t.Fatalf("%d parts: %d times from %d on, want 2000 from 0", parts, len(all), all[0])
		}
		for i, at := range all {
			if math.Abs(float64(at)-float64(i)*500_000) > 2 {
				t.Fatalf("%d parts: time %d is %d", parts, i, at)
			}
		}
	}
}

// The gaps of a Poisson process vary as much as they are long.
func TestSchedulePoisson(t *testing.T) {
	all := times(50_000, 50_000, 0, true, 2, 1e9)
	if n := float64(len(all)); math.Abs(n-50_000) > 5*math.Sqrt(50_000) {
		t.Errorf("%v times, want about 50000", n)
	}
	var sum float64
	for i := range all[1:] {
		d := float64(all[i+1]-all[i]) - 20_000
		sum += d * d
	}
	if dev := math.Sqrt(sum/float64(len(all))) / 20_000; dev < 0.95 || dev > 1.05 {
		t.Errorf("the gaps deviate by %.3f of their mean, want 1", dev)
	}
	if !slices.Equal(all, times(50_000, 50_000, 0, true, 2, 1e9)) {
		t.Error("the same seed gives other times")
	}
}

// During a ramp from a to b the number of requests is that of the mean rate,
// and by half time that of the rate up to there.
func TestScheduleRamp(t *testing.T) {
	for _, c := range []struct {
		from, to   float64
		half, full int
	}{{0, 1000, 125, 500}, {1000, 0.001, 375, 500}, {400, 400, 200, 400}, {200, 1000, 200, 600}} {
		all := times(c.from, c.to, 1e9, false, 1, 1e9)
		half, _ := slices.BinarySearch(all, int64(5e8))
		if math.Abs(float64(half-c.half)) > 1 || math.Abs(float64(len(all)-c.full)) > 1 {
			t.Errorf("%v to %v: %d by half time and %d in all, want %d and %d", c.from, c.to, half,
				len(all), c.half, c.full)
		}
		behind := newSchedule(c.from, c.to, 1e9, false, 0, 0, 1)
		if d := behind.at(2000) - behind.at(1999); math.Abs(d-1e9/c.to) > 1e9/c.to/1000 {
			t.Errorf("%v to %v: behind the ramp the gap is %v", c.from, c.to, d)
		}
	}
}

func TestMix(t *testing.T) {
	m := Mix{{64, 80}, {4096, 20}}
	rng := rand.New(rand.NewPCG(1, 1))
	var n [2]int
	for range 10_000 {
		n[m.draw(rng, m.total())]++
	}
	if n[0] < 7800 || n[0] > 8200 || m.Largest() != 4096 || m.String() != "64:80,4096:20" {
		t.Errorf("%v of %v, largest %d", n, m, m.Largest())
	}
	if s := (Mix{{64, 1}}).String(); s != "64" {
		t.Error(s)
	}
}

func TestRing(t *testing.T) {
	var r ring[int]
	next, oldest := 0, 0
	for range 50 { // it wraps and grows
		for range 7 {
			r.push(next)
			next++
		}
		for range 5 {
			if *r.first() != oldest || r.pop() != oldest {
				t.Fatalf("oldest is not %d", oldest)
			}
			oldest++
		}
	}
	if r.count != next-oldest {
		t.Errorf("%d items, want %d", r.count, next-oldest)
	}
}
