package epoller_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// TestRing: Ring writes the bell only when the owner is asleep, and once; it
// wakes the owner, and is no event.
func TestRing(t *testing.T) {
	e := open(t)
	testenv.True(t, !e.Ring() && e.Stats.Rings.Load() == 0, "rang for an owner that is awake")
	for i := range 3 {
		e.Asleep()
		testenv.True(t, e.Sleeping(), "not asleep")
		testenv.True(t, e.Ring(), "did not ring for an owner that sleeps")
		testenv.True(t, !e.Sleeping() && !e.Ring(), "rang twice")
		n := 0
		for n == 0 {
			n = e.Wait() // would hang without the ring
		}
		e.Awake()
		for i := range n {
			v, _ := e.Event(i)
			testenv.True(t, v == nil, "the bell was delivered as %v", v)
		}
		testenv.True(t, !e.Ring(), "rang for an owner that is awake again")
		rings := e.Stats.Rings.Load()
		testenv.True(t, rings == uint64(i+1), "%d rings in %d sleeps", rings, i+1)
	}
	e.Asleep()
	e.Awake() // it found work
	testenv.True(t, !e.Ring() && e.Poll() == 0, "rang after the announcement was taken back")
}

// TestRingHammer: work is published from many threads, the owner sleeps
// whenever it finds none. It must find all of it, and there is at most one ring
// for each sleep.
func TestRingHammer(t *testing.T) {
	e := open(t)
	senders, each := 4, 20_000
	if goruntime.RaceEnabled {
		each = 2000
	}
	var (
		work, rung atomic.Int64
		wg         sync.WaitGroup
	)
	for range senders {
		wg.Go(func() {
			for range each {
				work.Add(1)
				if e.Ring() {
					rung.Add(1)
				}
			}
		})
	}
	sleeps := int64(0)
	for done := 0; done < senders*each; {
		if n := work.Swap(0); n > 0 {
			done += int(n)
			continue
		}
		e.Asleep()
		if work.Load() == 0 {
			sleeps++
			e.Wait() // hangs if a ring was missed
		}
		e.Awake()
	}
	wg.Wait()
	r := int64(e.Stats.Rings.Load())
	testenv.True(t, r == rung.Load(), "%d rings counted, %d made", r, rung.Load())
	t.Logf("%d rings, %d sleeps", rung.Load(), sleeps)
}

// TestRegisterHammer: fds are registered, made ready, released and closed from
// several threads while the owner polls. The object of each event was
// registered then or a moment before, and belongs to the event's fd.
func TestRegisterHammer(t *testing.T) {
	e := open(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rounds := 3000
	if goruntime.RaceEnabled {
		rounds = 300
	}
	var (
		wg   sync.WaitGroup
		stop atomic.Bool
	)
	for i := range 3 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			for range rounds {
				fds, err := pair()
				if err != nil {
					t.Error(err)
					return
				}
				a, b := fds[0], fds[1]
				v := new(object)
				r, err := e.Register(a, v)
				if err != nil {
					t.Error(err)
				} else {
					for range rnd.IntN(3) {
						unix.Write(b, []byte("x"))
					}
					e.Release(r)
				}
				unix.Close(a)
				unix.Close(b)
			}
		})
	}
	go func() {
		wg.Wait()
		stop.Store(true)
	}()
	for !stop.Load() {
		for i := range e.Poll() {
			v, events := e.Event(i)
			testenv.True(t, v == nil || events != 0, "an event of nothing")
		}
		e.Each(func(v *object) { _ = v.name })
	}
	testenv.Equal(t, e.Registered(), 0, "left")
	e.Each(func(*object) { t.Error("something left") })
	for i := range e.Poll() {
		v, _ := e.Event(i)
		testenv.True(t, v == nil, "an event for something released")
	}
}

// TestPollOf: events that an owner has not collected are another's, but its
// bell is not.
func TestPollOf(t *testing.T) {
	owner, other := open(t), open(t)
	fd, peer := socketpair(t)
	_, v := register(t, owner, fd, "a")
	poll(owner)
	owner.Asleep()
	send(t, peer)
	if !owner.Ring() {
		t.Fatal("no ring")
	}
	var got []*object
	if n := other.PollOf(owner, func(v *object, events epoller.Events) {
		if events.Readable() {
			got = append(got, v)
		}
	}); n != 1 || len(got) != 1 || got[0] != v {
		t.Errorf("%d events: %v", n, got)
	}
	for owner.Wait() == 0 { // would hang without the ring
	}
	testenv.True(t, len(poll(owner)) == 0 && other.PollOf(owner, nil) == 0, "an event came twice")
	owner.Awake()
	closed := open(t)
	closed.Close()
	testenv.Equal(t, other.PollOf(closed, nil), 0, "events after Close")
}
