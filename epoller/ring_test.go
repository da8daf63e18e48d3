package epoller_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/goruntime"
)

// TestRing: Ring writes the bell only when the owner is asleep, and once; it
// wakes the owner, and is no event.
func TestRing(t *testing.T) {
	e := open(t)
	if e.Ring() || e.Stats.Rings.Load() != 0 {
		t.Error("rang for an owner that is awake")
	}
	for i := range 3 {
		e.Asleep()
		if !e.Sleeping() {
			t.Error("not asleep")
		}
		if !e.Ring() {
			t.Error("did not ring for an owner that sleeps")
		}
		if e.Sleeping() || e.Ring() {
			t.Error("rang twice")
		}
		n := 0
		for n == 0 {
			n = e.Wait() // would hang without the ring
		}
		e.Awake()
		for i := range n {
			if v, _ := e.Event(i); v != nil {
				t.Errorf("the bell was delivered as %v", v)
			}
		}
		if e.Ring() {
			t.Error("rang for an owner that is awake again")
		}
		if rings := e.Stats.Rings.Load(); rings != uint64(i+1) {
			t.Errorf("%d rings in %d sleeps", rings, i+1)
		}
	}
	e.Asleep()
	e.Awake() // it found work
	if e.Ring() || e.Poll() != 0 {
		t.Error("rang after the announcement was taken back")
	}
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
	if r := int64(e.Stats.Rings.Load()); r != rung.Load() {
		t.Errorf("%d rings counted, %d made", r, rung.Load())
	}
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
				a, b := socketpairOrNone()
				if a < 0 {
					t.Error("no socket pair")
					return
				}
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
			if v, events := e.Event(i); v != nil && events == 0 {
				t.Error("an event of nothing")
			}
		}
		e.Each(func(v *object) { _ = v.name })
	}
	if n := e.Registered(); n != 0 {
		t.Errorf("%d left", n)
	}
	e.Each(func(*object) { t.Error("something left") })
	for i := range e.Poll() {
		if v, _ := e.Event(i); v != nil {
			t.Error("an event for something released")
		}
	}
}

func socketpairOrNone() (a, b int) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC,
		0)
	if err != nil {
		return -1, -1
	}
	return fds[0], fds[1]
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
	if len(poll(owner)) != 0 || other.PollOf(owner, nil) != 0 {
		t.Error("an event came twice")
	}
	owner.Awake()
	closed := open(t)
	closed.Close()
	if n := other.PollOf(closed, nil); n != 0 {
		t.Errorf("%d events after Close", n)
	}
}
