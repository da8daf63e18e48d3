package load

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestArrivals(t *testing.T) {
	for name, c := range map[string]struct {
		cfg          Config
		warm, window int
	}{
		"even": {Config{Rate: 10_000, Conns: 64, Warmup: time.Second,
			Duration: 4 * time.Second}, 10_000, 40_000},
		"poisson": {Config{Rate: 10_000, Conns: 64, Warmup: time.Second,
			Duration: 4 * time.Second, Poisson: true}, 10_000, 40_000},
		"uneven": {Config{Rate: 997, Conns: 7, Warmup: 300 * time.Millisecond,
			Duration: time.Second}, 299, 997},
		"fewer than conns": {Config{Rate: 10, Conns: 64, Duration: time.Second}, 0, 10},
		"rounded":          {Config{Rate: 3, Conns: 1, Duration: 500 * time.Millisecond}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			all := arrivals(&c.cfg, 0, c.cfg.Conns)
			split := c.cfg.Conns / 3
			parts := slices.Concat(arrivals(&c.cfg, 0, split), arrivals(&c.cfg, split, c.cfg.Conns))
			if len(parts) != len(all) {
				t.Errorf("%d requests of two workers, %d of one", len(parts), len(all))
			}
			warmEnd, end := int64(c.cfg.Warmup), int64(c.cfg.Warmup+c.cfg.Duration)
			warm, last := 0, int64(0)
			perConn := make([]int, c.cfg.Conns)
			for _, a := range all {
				if a.at < last || a.at >= end {
					t.Fatalf("%d after %d, the end is %d", a.at, last, end)
				}
				last = a.at
				if a.at < warmEnd {
					warm++
				} else {
					perConn[a.conn]++
				}
			}
			if warm != c.warm || len(all)-warm != c.window {
				t.Errorf("%d requests in the warm-up and %d in the window, want %d and %d", warm,
					len(all)-warm, c.warm, c.window)
			}
			if most, least := slices.Max(perConn), slices.Min(perConn); most-least > 1 {
				t.Errorf("%d to %d requests per connection", least, most)
			}
		})
	}
}

// Equally spaced requests of a connection lie one gap apart, those of a Poisson
// process vary as much as they are long.
func TestArrivalGaps(t *testing.T) {
	deviation := func(cfg Config) float64 {
		all := arrivals(&cfg, 0, cfg.Conns)
		mean := float64(cfg.Duration) / float64(len(all))
		var sum float64
		for i := range all[1:] {
			d := float64(all[i+1].at-all[i].at) - mean
			sum += d * d
		}
		return math.Sqrt(sum/float64(len(all)-1)) / mean
	}
	cfg := Config{Rate: 10_000, Conns: 1, Duration: time.Second}
	if d := deviation(cfg); d > 0.001 {
		t.Errorf("uniform: the gaps deviate by %.3f of their mean", d)
	}
	cfg.Poisson = true
	if d := deviation(cfg); d < 0.95 || d > 1.05 {
		t.Errorf("poisson: the gaps deviate by %.3f of their mean, want 1", d)
	}
}

func TestArrivalPhases(t *testing.T) {
	cfg := Config{Rate: 64, Conns: 64, Duration: time.Second} // one request each
	all := arrivals(&cfg, 0, cfg.Conns)
	if !slices.Equal(all, arrivals(&cfg, 0, cfg.Conns)) {
		t.Error("the same seed gives other times")
	}
	early := 0
	for _, a := range all {
		if a.at < int64(cfg.Duration)/2 {
			early++
		}
	}
	if early < 16 || early > 48 {
		t.Errorf("%d of 64 connections begin in the first half", early)
	}
	cfg.Seed = 1
	if slices.Equal(all, arrivals(&cfg, 0, cfg.Conns)) {
		t.Error("another seed gives the same times")
	}
}

func TestPushKeepsTheOrder(t *testing.T) {
	c := conn{stamps: make([]int64, 4)}
	next, oldest := int64(0), int64(0)
	for range 5 { // 7 more, 3 fewer: the ring wraps and grows
		for range 7 {
			c.push(next)
			next++
		}
		for range 3 {
			if got := c.stamps[c.oldest]; got != oldest {
				t.Fatalf("oldest is %d, want %d", got, oldest)
			}
			oldest++
			c.oldest = (c.oldest + 1) % len(c.stamps)
			c.inFlight--
		}
	}
	if c.inFlight != int(next-oldest) {
		t.Errorf("%d in flight, want %d", c.inFlight, next-oldest)
	}
}
