package load

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// An arrival is one request of an open loop.
type arrival struct {
	at   int64 // when it is intended to be sent, ns since the start
	conn int   // in the whole load
}

// Intended returns how many requests an open loop intends in d.
func Intended(rate int, d time.Duration) int {
	return int(float64(rate)*d.Seconds() + 0.5)
}

// arrivals returns the intended times of connections first to last, in order.
//
// The warm-up and the window each get exactly rate times length requests,
// spread evenly over the connections. A connection's requests are equally
// spaced, from a random phase on, or with Config.Poisson at random points,
// which is what a Poisson process looks like, given how many points it has.
// Equal seeds give equal times.
func arrivals(cfg *Config, first, last int) []arrival {
	var all []arrival
	for i := first; i < last; i++ {
		rng := rand.New(rand.NewPCG(cfg.Seed, uint64(i)))
		all = appendSpan(all, cfg, i, rng, 0, cfg.Warmup)
		all = appendSpan(all, cfg, i, rng, cfg.Warmup, cfg.Duration)
	}
	slices.SortStableFunc(all, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	return all
}

// appendSpan appends connection i's requests in [from, from+length).
func appendSpan(all []arrival, cfg *Config, i int, rng *rand.Rand, from,
	length time.Duration) []arrival {
	total := Intended(cfg.Rate, length)
	n := (i+1)*total/cfg.Conns - i*total/cfg.Conns
	phase := rng.Float64()
	for k := range n {
		share := (float64(k) + phase) / float64(n)
		if cfg.Poisson {
			share = rng.Float64()
		}
		at := min(int64(share*float64(length)), int64(length)-1)
		all = append(all, arrival{int64(from) + at, i})
	}
	return all
}
