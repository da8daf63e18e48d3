package rwmutex

import (
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/explore"
)

// orders are the programs of TestEveryOrder. What parks that end early, spins
// and ends by force add to a program includes the program without them.
var orders = []struct {
	programs string // see order.run
	early    int    // how many parks may end early
	spin     bool   // callers may spin before they queue
	calm     bool   // no waiter is ever starved
}{
	{programs: "W W", early: 2, spin: true},
	{programs: "R W", early: 1, spin: true},
	{programs: "WW WW", early: 1, spin: true},
	{programs: "RR WW", early: 1, spin: true},
	{programs: "WR WR", early: 1, spin: true},
	{programs: "W! W!", early: 1},
	{programs: "W W W", spin: true},
	{programs: "R W! R!"},
	{programs: "W R R!"},
	{programs: "T W", early: 1, spin: true},
	{programs: "U W", early: 1, spin: true},
	{programs: "T T W"},
	{programs: "T W W"},
	{programs: "U W R"},
	{programs: "T R R"},
	{programs: "U U W"},
	{programs: "C W W!"},
	{programs: "W& T& R&"},
	{programs: "W& W R&"},
	{programs: "O W W"},
	{programs: "P W W"},
	{programs: "P R W"},
	{programs: "w W R"},
	{programs: "r W R"},
	{programs: "rw WR"},
	{programs: "x W W"},
	{programs: "x x W"},
	{programs: "x R W", spin: true},
	{programs: "xx R W"},
	{programs: "x R W!"},
	{programs: "y R R"},
	{programs: "WW W W"},
	{programs: "W W W W", calm: true},
	{programs: "R W R W", calm: true},
	{programs: "W R! W!"},
	{programs: "W W R", early: 1, spin: true},
	{programs: "R R W", early: 1, spin: true},
	{programs: "W! W! W!"},
	{programs: "WR RW R"},
	{programs: "T! W! U!"},
	{programs: "R T R W", calm: true},
}

// TestEveryOrder runs small programs in every order of their shared accesses,
// and checks: mutual exclusion; service in the order of arrival; that no caller
// passes a handoff; that one writer at most is woken; that no thread is left
// waiting and the end can be reached from every state; that misuse panics; and
// that the lock is free in the end.
func TestEveryOrder(t *testing.T) {
	for _, c := range orders {
		t.Run(strings.ReplaceAll(c.programs, " ", ","), func(t *testing.T) {
			defer func(n uint32) { choose, noteFor = nil, n }(noteFor)
			noteFor = 0
			explore.Run(t, func(w *explore.World) explore.Program {
				o := newOrder(w, strings.Fields(c.programs))
				choose = func(q question) bool { return o.choose(q, c.spin, c.calm) }
				return o.program()
			}, explore.Limits{Early: c.early})
		})
	}
}
