package coroutine

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

func TestJoinSimple(t *testing.T) {
	if err := (Handle{}).Join(); err != nil || !(Handle{}).Done() || (Handle{}).ID() != 0 {
		t.Errorf("the zero Handle: %v", err)
	}
	var kept Handle
	on(plain, func(ex *Executor) {
		self := Current().Handle()
		testenv.Fails(t, self.Join(), ErrJoinSelf, "joining itself")
		kept = self
		order := ""
		h := ex.Spawn(Spawn{Fn: func() { Yield(); order += "a" }}).Handle()
		testenv.True(t, !h.Done(), "done before it ran")
		id := h.ID()
		testenv.NoError(t, h.Join())
		order += "b"
		if order != "ab" || !h.Done() || h.ID() != id {
			t.Errorf("order %q, done %v, id %d, was %d", order, h.Done(), h.ID(), id)
		}
		testenv.Fails(t, h.Join(), nil, "joining one that has ended")
		// The struct is reused for another coroutine, which the old Handle does
		// not name.
		again := ex.Spawn(Spawn{Fn: Yield}).Handle()
		testenv.Equal(t, again.co, h.co, "the struct was not reused: the test shows nothing")
		testenv.True(t, !again.Done() && h.Done() && again != h, "two lives are taken for one")
		err := h.Join()
		testenv.True(t, err == nil && !again.Done(),
			"joining the old life: %v, and it waited for the new one: %v", err, again.Done())
	})
	testenv.True(t, kept.Done() && kept.Join() == nil, "not done after its thread has ended")
}

// TestJoinHammer has each of many coroutines joined by coroutines of its thread
// and of another and by goroutines, some early, some late, while structs are
// reused.
func TestJoinHammer(t *testing.T) {
	rounds := testenv.Rounds(3000)
	a, b := newThread(plain), newThread(plain)
	var wg sync.WaitGroup
	for r := range rounds {
		var ended atomic.Bool
		h := a.spawn(func() {
			for range r % 4 {
				Yield()
			}
			ended.Store(true)
		})
		join := func() {
			defer wg.Done()
			testenv.NoError(t, h.Join())
			testenv.True(t, ended.Load(), "Join returned before the end")
		}
		wg.Add(6)
		for range 2 {
			go join()
			a.spawn(join)
			b.spawn(join)
		}
		if r%16 == 15 {
			wg.Wait()
		}
	}
	wg.Wait()
	a.stop()
	b.stop()
}

// TestJoinEndedByForce: a Join that shutdown ends returns ErrShutdown, and no
// other joiner's wake is lost. A joiner that leaves must not be taken out of
// the list by its own Release while the waker of the joiners is at it: those
// behind it would sleep for ever.
func TestJoinEndedByForce(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	const joiners = 200
	forced, joined := 0, 0
	for range testenv.Rounds(120) {
		stopping, lasting := newThread(plain), newThread(plain)
		var gate atomic.Bool
		h := lasting.spawn(func() {
			for !gate.Load() {
				Yield()
			}
		})
		last := make(chan error)
		go func() { last <- h.Join() }()
		for h.co.joined().joiners.Load() == nil {
			Yield() // the goroutine is the list's first, so its last
		}
		queued := make(chan struct{})
		n := 0
		for range joiners {
			stopping.spawn(func() {
				if n++; n == joiners {
					close(queued)
				}
				switch err := h.Join(); {
				case errors.Is(err, ErrShutdown):
					forced++
				case err != nil:
					t.Error(err)
				case !h.Done():
					t.Error("Join returned before the end")
				default:
					joined++
				}
			})
		}
		<-queued
		both := make(chan struct{})
		go func() { stopping.stopByForce(); close(both) }()
		gate.Store(true)
		err := <-last
		testenv.True(t, err == nil && h.Done(), "a goroutine's Join: %v", err)
		lasting.stop()
		<-both
	}
	t.Logf("%d joins ended by force, %d not", forced, joined)
}

func TestIDsAreUnique(t *testing.T) {
	const threads, each = 4, 3000
	var seen sync.Map
	note := func(id uint64) {
		_, twice := seen.LoadOrStore(id, true)
		testenv.True(t, !twice && id != 0, "id %d twice", id)
	}
	for range threads {
		th := newThread(plain)
		defer th.stop()
		th.spawn(func() {
			for i := range each {
				if i%2 == 0 {
					note(th.ex.Spawn(Spawn{Fn: func() {}}).ID())
				} else {
					note(th.spawn(func() {}).ID())
				}
				if i%64 == 0 {
					Yield()
				}
			}
		})
	}
}

// TestJoinAfterAWakeLeftOver: a wake that comes when its waiter has given up
// ends the next park early. Join must not queue itself a second time then: that
// would close the list to a ring, and the target would never end.
func TestJoinAfterAWakeLeftOver(t *testing.T) {
	on(plain, func(ex *Executor) {
		co := Current()
		h := ex.Spawn(Spawn{Fn: func() {
			for range 3 {
				Yield()
			}
		}}).Handle()
		co.MakeReady(co.Ticket(), WakeReady)
		if err := h.Join(); err != nil || !h.Done() {
			t.Errorf("Join: %v, done %v", err, h.Done())
		}
	})
}
