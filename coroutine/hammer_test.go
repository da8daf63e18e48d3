package coroutine

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/testenv"
)

// board is where a parking coroutine announces its park and a waker records
// what it woke.
type board struct {
	co     *Coroutine
	ticket atomic.Uint64 // announced
	issued atomic.Uint64 // the highest ticket for which a wake was begun
	done   atomic.Bool
	_      [64]byte
}

// park parks once, and reports whether that was right.
func (b *board) park(t *testing.T, n int) bool {
	if n%3 == 1 { // a ticket that no other thread wakes in time
		b.co.MakeReady(b.co.Ticket(), WakeReady)
		b.co.Park(ReasonUser)
	}
	mine := b.co.Ticket()
	b.ticket.Store(mine)
	if n%3 == 0 { // the other thread's wake may come late, in the next park
		raise(&b.issued, mine)
		b.co.MakeReady(mine, WakeReady)
	}
	testenv.Equal(t, b.co.Park(ReasonUser), WakeReady, "park ended with")
	ok := b.issued.Load() >= mine
	testenv.True(t, ok, "park %d ended, woken was only %d", mine, b.issued.Load())
	return ok
}

// wakeAll wakes every board's announced ticket; every second wake is doubled,
// and old tickets are woken too.
func wakeAll(boards []board, relax func()) {
	last := make([]uint64, len(boards))
	for over, n := 0, 0; over < len(boards); n++ {
		over = 0
		for i := range boards {
			b := &boards[i]
			now := b.ticket.Load()
			if b.done.Load() {
				over++
			}
			if old := last[i]; old != 0 && n&1 == 0 {
				b.co.MakeReady(old, WakeShutdown) // ended by now, or woken with WakeReady before
			}
			if last[i] == now {
				continue
			}
			last[i] = now
			raise(&b.issued, now)
			if n&1 != 0 { // this one may arrive while the next is on its way
				b.co.MakeReady(now-1, WakeTimeout)
				asm.Pause(rand.Uint32N(100))
			}
			b.co.MakeReady(now, WakeReady)
			if n&3 == 0 {
				b.co.MakeReady(now-1, WakeTimeout)
				b.co.MakeReady(now, WakeTimeout)
			}
		}
		relax()
	}
}

// TestLostWakeHammer lets coroutines park and others wake them: a coroutine of
// another thread, and one of theirs that was left behind, or a goroutine where
// none is. They wake each ticket once in time and any number of times too late.
// A lost wake shows as a hang, a spurious one as an error.
func TestLostWakeHammer(t *testing.T) {
	const sleepers = 16
	parks := testenv.Rounds(1_000_000) / sleepers
	goesOn := spell(10 * time.Second) // with one core each wake waits for the wakers' time slices
	var parked atomic.Int64
	sleep, wake := newRoamer(plain), newThread(plain)
	boards := make([]board, sleepers)
	var over sync.WaitGroup
	over.Add(1)
	waker := func() { defer over.Done(); wakeAll(boards, runtime.Gosched) }
	if sleep.guard() != nil {
		go waker()
	} else {
		sleep.spawn(func() {
			sleep.block()
			testenv.True(t, DrivenBy() == nil, "it is left behind, and driven")
			waker()
		})
	}
	for i := range boards {
		b := &boards[i]
		sleep.spawn(func() {
			defer b.done.Store(true)
			b.co = Current()
			for n := 0; n < parks && goesOn() && b.park(t, n); n++ {
				parked.Add(1)
			}
		})
	}
	wake.spawn(func() { wakeAll(boards, Yield) })
	over.Wait()
	wake.stop()
	sleep.stop()
	t.Logf("%d parks, %d resumes", parked.Load(), sleep.ex.Stats.Resumes.Load())
}

func raise(a *atomic.Uint64, to uint64) {
	for {
		old := a.Load()
		if old >= to || a.CompareAndSwap(old, to) {
			return
		}
	}
}

// staleHammer has structs of coroutines travel between two threads while wakers
// of their earlier incarnations still call Ready.
type staleHammer struct {
	t              *testing.T
	maker, stealer *thread
	stale          [8]atomic.Pointer[staleWaker]
	parks          atomic.Int64

	made   map[*Coroutine]bool // owner: maker; structs seen
	reused int                 // owner: maker
}

// staleWaker is a waker of a park that has ended.
type staleWaker struct {
	co     *Coroutine
	ticket uint64
}

func (h *staleHammer) wakeStale() {
	for i := range h.stale {
		if r := h.stale[i].Load(); r != nil {
			r.co.MakeReady(r.ticket, WakeTimeout)
		}
	}
}

// life is what a coroutine does.
func (h *staleHammer) life() {
	co := Current()
	for range 2 {
		ticket := co.Ticket()
		waker := &staleWaker{co, ticket}
		co.MakeReady(ticket, WakeReady)
		testenv.Equal(h.t, co.Park(ReasonUser), WakeReady,
			"ended by N, a wake for an earlier incarnation")
		h.stale[h.parks.Add(1)%int64(len(h.stale))].Store(waker)
		Yield()
	}
}

// make makes coroutines on the maker, for both threads.
func (h *staleHammer) make(lives int) {
	for i := range lives {
		co := Make(&h.maker.ex, &Spawn{Fn: h.life})
		if h.made[co] {
			h.reused++
		}
		h.made[co] = true
		last := co.Handle()
		if i%3 == 0 {
			h.maker.ex.Adopt(co)
		} else { // wakers of its earlier incarnations are at work before it is adopted
			h.stealer.submit(co)
			h.wakeStale()
		}
		if i%64 == 63 {
			testenv.NoError(h.t, last.Join())
		}
		h.wakeStale()
	}
}

// makeBack makes coroutines on the stealer for the maker, so that structs
// travel both ways.
func (h *staleHammer) makeBack(lives int) {
	for i := range lives {
		co := Make(&h.stealer.ex, &Spawn{Fn: h.life})
		if made := h.maker.submit(co); i%64 == 63 {
			made.Join()
		}
		h.wakeStale()
		Yield()
	}
}

// TestStaleWakersOfReusedStructs: a struct that one thread has made and another
// stolen is reused there, while wakers of its earlier incarnations, on both
// threads and on none, still call Ready. None of them may end a park of the
// present one.
func TestStaleWakersOfReusedStructs(t *testing.T) {
	lives := testenv.Rounds(200_000)
	h := &staleHammer{
		t: t, maker: newThread(plain), stealer: newThread(plain), made: make(map[*Coroutine]bool),
	}
	var over atomic.Bool
	var wakers, makers sync.WaitGroup
	wakers.Go(func() {
		for !over.Load() {
			h.wakeStale()
		}
	})
	makers.Add(2)
	h.maker.spawn(func() { defer makers.Done(); h.make(lives) })
	h.stealer.spawn(func() { defer makers.Done(); h.makeBack(lives) })
	makers.Wait() // neither thread may end while the other still sends to it
	over.Store(true)
	wakers.Wait()
	h.maker.stop()
	h.stealer.stop()
	t.Logf("%d parks, %d structs, %d reuses", h.parks.Load(), len(h.made), h.reused)
	testenv.True(t, h.reused != 0, "no struct was reused")
}
