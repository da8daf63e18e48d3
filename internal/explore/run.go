package explore

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// Program is a primitive and the threads that use it.
type Program struct {
	Threads []func(*Thread)

	// State appends what the primitive's code and Check read. Required.
	State func(b []byte) []byte
	// Seen returns what a thread that is about to make the access op reads into
	// its local variables. Nil: State.
	Seen func(op Op) uint64
	// Check is called after each step of th, and returns what is wrong, or "".
	// May be nil.
	Check func(th *Thread) string
	// End is called when no thread can move any more and none is stuck. As
	// Check. May be nil.
	End func() string
	// Describe formats the state for failures. Nil: State in hexadecimal.
	Describe func() string
}

// Limits bound what happens besides the program's own steps.
type Limits struct {
	Early int  // parks that end without a wake, in all
	Moves bool // coroutines move where they release their waiter
}

// tooMany states mean a State that appends what only grows, or a program too
// large to explore.
const tooMany = 20_000_000

// Run visits every state that the program can reach; where tests are not run at
// full length, those of the first paths only. For each it runs the program anew
// along a path of moves that leads there. It ends the test if anything is
// wrong.
func Run(t testing.TB, program func(*World) Program, limits Limits) {
	t.Helper()
	if goruntime.RaceEnabled {
		t.Skip("one thread runs at a time: no race can be seen, and it takes long")
	}
	s := search{program: program, limits: limits, seed: maphash.MakeSeed(), ids: map[uint64]int{}}
	if !testenv.Full() {
		s.most = testenv.Rounds(5_000)
	}
	if failure := s.run(); failure != "" {
		t.Fatal(failure)
	}
	t.Logf("%d states, %d paths", len(s.from), s.paths)
}

type search struct {
	program func(*World) Program
	limits  Limits
	seed    maphash.Seed
	ids     map[uint64]int // by hash of the world's key
	from    [][]int        // by id: the states before it
	ends    []int
	paths   int
	most    int // paths, no limit if 0
	key     []byte
}

func (s *search) run() (failure string) {
	work := [][]move{nil}
	for len(work) > 0 {
		path := work[len(work)-1]
		work = work[:len(work)-1]
		more, failure := s.follow(path)
		if failure != "" {
			return failure
		}
		work = append(work, more...)
		if s.paths++; len(s.from) > tooMany {
			return fmt.Sprintf("more than %d states", tooMany)
		}
		if s.paths == s.most {
			return ""
		}
	}
	return s.endsEverywhere()
}

// follow makes the moves of path, the last of which has not been made before,
// and then the first of those that are possible until it comes to a known state
// or an end. It returns the paths to the other moves.
func (s *search) follow(path []move) (more [][]move, failure string) {
	w := newWorld(s.program, s.limits)
	defer w.end()
	prev := -1
	for i := 0; ; i++ {
		if i > 0 {
			w.do(&path[i-1])
		}
		if i < len(path)-1 {
			continue // known
		}
		if w.failure != "" {
			return nil, s.replay(w.failure, path)
		}
		id, known := s.number(w)
		if i < len(path) {
			prev = id
			continue
		}
		if prev >= 0 {
			s.from[id] = append(s.from[id], prev)
		}
		if known {
			return more, ""
		}
		prev = id
		moves := w.moves()
		if len(moves) == 0 {
			s.ends = append(s.ends, id)
			if failure := w.over(); failure != "" {
				return nil, s.replay(failure, path)
			}
			return more, ""
		}
		for _, mv := range moves[1:] {
			more = append(more, append(path[:len(path):len(path)], mv))
		}
		path = append(path, moves[0])
	}
}

// number returns the number of the world's state, and whether it was known.
func (s *search) number(w *World) (id int, known bool) {
	s.key = w.appendKey(s.key[:0])
	h := maphash.Bytes(s.seed, s.key)
	if id, known = s.ids[h]; !known {
		id = len(s.from)
		s.ids[h] = id
		s.from = append(s.from, nil)
	}
	return id, known
}

// endsEverywhere says from which state no end can be reached, or returns "".
func (s *search) endsEverywhere() (failure string) {
	reached := make([]bool, len(s.from))
	work := s.ends
	for len(work) > 0 {
		id := work[len(work)-1]
		work = work[:len(work)-1]
		if !reached[id] {
			reached[id] = true
			work = append(work, s.from[id]...)
		}
	}
	for id, ok := range reached {
		if !ok {
			return fmt.Sprintf("from state %d of %d no end can be reached", id, len(s.from))
		}
	}
	return ""
}

// replay runs the path once more and describes it.
func (s *search) replay(failure string, path []move) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nafter", failure)
	w := newWorld(s.program, s.limits)
	defer w.end()
	for _, mv := range path {
		th := w.threads[mv.thread]
		fmt.Fprintf(&b, "\n  thread %d, step %d: %s%s", th.id, th.steps, th.at.op, mv.outcome())
		w.do(&mv)
		fmt.Fprintf(&b, "\t-> %s", w.describe())
	}
	return b.String()
}
