package netco_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/errgroup"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// TestSameResultEverywhere runs programs on 1, 2 and 8 Processors, with the
// pool of goroutines and without, on locked threads and others, under either
// backend (.ci/run sees to that). Each must have the result that package-less,
// sequential code computes.
func TestSameResultEverywhere(t *testing.T) {
	programs := []struct {
		name string
		run  func(t *testing.T) string
		want string
	}{
		{"sieve", sieve, fmt.Sprint(primes(60))},
		{"bank", bank, "64000"},
		{"words", countWords, "a:30 b:20 c:10"},
		{"tree", sameFringe, "true false"},
		{"lexer", lexer, "1+(23*4) -> [1 + ( 23 * 4 )]"},
		{"clock", clockwork, "10 20 30 40 50"},
		{"echo", echoSum, fmt.Sprint(20 * 50)},
		{"locals", localSums, "4950 of 100"},
	}
	for i, processors := range []int{1, 1, 2, 2, 8, 8} { // each pair of settings once
		pool, locked := -(i % 2), (i+processors/2)%2 == 0
		t.Run(fmt.Sprintf("processors=%d,pool=%d,locked=%v", processors, pool, locked),
			func(t *testing.T) {
				testenv.OK(t, netco.Start(netco.Options{Processors: processors, PoolCap: pool,
					LockThreads: locked}))
				for _, p := range programs {
					testenv.Equal(t, p.run(t), p.want, p.name)
				}
				testrun.Shutdown(t)
			})
	}
}

// run is netco.Run for programs, which have nothing to do with its error.
func run(t *testing.T, f func()) {
	t.Helper()
	testenv.NoError(t, netco.Run(f))
}

func primes(n int) (p []int) {
	for i := 2; len(p) < n; i++ {
		if !slices.ContainsFunc(p, func(q int) bool { return i%q == 0 }) {
			p = append(p, i)
		}
	}
	return p
}

// sieve is Hoare's and McIlroy's: a chain of coroutines, each of which lets
// through what its prime does not divide.
func sieve(t *testing.T) string {
	var found []int
	run(t, func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		numbers := channel.Make[int](0)
		first := numbers
		netco.Go(func() {
			for i := 2; first.SendContext(ctx, i) == nil; i++ {
			}
		})
		for range 60 {
			p, _ := numbers.Recv()
			found = append(found, p)
			in, out := numbers, channel.Make[int](p%3)
			netco.Go(func() {
				for {
					i, err := in.RecvContext(ctx)
					if err != nil {
						return
					}
					if i%p != 0 && out.SendContext(ctx, i) != nil {
						return
					}
				}
			})
			numbers = out
		}
	})
	return fmt.Sprint(found)
}

// bank moves money between accounts, each with a Mutex, taken in order.
func bank(t *testing.T) string {
	const accounts = 64
	var balance [accounts]int
	var mu [accounts]sync.Mutex
	run(t, func() {
		var wg sync.WaitGroup
		for i := range balance {
			balance[i] = 1000
		}
		for k := range 32 {
			wg.Go(func() {
				for i := range 200 {
					a, b := (i*7+k)%accounts, (i*13+3*k)%accounts
					if a == b {
						continue
					}
					mu[min(a, b)].Lock()
					mu[max(a, b)].Lock()
					if i%50 == 0 {
						netco.Yield() // with both locks held
					}
					sum := min(balance[a], i)
					balance[a] -= sum
					balance[b] += sum
					mu[a].Unlock()
					mu[b].Unlock()
				}
			})
		}
		wg.Wait()
	})
	total := 0
	for _, b := range balance {
		total += b
	}
	return fmt.Sprint(total)
}

// countWords maps with Futures and reduces in a Group.
func countWords(t *testing.T) string {
	counts := map[string]int{}
	run(t, func() {
		var parts []*sync.Future[map[string]int]
		for range 10 {
			parts = append(parts, sync.Async(func() (map[string]int, error) {
				m := map[string]int{}
				for _, w := range strings.Fields("a b a c b a") {
					m[w]++
					netco.Yield()
				}
				return m, nil
			}))
		}
		var g errgroup.Group
		var mu sync.Mutex
		g.SetLimit(3)
		for _, f := range parts {
			g.Go(func() error {
				m, err := f.Get()
				mu.Lock()
				defer mu.Unlock()
				for w, n := range m {
					counts[w] += n
				}
				return err
			})
		}
		testenv.NoError(t, g.Wait())
	})
	return fmt.Sprintf("a:%d b:%d c:%d", counts["a"], counts["b"], counts["c"])
}

