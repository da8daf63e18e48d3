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
// has, and comes after what becomes active.
func TestCarryOut(t *testing.T) {
	for _, c := range []struct {
		name    string
		d       decision
		ready   uint64 // coroutines of the first
		sharing bool
		asked   []string // as requests
	}{
		{"half", decision{activate: []int{1}, moves: []move{{0, 1, 0.5, false}}}, 0, false,
			[]string{"0>1:4"}},
		{"half of what is ready", decision{moves: []move{{0, 1, 0.5, false}}}, 17, false,
			[]string{"0>1:8"}},
		{"of its own alone", decision{moves: []move{{0, 1, 0.5, false}}}, 17, true,
			[]string{"0>1:4"}},
		{"all", decision{deactivate: []int{1}, moves: []move{{1, 0, 1, false}}}, 0, true,
			[]string{"1>0:all"}},
		{"asked already", decision{moves: []move{{0, 1, 0.5, false}, {0, 2, 1, true}}}, 0, false,
			[]string{"0>1:4"}},
		{"asked anew", decision{moves: []move{{0, 1, 0.5, false}, {0, 2, 1, false}}}, 0, false,
			[]string{"0>2:all"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGroup(t, 3)
			defer g.Discard()
			g.members[1].active.Store(len(c.d.activate) == 0)
			registerFds(t, g.members[0], 8)
			g.members[0].Stats.Queued.Set(c.ready)
			g.carryOut(c.d, c.sharing)
			asked := requests(g)
			testenv.True(t, slices.Equal(asked, c.asked), "asked for %q, want %q", asked, c.asked)
			if g.members[1].active.Load() == (len(c.d.deactivate) > 0) {
				t.Errorf("active: %t", g.members[1].active.Load())
			}
		})
	}
}
