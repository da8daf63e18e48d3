package processor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// sizes are how many Processors, and cores, there are.
var sizes = []int{2, 8, 32, 128}

const (
	ms = 1_000_000
	us = 1_000
)

// cell is a row of the table: a load for so many Processors.
type cell struct {
	name string
	load func(n int) load
}

// cells are the rows.
func cells() (all []cell) {
	add := func(name string, f func(n int) load) { all = append(all, cell{name, f}) }
	add("closed loop, 64 connections, echo", func(int) load {
		return load{conns: 64, closed: true, work: takes(0), length: 200 * ms, warm: 2000 * ms}
	})
	add("closed loop, 8 connections a core, 100 µs", func(n int) load {
		return load{conns: 8 * n, closed: true, work: takes(100 * us), warm: 1000 * ms, length: 200 * ms}
	})
	for _, part := range []float64{0.1, 0.5, 0.9, 0.99} {
		add(fmt.Sprintf("%.0f %% of one core, echo", part*100), func(int) load {
			return open(0, part)
		})
	}
	for _, part := range []float64{0.1, 0.5, 0.9, 0.99} {
		add(fmt.Sprintf("%.0f %% of one core, 100 µs", part*100), func(int) load {
			return open(100*us, part)
		})
	}
	for _, part := range []float64{0.1, 0.5, 0.8, 0.9, 0.95, 0.99} {
		add(fmt.Sprintf("%.0f %% of all cores, 100 µs", part*100), func(n int) load {
			return open(100*us, part*float64(n))
		})
	}
	for _, length := range []int64{1, 10, 100, 1000, 10_000} {
		add(fmt.Sprintf("bursts of %d ms, 400 µs: 80 %% of all cores, 5 %%", length), func(n int) load {
			return bursts(length*ms, n)
		})
	}
	add("one connection 1,000 times hotter, 100 µs, 50 % of one core", func(int) load {
		l := open(100*us, 0.5)
		l.conn = hot
		return l
	})
	add("half of all cores, 5 µs, and 2 ms in 5 %: the short ones", func(n int) load {
		l := open(105*us, 0.5*float64(n))
		l.work = mixed
		l.judged = func(work int64) bool { return work < ms }
		return l
	})
	add("busy loops on half of the cores, 100 µs, 40 % of all", func(n int) load {
		l := open(100*us, 0.4*float64(n))
		l.busy = n / 2
		return l
	})
	add("a quota of half of the cores, 100 µs, 40 % of all", func(n int) load {
		l := open(100*us, 0.4*float64(n))
		l.quota = float64(n) / 2
		return l
	})
	return all
}

// takes is a handler that takes as long each time.
func takes(ns int64) func(*rand.Rand) int64 { return func(*rand.Rand) int64 { return ns } }

// open is an open loop on 256 connections that keeps so many cores busy with
// system calls and handlers.
func open(work int64, cores float64) load {
	rate := cores * 1e9 / float64(work+simEcho)
	conns := 256
	if cores > 8 {
		conns = 4096
	}
	return load{
		conns: conns, rate: func(int64) float64 { return rate }, most: rate, work: takes(work),
		conn: func(r *rand.Rand, n int) int { return r.IntN(n) },
		warm: 1000 * ms, length: int64(min(max(40_000/rate, 0.1), 2) * 1e9),
	}
}

func bursts(length int64, n int) load {
	l := open(400*us, 0.8*float64(n))
	l.rate = func(now int64) float64 {
		if now/length%2 == 0 {
			return l.most / 16
		}
		return l.most
	}
	l.warm = max(2*length, (1000*ms)/(2*length)*2*length)
	l.length = max(2*length, 200*ms)
	return l
}

func hot(r *rand.Rand, n int) int {
	if r.IntN(1000+n-1) < 1000 {
		return 0
	}
	return 1 + r.IntN(n-1)
}

func mixed(r *rand.Rand) int64 {
	if r.IntN(20) == 0 {
		return 2 * ms
	}
	return 5 * us
}

// ratios are of p50, p90, p99 and CPU time.
type ratios [4]float64

func (r result) over(o result) ratios {
	return ratios{r.p50 / o.p50, r.p90 / o.p90, r.p99 / o.p99, r.cpu / o.cpu}
}

// best returns the fixed number of Processors with one queue for which the
// product of the four figures is least.
func best(l load, n int) (number int, least result) {
	for k := 1; k <= n; k *= 2 {
		r := simulate(l, k, true)
		if float64(r.served) < 0.97*float64(r.intended) && !l.closed {
			continue
		}
		if x := r.over(least); number == 0 || x[0]*x[1]*x[2]*x[3] < 1 {
			number, least = k, r
		}
	}
	return number, least
}

// TestScaling
func TestScaling(t *testing.T) {
	if os.Getenv("SCALING") == "" {
		t.Skip("x")
	}
	var table strings.Builder
	for _, c := range cells() {
		fmt.Fprintf(&table, "| %s ", c.name)
		for _, n := range sizes {
			l := c.load(n)
			k, fixed := best(l, n)
			r := simulate(l, n, false)
			x := r.over(fixed)
			fmt.Printf("%-60s %4d: best %3d  %6.2f %6.2f %6.2f %6.2f   %8.1f %8.1f %8.1f %8.2f  (%d of %d)\n", c.name, n, k, x[0], x[1], x[2], x[3],
				r.p50, r.p90, r.p99, r.cpu, r.served, r.intended)
		}
	}
	_ = math.Inf
}
