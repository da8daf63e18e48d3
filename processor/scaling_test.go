package processor

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
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
func cells() []cell {
	all := []cell{
		{"closed loop, 64 connections, echo", func(int) load {
			return load{conns: 64, closed: true, work: takes(0),
				warm: 1500 * ms, steady: 50 * ms, length: 100 * ms}
		}},
		{"closed loop, 8 connections a core, 100 µs", func(n int) load {
			return load{conns: 8 * n, closed: true, work: takes(100 * us),
				warm: 600 * ms, steady: 50 * ms, length: 100 * ms}
		}},
	}
	for _, part := range []float64{0.1, 0.5, 0.9, 0.99} {
		all = append(all, cell{fmt.Sprintf("%.0f %% of one core, echo", part*100),
			func(int) load { return open(0, part) }})
	}
	for _, part := range []float64{0.1, 0.5, 0.9, 0.99} {
		all = append(all, cell{fmt.Sprintf("%.0f %% of one core, 100 µs", part*100),
			func(int) load { return open(100*us, part) }})
	}
	for _, part := range []float64{0.1, 0.5, 0.8, 0.9, 0.95, 0.99} {
		all = append(all, cell{fmt.Sprintf("%.0f %% of all, 100 µs", part*100),
			func(n int) load { return open(100*us, part*float64(n)) }})
	}
	for _, length := range []int64{1, 10, 100, 1000, 10_000} {
		all = append(all, cell{fmt.Sprintf("5 and 80 %% of all for %d ms each, 400 µs", length),
			func(n int) load { return bursts(length*ms, n) }})
	}
	return append(all,
		cell{"one connection 1,000 times hotter, 50 % of one core, 100 µs", func(int) load {
			l := open(100*us, 0.5)
			l.conn = hot
			return l
		}},
		cell{"5 µs, and 2 ms in 5 %, 50 % of all: the short ones", func(n int) load {
			l := open(105*us, 0.5*float64(n))
			l.work, l.judged = mixed, func(work int64) bool { return work < ms }
			return l
		}},
		cell{"busy loops on half of the cores, 40 % of all, 100 µs", func(n int) load {
			l := open(100*us, 0.4*float64(n))
			l.busy = n / 2
			return l
		}},
		cell{"a quota of half of the cores, 40 % of all, 100 µs", func(n int) load {
			l := open(100*us, 0.4*float64(n))
			l.quota = float64(n) / 2
			return l
		}})
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
		ramp: 400 * ms, warm: 700 * ms, steady: 100 * ms,
		length: int64(min(max(40_000/rate, 0.1), 2) * 1e9),
	}
}

// bursts is an open loop that keeps 5 and 80 % of n cores busy in turns.
func bursts(length int64, n int) load {
	l := open(400*us, 0.8*float64(n))
	l.rate = func(now int64) float64 {
		if now/length%2 == 0 {
			return l.most / 16
		}
		return l.most
	}
	l.warm = max(2*length, 600*ms)
	l.steady, l.ramp = 2*length, 0
	l.length = max(2*length, 200*ms)
	return l
}

// hot is the first connection a thousand times as often as another.
func hot(r *rand.Rand, n int) int {
	if r.IntN(1000+n-1) < 1000 {
		return 0
	}
	return 1 + r.IntN(n-1)
}

// mixed is a handler that takes long in one request of twenty.
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
// product of the four figures is least, of n and its halves.
func best(l load, n int) (number int, least result) {
	for k := n; k > 0; k /= 2 {
		r := simulate(l, k, true)
		x := r.over(least)
		if number != 0 && (r.served < r.intended*97/100 || x[0]*x[1]*x[2]*x[3] > 1) {
			break
		}
		number, least = k, r
	}
	return number, least
}

// wanted is how high a ratio may be.
const wanted = 1.2

// String is a cell of the table. What is above wanted is bold.
func (rs ratios) String() string {
	var all []string
	for _, r := range rs {
		s := fmt.Sprintf("%.2f", r)
		if r >= 10 {
			s = fmt.Sprintf("%.0f", r)
		}
		if r > wanted+0.005 {
			s = "**" + s + "**"
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

// row simulates a row of the table for some sizes.
func (c cell) row(sizes []int) string {
	s := "| " + c.name
	for _, n := range sizes {
		l := c.load(n)
		k, fixed := best(l, n)
		s += fmt.Sprintf(" | %v (%d)", simulate(l, n, false).over(fixed), k)
	}
	return s
}

var update = flag.Bool("update", false, "write the table of docs/SCALING.md anew")

// TestScaling: the policy, beside the best fixed number of Processors, is as
// docs/SCALING.md says. It simulates the smaller sizes; with -update all, which
// takes a minute.
func TestScaling(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("one goroutine, which is ten times slower with the race detector")
	}
	const page, begin, end = "../docs/SCALING.md", "<!-- table: begin -->\n", "<!-- table: end -->"
	text := string(testenv.Must(os.ReadFile(page)))
	before, rest, _ := strings.Cut(text, begin)
	table, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatal("the page has no table")
	}
	if !*update {
		for _, c := range cells() {
			if row := c.row(sizes[:1]); !strings.Contains(table, row+" |") {
				t.Errorf("the page does not have %q (go test -run Scaling -update writes it)", row)
			}
		}
		return
	}
	table = "| load |"
	rule := "|---|"
	for _, n := range sizes {
		table += fmt.Sprintf(" %d |", n)
		rule += "---|"
	}
	table += "\n" + rule + "\n"
	for _, c := range cells() {
		table += c.row(sizes) + " |\n"
	}
	testenv.OK(t, os.WriteFile(page, []byte(before+begin+table+end+after), 0o644))
}
