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
		// A wake left over ends the first park. Join must not queue itself a
		// second time then: the list would be a ring, and h would never end.
		self.co.MakeReady(self.co.Ticket(), WakeReady)
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

// gated starts a coroutine on th that ends after the call of end.
func gated(th *thread) (h Handle, end func()) {
	var gate atomic.Bool
	return th.spawn(func() {
		for !gate.Load() {
			Yield()
		}
	}), func() { gate.Store(true) }
}

// wokenLate is the Hook of a joiner.
type wokenLate struct {
	t testing.TB
	h Handle
}

func (w wokenLate) Woken() { testenv.True(w.t, w.h.Done(), "woken before the end can be seen") }

// TestJoinAsItEnds: a joiner that queues itself when the coroutine has already
// looked for joiners wakes itself. Those that it finds can see the end.
func TestJoinAsItEnds(t *testing.T) {
	a, b := newThread(plain), newThread(plain)
	h, end := gated(a)
	j := h.co.joined()
	j.mu.Lock() // it holds up the joiner between Done and the list
	joiner := b.spawn(func() { testenv.NoError(t, h.Join()) })
	var late Waiter
	late.SetHook(wokenLate{t, joiner})
	joiner.co.joined().add(&late)
	testenv.Until(t, "it joins", func() bool {
		return atomic.LoadUintptr(&joiner.co.waiter.Tag) == joinQueued
	})
	end()
	a.stop()
	j.mu.Unlock()
	testenv.Until(t, "Join returns", joiner.Done)
	b.stop()
	testenv.Equal(t, late.Tag, joinReleased, "the tag of the other")
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
		h, end := gated(lasting)
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
				if err := h.Join(); errors.Is(err, ErrShutdown) {
					forced++
				} else {
					testenv.True(t, err == nil && h.Done(), "Join: %v, done %v", err, h.Done())
					joined++
				}
			})
		}
		<-queued
		both := make(chan struct{})
		go func() { stopping.stopByForce(); close(both) }()
		end()
		err := <-last
		testenv.True(t, err == nil && h.Done(), "a goroutine's Join: %v", err)
		lasting.stop()
		<-both
	}
	t.Logf("%d joins ended by force, %d not", forced, joined)
}

func TestIDsAreUnique(t *testing.T) {
	const threads, each = 4, 1500
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
				note(th.ex.Spawn(Spawn{Fn: func() {}}).ID())
				note(th.spawn(func() {}).ID())
				if i%64 == 0 {
					Yield()
				}
			}
		})
	}
}
