package processor

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
)

// requests are what members are asked to give away, as "0>1:5".
func requests(g *Group) (asked []string) {
	for i, p := range g.members {
		switch x := p.moveRequest.Load(); {
		case x == nil:
		case x.n == moveAll:
			asked = append(asked, fmt.Sprintf("%d>%d:all", i, x.to.cfg.Index))
		default:
			asked = append(asked, fmt.Sprintf("%d>%d:%d", i, x.to.cfg.Index, x.n))
		}
	}
	return asked
}

// registerFds registers n fds with p until the test ends.
func registerFds(t testing.TB, p *Processor, n int) {
	t.Helper()
	for range n {
		fd := testenv.Must(unix.Eventfd(0, unix.EFD_CLOEXEC))
		t.Cleanup(func() { unix.Close(fd) })
		pd := new(PollDesc)
		pd.home.Store(p)
		if _, err := p.ep.Register(fd, pd); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCarryOut: what a decision moves becomes numbers of what its Processor
// has; what gets work becomes active, and what gives all inactive.
func TestCarryOut(t *testing.T) {
	for _, c := range []struct {
		name    string
		moves   []move
		active  string // as marks, before
		ready   uint64 // coroutines of the first
		asked   []string
		becomes string
	}{
		{"half", []move{{0, 1, 0.5}}, "+--", 0, []string{"0>1:4"}, "++-"},
		{"half of what is ready", []move{{0, 1, 0.5}}, "++-", 17, []string{"0>1:8"}, "++-"},
		{"all", []move{{1, 0, 1}}, "+++", 0, []string{"1>0:all"}, "+-+"},
		{"asked already", []move{{0, 1, 1}, {0, 2, 1}}, "-++", 0, []string{"0>1:all"}, "-++"},
		{"asked anew", []move{{0, 1, 0.5}, {0, 2, 1}}, "+++", 0, []string{"0>2:all"}, "-++"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGroup(t, 3)
			defer g.Discard()
			for i, p := range g.members {
				p.active.Store(c.active[i] == '+')
			}
			registerFds(t, g.members[0], 8)
			g.members[0].Stats.Queued.Set(c.ready)
			g.carryOut(decision{moves: c.moves})
			asked := requests(g)
			testenv.True(t, slices.Equal(asked, c.asked), "asked for %q, want %q", asked, c.asked)
			for i, p := range g.members {
				testenv.Equal(t, p.active.Load(), c.becomes[i] == '+', "Processor", i, "is active")
			}
		})
	}
}
