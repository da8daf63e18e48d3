package processor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		pd := new(PollDesc)
		pd.home.Store(p)
		if _, err := p.ep.Register(fd, pd); err != nil {
			t.Fatal(err)
		}
	}
}

// marks are the active ones of members, as "+" among "-".
func marks(g *Group) string {
	var s strings.Builder
	for _, p := range g.members {
		if p.active.Load() {
			s.WriteByte('+')
		} else {
			s.WriteByte('-')
		}
	}
	return s.String()
}

// The state of each member before a decision.
type (
	busy  = []float64
	fds   = []int
	ready = []uint64 // coroutines; nil for none
)

// decisions are for TestDecide: in the first line what the balancer finds, in
// the second what it does.
var decisions = []struct {
	name      string
	min       int
	active    string // as marks
	busy      busy
	fds       fds
	ready     ready
	high, low int // how often in a row it was so before

	asked             []string // as requests
	becomes           string   // as marks
	lastHigh, lastLow int
}{
	{"busy once", 1, "+-", busy{1, 0}, fds{8, 0}, nil, 0, 0,
		nil, "+-", 1, 0},
	{"busy for long", 1, "+-", busy{1, 0}, fds{8, 0}, nil, spreadAfter - 1, 0,
		[]string{"0>1:4"}, "++", 0, 0},
	{"busy, not enough", 1, "+-", busy{0.9, 0}, fds{8, 0}, nil, 1, 0,
		nil, "+-", 0, 0},
	{"busy with one fd", 1, "+-", busy{1, 0}, fds{1, 0}, nil, 1, 0,
		nil, "+-", 2, 0},
	{"busy with what is ready", 1, "+-", busy{1, 0}, fds{1, 0}, ready{7, 0}, spreadAfter - 1, 0,
		[]string{"0>1:3"}, "++", 0, 0},
	{"the busiest of three", 1, "++-", busy{0.4, 1, 0}, fds{8, 6, 0}, nil, spreadAfter - 1, 0,
		[]string{"1>2:3"}, "+++", 0, 0},
	{"two of four", 1, "++--", busy{0.95, 1, 0, 0}, fds{8, 6, 0, 0}, nil, spreadAfter - 1, 0,
		[]string{"0>2:4", "1>3:3"}, "++++", 0, 0},
	{"all active, uneven", 1, "++", busy{1, 0.5}, fds{8, 2}, nil, 1, 0,
		[]string{"0>1:2"}, "++", 0, 0},
	{"all active, nearly even", 1, "++", busy{1, 0.8}, fds{8, 2}, nil, 1, 0,
		nil, "++", 2, 0},
	{"idle, not for long", 1, "++", busy{0.2, 0.1}, fds{2, 2}, nil, 0, 3,
		nil, "++", 0, 4},
	{"idle for long", 1, "++", busy{0.2, 0.1}, fds{2, 2}, nil, 0, packAfter - 1,
		[]string{"1>0:all"}, "+-", 0, 0},
	{"idle, the first is the least busy", 1, "++", busy{0.1, 0.2}, fds{2, 2}, nil, 0, packAfter - 1,
		[]string{"1>0:all"}, "+-", 0, 0},
	{"idle, of three", 1, "+++", busy{0.3, 0.05, 0.2}, fds{2, 2, 2}, nil, 0, packAfter - 1,
		[]string{"1>2:all"}, "+-+", 0, 0},
	{"all idle alike", 1, "+++", busy{0, 0, 0}, fds{2, 2, 2}, nil, 0, packAfter - 1,
		[]string{"1>0:all"}, "+-+", 0, 0},
	{"one fewer would be too busy", 1, "++", busy{0.4, 0.3}, fds{2, 2}, nil, 0, packAfter - 1,
		nil, "++", 0, 0},
	{"no fewer than the least", 2, "++-", busy{0, 0, 0}, fds{2, 2, 0}, nil, 0, packAfter,
		nil, "++-", 0, 0},
	{"one that is not active was busy", 1, "+-", busy{0.3, 0.01}, fds{2, 2}, nil, 0, 0,
		[]string{"1>0:all"}, "+-", 0, 0},
	{"to the least busy", 1, "++-", busy{0.8, 0.7, 0.01}, fds{2, 2, 2}, nil, 0, 0,
		[]string{"2>1:all"}, "++-", 0, 0},
	{"it was asleep", 1, "+-", busy{0.3, 0}, fds{2, 2}, nil, 0, 0,
		nil, "+-", 0, 0},
	{"it has nothing", 1, "+-", busy{0.3, 0.01}, fds{2, 0}, nil, 0, 0,
		nil, "+-", 0, 0},
	{"it has a coroutine", 1, "+-", busy{0.3, 0.01}, fds{2, 0}, ready{0, 1}, 0, 0,
		[]string{"1>0:all"}, "+-", 0, 0},
	{"none is active", 0, "--", busy{0.3, 0.01}, fds{2, 2}, nil, 1, 1,
		nil, "--", 1, 1},
}