type tree struct {
	left, right *tree
	leaf        int
}

func (tr *tree) walk(y *coroutine.Yielder[struct{}, int]) {
	if tr.left == nil {
		y.Yield(tr.leaf)
		return
	}
	tr.left.walk(y)
	tr.right.walk(y)
}

// grow makes trees of the same leaves and different shapes.
func grow(from, to, shape int) *tree {
	if to-from == 1 {
		return &tree{leaf: from}
	}
	mid := from + max(1, (to-from)*shape/10)
	return &tree{left: grow(from, mid, shape), right: grow(mid, to, shape)}
}

// sameFringe compares the leaves of two trees by two coroutines driven by hand.
func sameFringe(t *testing.T) string {
	var same, different bool
	run(t, func() {
		leaves := func(n *tree) coroutine.Fiber[struct{}, int] {
			return coroutine.New(func(y *coroutine.Yielder[struct{}, int], _ struct{}) int {
				n.walk(y)
				return -1
			})
		}
		equal := func(a, b *tree) bool {
			f, g := leaves(a), leaves(b)
			defer f.Cancel()
			defer g.Cancel()
			for {
				x, _ := f.Resume(struct{}{})
				y, _ := g.Resume(struct{}{})
				if x != y || x < 0 {
					return x == y
				}
				netco.Yield()
			}
		}
		same = equal(grow(0, 100, 3), grow(0, 100, 7))
		different = equal(grow(0, 100, 3), grow(0, 99, 7))
	})
	return fmt.Sprint(same, different)
}

// lexer pushes runes into a coroutine driven by hand, which sends tokens
// through a channel.
func lexer(t *testing.T) string {
	const text = "1+(23*4)"
	var tokens []string
	run(t, func() {
		out := channel.Make[string](1)
		netco.Go(func() {
			lex := coroutine.New(func(y *coroutine.Yielder[rune, struct{}], r rune) struct{} {
				for {
					if r == 0 {
						return struct{}{}
					}
					word := string(r)
					next, _ := y.Yield(struct{}{})
					for r >= '0' && r <= '9' && next >= '0' && next <= '9' {
						word += string(next)
						next, _ = y.Yield(struct{}{})
					}
					out.Send(word) // parks the coroutine that drives this one
					r = next
				}
			})
			for _, r := range text + "\x00" {
				lex.Resume(r)
			}
			out.Close()
		})
		for token := range out.All() {
			tokens = append(tokens, token)
		}
	})
	return fmt.Sprintf("%s -> %v", text, tokens)
}

// clockwork is timers that set one another, each a coroutine of its own.
func clockwork(t *testing.T) string {
	var order []string
	run(t, func() {
		done := channel.Make[struct{}](0)
		var strike func(hour int)
		strike = func(hour int) {
			order = append(order, fmt.Sprint(hour))
			if hour == 50 {
				done.Close()
				return
			}
			netco.AfterFunc(time.Millisecond, func() { strike(hour + 10) })
		}
		netco.AfterFunc(0, func() { strike(10) })
		if never := netco.AfterFunc(time.Hour, func() { strike(0) }); !never.Stop() {
			t.Error("a timer of an hour has fired")
		}
		done.Recv()
	})
	return strings.Join(order, " ")
}

// echoSum sends bytes through an echo server and adds up what comes back.
func echoSum(t *testing.T) string {
	var sum atomic.Int64
	run(t, func() {
		ln := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
		defer ln.Close()
		netco.Go(func() { netco.Serve(ln, echoAll) })
		var g errgroup.Group
		for range 20 {
			g.Go(func() error {
				c := testenv.Must(netco.Dial("tcp", ln.Addr().String()))
				defer c.Close()
				b := make([]byte, 1)
				for range 50 {
					b[0] = 1
					testenv.Must(c.Write(b))
					testenv.Must(io.ReadFull(c, b))
					sum.Add(int64(b[0]))
				}
				return nil
			})
		}
		testenv.NoError(t, g.Wait())
	})
	return fmt.Sprint(sum.Load())
}

var localSum = coroutine.NewLocal(coroutine.LocalOptions[int]{Inherit: func(parent *int) int {
	return *parent
}})

// localSums gives each coroutine a number through a local that it inherits.
func localSums(t *testing.T) string {
	var sum, n atomic.Int64
	run(t, func() {
		for i := range 100 {
			localSum.Set(i)
			netco.Go(func() {
				netco.Yield()
				sum.Add(int64(*localSum.Get()))
				n.Add(1)
			})
		}
	})
	return fmt.Sprintf("%d of %d", sum.Load(), n.Load())
}
