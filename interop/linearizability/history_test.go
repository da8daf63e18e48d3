// Package linearizability records what coroutines of two Processors and goroutines do at once to netco's locks, semaphores and
// channels, when each call began, when it ended and what came of it, and has porcupine look for an order, within those times, in which a
// simple sequential model gives the same answers (Herlihy and Wing, "Linearizability", 1990). If there is none, the primitive is wrong.
//
// A call that waits is two steps to the model, both within its time: it comes, and it is let go. The model keeps a queue
// between them. So a call that does not wait is held to what it may be refused for, somebody in the queue before it among that; whoever has
// been seen to wait is not passed; and a send and a receive without a buffer between them, which have no order of their own, meet (the
// dual data structures of Scherer and Scott, 2004).
//
// rejected_test.go shows that wrong histories are told from right ones.
package linearizability

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/interop/internal/place"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// clients are who calls: on Processor 0, on Processor 1 and on goroutines, in turn.
const clients = 6

// rounds is how many histories of each kind are recorded; each is short, since the search for an order takes exponential time.
func rounds() int { return testenv.Rounds(1000) }

// patience is for how long porcupine may look for an order. It takes milliseconds.
const patience = 10 * time.Second

// client is one who calls.
type client[S any] struct {
	*rand.Rand
	id    int
	clock *atomic.Int64 // of the round; every reading is another
	done  []porcupine.Operation
}

// call makes one call, during which the steps that f returns have happened, each at a moment of its own.
func (c *client[S]) call(f func() []S) {
	begin := c.clock.Add(1)
	steps := f()
	end := c.clock.Add(1)
	for _, s := range steps {
		c.done = append(c.done, porcupine.Operation{ClientId: c.id, Input: s, Call: begin,
			Return: end})
	}
}

// pause lets others run, now and then.
func (c *client[S]) pause() {
	if c.IntN(2) == 0 {
		netco.Yield()
	}
}

// bound returns how long a call may wait: not at all, or for so long that it is about as likely to get what it waits for.
func (c *client[S]) bound() time.Duration {
	return time.Duration(c.IntN(4)) * 20 * time.Microsecond
}

// model makes a porcupine.Model of a step function, which reports whether the step is possible in a state, and the state after
// it. States must be comparable and are not changed.
func model[State comparable, S any](first State,
	step func(State, S) (State, bool)) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(state, s, _ any) (bool, any) {
			next, ok := step(state.(State), s.(S))
			return ok, next
		},
	}
}

// record has all clients run body at once, round after round, on what prepare makes, and returns the histories one by one until check
// has seen enough.
func record[S, T any](t *testing.T, prepare func(r *rand.Rand) T, body func(c *client[S], on T),
	check func(on T, history []porcupine.Operation) (more bool)) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	place.Start(t, 2)
	for round := range rounds() {
		on := prepare(rand.New(rand.NewPCG(seed, uint64(round))))
		var clock atomic.Int64
		var here atomic.Int32
		all := make([]*client[S], clients)
		ended := make(chan any, clients)
		for i := range all {
			c := &client[S]{Rand: rand.New(rand.NewPCG(seed, uint64(round*clients+i)|1<<63)), id: i,
				clock: &clock}
			all[i] = c
			run := func() {
				defer func() { ended <- recover() }()
				for here.Add(1); here.Load() < clients; {
					netco.Yield()
				}
				body(c, on)
			}
			on := netco.OnProcessor(i % 3)
			if i%3 == 2 {
				go run()
			} else if _, err := netco.GoWith(netco.Spawn{On: on, Fn: run}); err != nil {
				t.Fatal(err)
			}
		}
		late := time.AfterFunc(place.Limit, func() {
			panic(fmt.Sprintf("%s: seed %d, round %d: not over", t.Name(), seed, round))
		})
		for range all {
			if r := <-ended; r != nil {
				t.Errorf("round %d: panic: %v", round, r)
			}
		}
		late.Stop()
		var history []porcupine.Operation
		for _, c := range all {
			history = append(history, c.done...)
		}
		if t.Failed() || !check(on, history) {
			return
		}
	}
}

// accept fails the test unless the history is one of m's.
func accept(t *testing.T, m porcupine.Model, history []porcupine.Operation) bool {
	t.Helper()
	switch porcupine.CheckOperationsTimeout(m, history, patience) {
	case porcupine.Unknown:
		t.Errorf("no answer after %v about %d steps", patience, len(history))
	case porcupine.Illegal:
		t.Errorf("no order explains\n%s", told(history))
	default:
		return true
	}
	return false
}

// told is a history to read: by client, with the beginning and the end of each step.
func told(history []porcupine.Operation) string {
	history = slices.Clone(history)
	slices.SortStableFunc(history, func(a, b porcupine.Operation) int {
		return int(a.Call - b.Call)
	})
	var b strings.Builder
	for _, op := range history {
		fmt.Fprintf(&b, "%4d..%-4d client %d  %+v\n", op.Call, op.Return, op.ClientId, op.Input)
	}
	return b.String()
}