// TestDecide: each rule of the balancer, beside what it must not do.
func TestDecide(t *testing.T) {
	for _, c := range decisions {
		t.Run(c.name, func(t *testing.T) {
			g := newGroup(t, len(c.active))
			defer g.Discard()
			g.minActive = c.min
			for i, p := range g.members {
				p.active.Store(c.active[i] == '+')
				registerFds(t, p, c.fds[i])
				if c.ready != nil {
					p.Stats.Queued.Set(c.ready[i])
					p.ex.Stats.Live.Set(c.ready[i])
				}
			}
			b := &balancer{at: time.Now(), busy: c.busy, high: c.high, low: c.low}
			g.decide(b)
			if asked := requests(g); !slices.Equal(asked, c.asked) {
				t.Errorf("asked for %q, want %q", asked, c.asked)
			}
			if m := marks(g); m != c.becomes {
				t.Errorf("active are %s, want %s", m, c.becomes)
			}
			if b.high != c.lastHigh || b.low != c.lastLow {
				t.Errorf("high %d and low %d, want %d and %d", b.high, b.low, c.lastHigh, c.lastLow)
			}
		})
	}
}

// TestEndsSharing: sharing ends when it was not worth it for a while.
func TestEndsSharing(t *testing.T) {
	for _, c := range []struct {
		name        string
		busy, runNs float64
		times       int
		ends        bool
	}{
		{"worth it", 0.4, 40_000, 3 * packAfter, false},
		{"more than one can serve", 1.5, 40_000, 3 * packAfter, false},
		{"hardly a wait", 0.2, 40_000, packAfter - 1, false},
		{"hardly a wait for long", 0.2, 40_000, packAfter, true},
		{"short runs", 1.5, longBelowNs - 1, packAfter - 1, false},
		{"short runs for long", 1.5, longBelowNs - 1, packAfter, true},
	} {
		b := balancer{runNs: c.runNs}
		ends := false
		for range c.times {
			ends = b.endsSharing(c.busy)
		}
		if ends != c.ends {
			t.Errorf("%s: ends %t", c.name, ends)
		}
	}
}

