package channel_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// TestAsGo does the same random operations to channels of this package and to
// Go's, one after the other, each on a coroutine or goroutine of its own: after
// each the same of them must have ended, with the same results, and the same
// must still wait. A Select is given no more than one case that is ready, since
// both choose at random. NETCO_SEED repeats a run.
func TestAsGo(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	seeds := make([]uint64, testenv.Rounds(400))
	for i := range seeds {
		seeds[i] = rand.Uint64()
	}
	if env := os.Getenv("NETCO_SEED"); env != "" {
		seed := testenv.Must(strconv.ParseUint(env, 10, 64))
		seeds = []uint64{seed}
	}
	var programs [][]action
	var ours [][]string
	testrun.With(t, 1, func() {
		for _, seed := range seeds {
			p, results := drive(seed)
			programs, ours = append(programs, p), append(ours, results)
		}
	})
	ends := map[string]int{}
	for i, p := range programs {
		var gos []string
		synctest.Test(t, func(*testing.T) { gos = replay(p) })
		for k := range p {
			if ours[i][k] != gos[k] {
				t.Fatalf("NETCO_SEED=%d: after step %d, %+v: ours %q, Go's %q\nall: %+v", seeds[i],
					k, p[k], ours[i][k], gos[k], p[:k+1])
			}
			for _, r := range strings.Fields(gos[k]) {
				n, how, _ := strings.Cut(r, "=")
				op := p[testenv.Must(strconv.Atoi(n))].op
				ends[op+" "+strings.TrimRight(how, "0123456789")]++
			}
		}
	}
	if len(seeds) > 100 {
		for _, how := range []string{"send case0:", "send panic", "recv case0:got:",
			"recv case0:end", "trysend case0:", "trysend default", "tryrecv case0:got:",
			"tryrecv default", "select case0:", "select case0:got:", "select case1:",
			"default default"} {
			if ends[how] == 0 {
				t.Errorf("never ended with %q: %v", how, ends)
			}
		}
	}
}

// action is one operation. The Make at the beginning of a program has the
// capacities of its channels in cases.
type action struct {
	op    string
	c, v  int
	cases []part
}

// part is one case of a Select.
type part struct {
	send bool
	c, v int
}

// drive makes up a program, runs it with this package's channels, and returns
// what had ended after each step.
func drive(seed uint64) (program []action, results []string) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var c []*channel.Chan[int]
	first := action{op: "make"}
	for range 3 {
		capacity := rnd.IntN(3)
		first.cases = append(first.cases, part{c: capacity})
		c = append(c, channel.Make[int](capacity))
		if seed%2 == 0 {
			bias(c[len(c)-1])
		}
	}
	program, results = append(program, first), append(results, "")
	var ended []string
	for n := 1; n < 60; n++ {
		a := action{op: []string{"send", "send", "recv", "recv", "select", "select", "trysend",
			"tryrecv", "default"}[rnd.IntN(9)], c: rnd.IntN(3), v: n}
		switch {
		case n > 56: // at the end, so that all waits end
			a.op, a.c = "close", n-57
		case rnd.IntN(60) == 0:
			a.op = "close"
		}
		for range 1 + rnd.IntN(3) {
			p := part{rnd.IntN(2) == 0, rnd.IntN(3), n}
			ready := func(p part) bool {
				return p.send && c[p.c].ReadyToSend() || !p.send && c[p.c].ReadyToReceive()
			}
			if slices.Contains(a.cases, p) || ready(p) && slices.ContainsFunc(a.cases, ready) {
				continue // the same twice: their order in the queue is not defined
			}
			a.cases = append(a.cases, p)
		}
		netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			r := protected(func() string { return act(c, a) })
			ended = append(ended, fmt.Sprint(n, "=", r))
		}})
		for range 20 {
			netco.Yield()
		}
		slices.Sort(ended)
		program, results = append(program, a), append(results, strings.Join(ended, " "))
		ended = ended[:0]
	}
	return program, results
}

func protected(f func() string) (result string) {
	defer func() {
		if recover() != nil {
			result = "panic"
		}
	}()
	return f()
}

func received(v int, ok bool) string {
	if !ok {
		return "end"
	}
	return fmt.Sprint("got:", v)
}

func act(c []*channel.Chan[int], a action) string {
	switch a.op {
	case "send":
		c[a.c].Send(a.v)
		return "case0:"
	case "recv":
		return "case0:" + received(c[a.c].Recv())
	case "trysend":
		if !c[a.c].TrySend(a.v) {
			return "default"
		}
		return "case0:"
	case "tryrecv":
		v, ok, done := c[a.c].TryRecv()
		if !done {
			return "default"
		}
		return "case0:" + received(v, ok)
	case "close":
		c[a.c].Close()
		return "closed"
	}
	var v int
	var cases []channel.Case
	for _, p := range a.cases {
		if p.send {
			cases = append(cases, c[p.c].SendCase(p.v))
		} else {
			cases = append(cases, c[p.c].RecvCase(&v))
		}
	}
	if a.op == "default" {
		cases = append(cases, channel.Default())
	}
	i, err := channel.Select(cases...)
	return chosen(a.cases, i, v, err == nil)
}

// chosen says what a Select did.
func chosen(cases []part, i, v int, ok bool) string {
	switch {
	case i == len(cases):
		return "default"
	case cases[i].send:
		return fmt.Sprint("case", i, ":")
	}
	return fmt.Sprint("case", i, ":", received(v, ok))
}

// replay runs a program with Go's channels.
func replay(program []action) (results []string) {
	var c []chan int
	for _, p := range program[0].cases {
		c = append(c, make(chan int, p.c))
	}
	results = append(results, "")
	done := make(chan string, len(program))
	for i, a := range program[1:] {
		go func() {
			done <- fmt.Sprint(i+1, "=", protected(func() string { return goAct(c, a) }))
		}()
		synctest.Wait()
		var ended []string
		for len(done) > 0 {
			ended = append(ended, <-done)
		}
		slices.Sort(ended)
		results = append(results, strings.Join(ended, " "))
	}
	return results
}

// goAct does with Go's channels what act does with ours, all by a select.
func goAct(c []chan int, a action) string {
	switch a.op {
	case "close":
		close(c[a.c])
		return "closed"
	case "send", "trysend":
		a.cases = []part{{true, a.c, a.v}}
	case "recv", "tryrecv":
		a.cases = []part{{false, a.c, 0}}
	}
	var cases []reflect.SelectCase
	for _, p := range a.cases {
		one := reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c[p.c])}
		if p.send {
			one.Dir, one.Send = reflect.SelectSend, reflect.ValueOf(p.v)
		}
		cases = append(cases, one)
	}
	if a.op == "default" || strings.HasPrefix(a.op, "try") {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectDefault})
	}
	i, v, ok := reflect.Select(cases)
	if !ok {
		return chosen(a.cases, i, 0, false)
	}
	return chosen(a.cases, i, int(v.Int()), true)
}
