package rwmutex

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/goruntime"
)

// TestEveryOrder runs small programs in every order in which their shared accesses can happen, and checks: mutual
// exclusion, order of arrival, that nobody passes the queue, that nobody is left waiting, that from everywhere the end
// can be reached, that misuse panics, and that the lock is free in the end. Letting go of the guard is not a step
// of its own: nothing another thread could do between it and the step before would differ (Lipton, "Reduction", 1975).
func TestEveryOrder(t *testing.T) {
	for _, c := range []struct {
		programs string // see simThread; "!" behind one: its parks may be ended by shutdown
		early    int    // how many parks may end early
		long     bool
	}{
		{programs: "W W"},
		{programs: "R W"},
		{programs: "WW WW"},
		{programs: "RR WW", early: 1},
		{programs: "W W", early: 2},
		{programs: "W! W!", early: 1},
		{programs: "W W R"},
		{programs: "R R W"},
		{programs: "W R! W!", long: true},
		{programs: "R W! R"},
		{programs: "R W! R!", early: 1, long: true},
		{programs: "W R R!"},
		{programs: "S S W"},
		{programs: "S W SW", early: 1, long: true},
		{programs: "w W R"},
		{programs: "r W R"},
		{programs: "rw WR"},
		{programs: "x W W"},
		{programs: "x x W"},
		{programs: "x R W"},
		{programs: "xx R W"},
		{programs: "x R W!"},
		{programs: "x R R W"},
		{programs: "xx R W R!", long: true},
		{programs: "y R R"},
		{programs: "W W R", early: 1, long: true},
		{programs: "R R W", early: 1, long: true},
		{programs: "W! W! W!", long: true},
		{programs: "WR RW R", long: true},
		{programs: "W R W R", long: true},
		{programs: "R W! R W", long: true},
		{programs: "x R WW W", long: true},
		{programs: "R W R r", long: true},
	} {
		t.Run(strings.ReplaceAll(c.programs, " ", ","), func(t *testing.T) {
			if c.long && (testing.Short() || goruntime.RaceEnabled) {
				t.Skip("takes seconds; in race builds, minutes")
			}
			states, orders := explore(t, strings.Fields(c.programs), c.early)
			t.Logf("%d states, %d orders", states, orders)
		})
	}
}

// explore visits every state that a world of these programs can reach. For each it runs the world anew along a path of
// moves that leads there.
func explore(t *testing.T, programs []string, early int) (states, paths int) {
	seed := maphash.MakeSeed()
	ids := map[uint64]int{} // by hash of the world's key
	var from [][]int        // by id: the states before it
	var ends []int
	var key []byte

	work := [][]move{nil}
	for len(work) > 0 {
		path := work[len(work)-1]
		work = work[:len(work)-1]
		paths++
		w := newWorld(programs, early)
		prev := -1
		for i := 0; ; i++ {
			if i > 0 {
				w.do(&path[i-1])
			}
			if i < len(path)-1 {
				continue // been there
			}
			if w.failure != "" {
				w.end()
				t.Fatalf("%s\nafter %s", w.failure, replay(programs, early, path))
			}
			key = w.key(key[:0])
			h := maphash.Bytes(seed, key)
			id, known := ids[h]
			if !known {
				id = len(from)
				ids[h] = id
				from = append(from, nil)
			}
			if i < len(path) {
				prev = id
				continue
			}
			if prev >= 0 {
				from[id] = append(from[id], prev)
			}
			if known {
				break
			}
			prev = id
			moves := w.moves()
			if len(moves) == 0 {
				if s := w.stuck(); s != "" {
					w.end()
					t.Fatalf("%s\nafter %s", s, replay(programs, early, path))
				}
				ends = append(ends, id)
				break
			}
			for _, mv := range moves[1:] {
				work = append(work, append(path[:len(path):len(path)], mv))
			}
			path = append(path[:len(path):len(path)], moves[0])
		}
		w.end()
	}

	// From every state an end can be reached.
	reached := make([]bool, len(from))
	for len(ends) > 0 {
		id := ends[len(ends)-1]
		ends = ends[:len(ends)-1]
		if !reached[id] {
			reached[id] = true
			ends = append(ends, from[id]...)
		}
	}
	for id, ok := range reached {
		if !ok {
			t.Fatalf("from state %d of %d no end can be reached", id, len(from))
		}
	}
	return len(from), paths
}

// replay runs the path once more and tells it.
func replay(programs []string, early int, path []move) string {
	var b strings.Builder
	w := newWorld(programs, early)
	defer w.end()
	for _, mv := range path {
		th := w.threads[mv.thread]
		fmt.Fprintf(&b, "\n  thread %d, %s %d: %s%s", th.id, th.program, th.pos, th.at.op, mv.how)
		w.do(&mv)
		fmt.Fprintf(&b, "\t-> state %#x, queue %v", uint64(w.m.state.Load()), w.queue())
	}
	return b.String()
}