// TestDecideDomains: domains are spread, evened out and packed as a whole.
func TestDecideDomains(t *testing.T) {
	for _, c := range []struct {
		name    string
		active  string // as marks
		busy    busy
		times   int
		asked   []string // as requests
		becomes string   // as marks
	}{
		{"once", "++++----", busy{1, 1, 1, 1, 0, 0, 0, 0}, 1, nil, "++++----"},
		{"one is busy, not all", "++++----", busy{1, 1, 0.5, 0.4, 0, 0, 0, 0}, 3, nil, "++++----"},
		{"spread", "++++----", busy{1, 1, 1, 1, 0, 0, 0, 0}, 2,
			[]string{"0>4:4", "1>5:4", "2>6:4", "3>7:4"}, "++++++++"},
		{"smaller one", "++++--", busy{1, 1, 1, 1, 0, 0}, 2,
			[]string{"0>4:4", "1>5:4", "2>4:4", "3>5:4"}, "++++++"},
		{"uneven", "++++++", busy{1, 1, 1, 1, 0.5, 0.5}, 2,
			[]string{"0>4:2", "1>5:2", "2>4:2", "3>5:2"}, "++++++"},
		{"needed", "++++++", busy{0.4, 0.4, 0.4, 0.4, 0.3, 0.3}, 2 * packAfter, nil, "++++++"},
		{"packed", "++++++", busy{0.2, 0.2, 0.2, 0.2, 0.1, 0.1}, packAfter,
			[]string{"4>0:all", "5>1:all"}, "++++--"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGroup(t, len(c.active))
			defer g.Discard()
			for i, p := range g.members {
				p.active.Store(c.active[i] == '+')
				registerFds(t, p, 8)
			}
			b := &balancer{at: time.Now(), busy: c.busy}
			for range c.times {
				g.decideDomains(b)
			}
			if asked := requests(g); !slices.Equal(asked, c.asked) || marks(g) != c.becomes {
				t.Errorf("%s are active, asked for %q, want %s, %q", marks(g), asked, c.becomes,
					c.asked)
			}
		})
	}
}

// TestTrial: a spread stays if it brings enough work, and is taken back if not,
// with ever longer pauses; less work because the load has gone is no verdict.
func TestTrial(t *testing.T) {
	now := time.Now()
	var tr trial
	for i, c := range []struct {
		rate   float64
		failed bool
		pause  time.Duration
	}{
		{90, true, trialPauseMin},
		{105, true, 2 * trialPauseMin},
		{10, false, 2 * trialPauseMin},
		{100, true, 4 * trialPauseMin},
		{115, false, 0},
		{100, true, trialPauseMin},
	} {
		tr.before, tr.samples, tr.work = 100, 0, 0
		tr.after = time.Time{}
		for range trialSettles { // what is done meanwhile does not count
			if over, _ := tr.sample(1000, now); over {
				t.Fatal("over before it has settled")
			}
		}
		for range trialSamples - 1 {
			if over, _ := tr.sample(c.rate, now); over {
				t.Fatal("over too early")
			}
		}
		over, failed := tr.sample(c.rate, now)
		after := time.Time{}
		if c.failed {
			after = now.Add(c.pause)
		}
		if !over || failed != c.failed || tr.pause != c.pause || !tr.after.Equal(after) {
			t.Errorf("trial %d with %v of 100: over %t, failed %t, pause %v until %v", i, c.rate,
				over, failed, tr.pause, tr.after)
		}
	}
	for range 10 {
		tr.samples, tr.work = trialSettles+trialSamples, 0
		tr.sample(500, now)
	}
	if tr.pause > trialPauseMax {
		t.Errorf("pauses for %v", tr.pause)
	}
}

// TestDecideAroundTrial: while a spread is on trial nothing else moves; one
// that has failed is taken back, and the next one is not at once.
func TestDecideAroundTrial(t *testing.T) {
	g := newGroup(t, 2)
	defer g.Discard()
	g.minActive = 1
	registerFds(t, g.members[0], 8)
	registerFds(t, g.members[1], 2)
	b := &balancer{at: time.Now(), busy: []float64{1, 0}, rate: 100}
	g.members[1].active.Store(false)
	for range spreadAfter {
		g.decide(b)
	}
	for look := range trialSettles + trialSamples {
		if asked := requests(g); !slices.Equal(asked, []string{"0>1:4"}) || marks(g) != "++" {
			t.Fatalf("look %d: asked for %q, active are %s", look, asked, marks(g))
		}
		b.busy[1] = 0.5 // uneven
		g.decide(b)
	}
	if asked := requests(g); !slices.Contains(asked, "1>0:all") || marks(g) != "+-" {
		t.Errorf("after the trial: asked for %q, active are %s", asked, marks(g))
	}
	for range 2 * spreadAfter {
		g.decide(b)
	}
	if marks(g) != "+-" {
		t.Error("there is another trial at once")
	}
}
