package explore

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
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

// Run visits every state that the program can reach. For each it runs the
// program anew along a path of moves that leads there. Where tests are not run
// at full length, it takes random walks instead. It ends the test if anything
// is wrong.
func Run(t testing.TB, program func(*World) Program, limits Limits) {
	t.Helper()
	if goruntime.RaceEnabled {
		t.Skip("one thread runs at a time: no race can be seen, and it takes long")
	}
	s := search{program: program, limits: limits, seed: maphash.MakeSeed(), ids: map[uint64]int{}}
	find := s.run
	if !testenv.Full() {
		find = func() string { return s.wander(testenv.Rounds(2_000)) }
	}
	if failure := find(); failure != "" {
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
	path    []move
	todo    []branch
	workers []*worker // one for each thread
	moves   []move    // of the present state
	key     []byte
}

// branch is a move that has not been made yet. The search goes on with the last
// branch, so path still begins with the moves to where it branches off.
type branch struct {
	depth int // moves of path before it
	state int // its number
	move  move
}

func (s *search) run() (failure string) {
	defer s.stop()
	from := -1
	for {
		if failure = s.follow(from); failure != "" {
			return s.replay(failure)
		}
		if s.paths++; len(s.from) > tooMany {
			return fmt.Sprintf("more than %d states", tooMany)
		}
		last := len(s.todo) - 1
		if last < 0 {
			return s.endsEverywhere()
		}
		b := s.todo[last]
		s.todo = s.todo[:last]
		s.path, from = append(s.path[:b.depth], b.move), b.state
	}
}

// follow makes the moves of path, the last of which has not been made before
// and leaves the state from, and then the first of those that are possible
// until it comes to a known state or an end. It leaves the other moves in todo.
func (s *search) follow(from int) (failure string) {
	w := s.newWorld()
	defer w.end()
	for i := range s.path {
		w.do(&s.path[i])
	}
	for {
		if w.failure != "" {
			return w.failure
		}
		id, known := s.number(w)
		if from >= 0 {
			s.from[id] = append(s.from[id], from)
		}
		if known {
			return ""
		}
		from = id
		s.moves = w.moves(s.moves[:0])
		if len(s.moves) == 0 {
			s.ends = append(s.ends, id)
			return w.atEnd()
		}
		for _, mv := range s.moves[1:] {
			s.todo = append(s.todo, branch{depth: len(s.path), state: id, move: mv})
		}
		s.path = append(s.path, s.moves[0])
		w.do(&s.path[len(s.path)-1])
	}
}

// wander takes n random walks.
func (s *search) wander(n int) (failure string) {
	defer s.stop()
	for range n {
		if failure = s.walk(); failure != "" {
			return s.replay(failure)
		}
		s.paths++
	}
	return ""
}

// longest is how many moves a walk makes at most: a thread that spins can move
// for ever.
const longest = 1_000

// walk makes random moves until none is possible. In some walks any thread may
// make the next move, in others mostly the same: what takes one thread many
// moves must also be found while the others stay where they are.
func (s *search) walk() (failure string) {
	w := s.newWorld()
	defer w.end()
	row := 1 << rand.IntN(5) // some moves of a thread in a row
	thread := 0
	for s.path = s.path[:0]; w.failure == "" && len(s.path) < longest; {
		s.moves = w.moves(s.moves[:0])
		if len(s.moves) == 0 {
			return w.atEnd()
		}
		mv := s.moves[rand.IntN(len(s.moves))]
		for mv.thread != thread && rand.IntN(row) > 0 {
			mv = s.moves[rand.IntN(len(s.moves))]
		}
		thread, s.path = mv.thread, append(s.path, mv)
		w.do(&s.path[len(s.path)-1])
	}
	return w.failure
}

// stop ends the goroutines of the search.
func (s *search) stop() {
	for _, k := range s.workers {
		k.stop()
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

// replay runs path once more and describes it.
func (s *search) replay(failure string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nafter", failure)
	w := s.newWorld()
	defer w.end()
	for _, mv := range s.path {
		th := w.threads[mv.thread]
		fmt.Fprintf(&b, "\n  thread %d, step %d: %s%s", th.id, th.steps, th.at.op, mv.outcome())
		w.do(&mv)
		fmt.Fprintf(&b, "\t-> %s", w.describe())
	}
	return b.String()
}
