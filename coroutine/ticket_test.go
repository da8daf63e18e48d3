package coroutine

import (
	"slices"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/clock"
)

// TestTickets is the semantics of park and ready, step by step. In each case
// the coroutine publishes its ticket t, then parks; before wakes come in
// between, after wakes when it is parked. Offsets are from t. want is the Wake
// of the first park, or stays for a park that must not end, which the test then
// ends with WakeShutdown.
func TestTickets(t *testing.T) {
	type wake struct {
		offset int64
		why    Wake
	}
	const stays = WakeShutdown
	for _, c := range []struct {
		name          string
		before, after []wake
		want          Wake
		early         bool // the park did not give up the thread
	}{
		{name: "no wake", want: stays},
		{name: "late", after: []wake{{0, WakeReady}}, want: WakeReady},
		{name: "timeout", after: []wake{{0, WakeTimeout}}, want: WakeTimeout},
		{name: "early", before: []wake{{0, WakeReady}}, want: WakeReady, early: true},
		{name: "early timeout", before: []wake{{0, WakeTimeout}}, want: WakeTimeout, early: true},
		{name: "the first of two early ones counts",
			before: []wake{{0, WakeTimeout}, {0, WakeReady}}, want: WakeTimeout, early: true},
		{name: "the first of two late ones counts", after: []wake{{0, WakeReady}, {0, WakeTimeout}},
			want: WakeReady},
		{name: "an old ticket", before: []wake{{-1, WakeReady}}, after: []wake{{-1, WakeTimeout}},
			want: stays},
		{name: "a ticket to come", before: []wake{{1, WakeReady}}, after: []wake{{1, WakeReady}},
			want: stays},
		{name: "an old one, then the right one", before: []wake{{-1, WakeTimeout}},
			after: []wake{{-1, WakeTimeout}, {0, WakeReady}}, want: WakeReady},
		{name: "early and again late", before: []wake{{0, WakeReady}},
			after: []wake{{0, WakeTimeout}}, want: WakeReady, early: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			on(plain, func(ex *Executor) {
				co := Current()
				ready := func(list []wake, ticket uint64) {
					for _, w := range list {
						co.Ready(ticket+uint64(w.offset), w.why)
					}
				}
				// Tickets are used up before, so that t-1 was one.
				co.Ready(co.Ticket(), WakeReady)
				co.Park(ReasonUser)

				ticket, parked, order := co.Ticket(), true, []string(nil)
				ex.Spawn(Spec{Fn: func() {
					order = append(order, "waker")
					if parked && (co.State() != Waiting || co.Reason() != ReasonRead) {
						t.Errorf("state %v, reason %v while it is parked", co.State(), co.Reason())
					}
					ready(c.after, ticket)
					if c.want == stays {
						Yield()
						if co.State() != Waiting {
							t.Errorf("state %v, want waiting still", co.State())
						}
						co.Ready(ticket, stays)
					}
				}})
				ready(c.before, ticket)
				why := co.Park(ReasonRead)
				parked = false
				order = append(order, "park")
				if why != c.want {
					t.Errorf("park ended with %v, want %v", why, c.want)
				}
				if early := order[0] == "park"; early != c.early {
					t.Errorf("early %v, want %v", early, c.early)
				}
				if got := co.Ticket(); got != ticket+1 {
					t.Errorf("ticket %d after the park, want %d", got, ticket+1)
				}
				Yield()
				if co.State() != Running || co.Reason() != ReasonNone {
					t.Errorf("state %v, reason %v, want running", co.State(), co.Reason())
				}
				// None of the wakes is left for the next park, unless it was
				// for that.
				forNext := slices.ContainsFunc(append(c.before, c.after...), func(w wake) bool {
					return w.offset == 1
				})
				ended := false
				next := co.Ticket()
				ex.Spawn(Spec{Fn: func() { ended = true; co.Ready(next, WakeReady) }})
				co.Park(ReasonUser)
				if !ended && !forNext {
					t.Error("the next park ended by an old wake")
				}
			})
		})
	}
}

// TestParkDeadlines parks through the host with a deadline.
func TestParkDeadlines(t *testing.T) {
	on(plain, func(ex *Executor) {
		co := Current()
		start := clock.Now()
		if why := ex.Host().ParkUntil(co, ReasonSleep,
			start+int64(2*time.Millisecond)); why != WakeTimeout {
			t.Errorf("nobody woke it, yet %v", why)
		}
		if d := clock.Now() - start; d < int64(2*time.Millisecond) {
			t.Errorf("timeout after %v", time.Duration(d))
		}
		ticket := co.Ticket()
		ex.Spawn(Spec{Fn: func() { co.Ready(ticket, WakeReady) }})
		if why := ex.Host().ParkUntil(co, ReasonSleep, start+int64(time.Hour)); why != WakeReady {
			t.Errorf("woken, yet %v", why)
		}
	})
}

// TestStopEndsParks: Stop ends parks, and no later park waits; a wake that came
// before still counts.
func TestStopEndsParks(t *testing.T) {
	th := newThread(plain)
	parked := make(chan struct{})
	var got []Wake
	unwound := 0
	th.spawn(func() {
		co := Current()
		close(parked)
		got = append(got, co.Park(ReasonUser), co.Park(ReasonUser))
		co.Ready(co.Ticket(), WakeReady)
		got = append(got, co.Park(ReasonUser))
	})
	for range 10 {
		th.spawn(func() {
			defer func() { unwound++ }()
			for {
				Yield()
			}
		})
	}
	<-parked
	th.stopByForce()
	if want := []Wake{WakeShutdown, WakeShutdown, WakeReady}; !slices.Equal(got, want) {
		t.Errorf("parks ended with %v, want %v", got, want)
	}
	if unwound != 10 {
		t.Errorf("%d of 10 Yield loops unwound", unwound)
	}
}

func TestStrings(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Dead.String(), "dead"}, {Ready.String(), "ready"}, {Running.String(), "running"},
		{Waiting.String(), "waiting"}, {Outside.String(), "outside"},
		{ReasonNone.String(), ""}, {ReasonSleep.String(), "sleep"}, {ReasonJoin.String(), "join"},
		{ReasonUser.String(), "user"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
