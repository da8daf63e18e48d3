package coroutine

import (
	"slices"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

// ticketWake is a wake, and the ticket it is for: an offset from the awaited.
type ticketWake struct {
	offset int64
	why    Wake
}

// stillParked, as a case's want, is for a park that must not end.
const stillParked = WakeShutdown

// ticketCase is the semantics of park and ready, step by step. The coroutine
// publishes its ticket, then parks; before wakes come in between, after wakes
// when it is parked. want is the Wake of the first park, or stillParked, which
// the test then ends.
type ticketCase struct {
	name          string
	before, after []ticketWake
	want          Wake
	early         bool // the park did not give up the thread
}

var ticketCases = []ticketCase{
	{name: "no wake", want: stillParked},
	{name: "late", after: []ticketWake{{0, WakeReady}}, want: WakeReady},
	{name: "timeout", after: []ticketWake{{0, WakeTimeout}}, want: WakeTimeout},
	{name: "early", before: []ticketWake{{0, WakeReady}}, want: WakeReady, early: true},
	{name: "early timeout", before: []ticketWake{{0, WakeTimeout}}, want: WakeTimeout, early: true},
	{name: "the first of two early ones counts",
		before: []ticketWake{{0, WakeTimeout}, {0, WakeReady}}, want: WakeTimeout, early: true},
	{name: "the first of two late ones counts",
		after: []ticketWake{{0, WakeReady}, {0, WakeTimeout}}, want: WakeReady},
	{name: "an old ticket", before: []ticketWake{{-1, WakeReady}},
		after: []ticketWake{{-1, WakeTimeout}}, want: stillParked},
	{name: "a ticket to come", before: []ticketWake{{1, WakeReady}},
		after: []ticketWake{{1, WakeReady}}, want: stillParked},
	{name: "an old one, then the right one", before: []ticketWake{{-1, WakeTimeout}},
		after: []ticketWake{{-1, WakeTimeout}, {0, WakeReady}}, want: WakeReady},
	{name: "early and again late", before: []ticketWake{{0, WakeReady}},
		after: []ticketWake{{0, WakeTimeout}}, want: WakeReady, early: true},
}

func TestTickets(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	for _, c := range ticketCases {
		t.Run(c.name, func(t *testing.T) {
			on(plain, func(ex *Executor) { c.run(t, ex) })
		})
	}
}

// run is a case, in the running coroutine.
func (c *ticketCase) run(t *testing.T, ex *Executor) {
	co := Current()
	ready := func(list []ticketWake, ticket uint64) {
		for _, w := range list {
			co.MakeReady(ticket+uint64(w.offset), w.why)
		}
	}
	is := func(state State, reason Reason, when string) {
		testenv.True(t, co.State() == state && co.Reason() == reason, "state %v, reason %v %s",
			co.State(), co.Reason(), when)
	}
	// Tickets are used up before, so that the one before the awaited was one.
	co.MakeReady(co.Ticket(), WakeReady)
	co.Park(ReasonUser)

	ticket, parked, order := co.Ticket(), true, []string(nil)
	ex.Spawn(Spawn{Fn: func() {
		order = append(order, "waker")
		if parked {
			is(Waiting, ReasonRead, "while it is parked")
		}
		ready(c.after, ticket)
		if c.want == stillParked {
			Yield()
			is(Waiting, ReasonRead, "after wakes that are not for it")
			co.MakeReady(ticket, stillParked)
		}
	}})
	ready(c.before, ticket)
	why := co.Park(ReasonRead)
	parked = false
	order = append(order, "park")
	testenv.Equal(t, why, c.want, "park ended")
	testenv.Equal(t, order[0] == "park", c.early, "early")
	testenv.Equal(t, co.Ticket(), ticket+1, "the ticket after the park")
	Yield()
	is(Running, ReasonNone, "after the park")
	// None of the wakes is left for the next park, unless it was for that.
	forNext := slices.ContainsFunc(append(c.before, c.after...), func(w ticketWake) bool {
		return w.offset == 1
	})
	ended, next := false, co.Ticket()
	ex.Spawn(Spawn{Fn: func() { ended = true; co.MakeReady(next, WakeReady) }})
	co.Park(ReasonUser)
	testenv.True(t, ended || forNext, "the next park ended by an old wake")
}

// TestStopEndsParks: Stop ends parks, and no later park waits; a wake that came
// before still counts. Loops of Yield end, and deferred calls run as far as
// their first wait.
func TestStopEndsParks(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	th := newThread(plain)
	parked := make(chan struct{})
	var got []Wake
	unwound := 0
	th.spawn(func() {
		co := Current()
		close(parked)
		got = append(got, co.Park(ReasonUser), co.Park(ReasonUser))
		co.MakeReady(co.Ticket(), WakeReady)
		got = append(got, co.Park(ReasonUser))
	})
	for range 10 {
		th.spawn(func() {
			defer func() { unwound++ }()
			defer func() {
				defer func() { unwound++ }()
				sleep(time.Hour)
				t.Error("it slept on in a deferred call")
			}()
			for {
				Yield()
			}
		})
	}
	<-parked
	th.stopByForce()
	want := []Wake{WakeShutdown, WakeShutdown, WakeReady}
	testenv.True(t, slices.Equal(got, want), "parks ended with %v, want %v", got, want)
	testenv.Equal(t, unwound, 20, "of 20 deferred calls have run")
}

func TestStrings(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Dead.String(), "dead"}, {Ready.String(), "ready"}, {Running.String(), "running"},
		{Waiting.String(), "waiting"}, {Outside.String(), "outside"},
		{ReasonNone.String(), ""}, {ReasonSleep.String(), "sleep"}, {ReasonJoin.String(), "join"},
		{ReasonUser.String(), "user"},
	} {
		testenv.Equal(t, c.got, c.want)
	}
}
