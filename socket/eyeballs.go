package socket

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/waitq"
	"github.com/netco-go/netco/processor"
)

// race is a dial to both families, as net does it (RFC 6555, "happy eyeballs").
// The caller itself dials the primaries, the addresses of the first one's
// family. The fallbacks are dialled by a coroutine of the same Processor, or,
// for a goroutine, by another goroutine, which begins after the delay or when
// the caller has failed. So whichever connection wins is registered
// with the Processor where it is used.
//
//	state        means                   becomes
//	undecided    no dial has won         primaryWon, by the caller, also when it
//	                                     gives up; fallbackWon, by the fallback,
//	                                     once conn is set
//	primaryWon   the fallback closes     nothing
//	             what it still gets
//	fallbackWon  conn is the caller's    nothing
type race struct {
	state  atomic.Int32
	conn   net.Conn
	failed atomic.Bool // the primaries have
	ended  atomic.Bool // the fallback has
	turn   waitq.Bell  // the fallback waits for its turn
	end    waitq.Bell  // the caller waits for the fallback
}

const (
	undecided = iota
	primaryWon
	fallbackWon
)

const defaultFallbackDelay = 300 * time.Millisecond

// race connects to one of the primaries or of the fallbacks. If all fail, the
// error is that of the primaries.
func (d *Dialer) race(l limits, n network, primaries, fallbacks []net.Addr) (net.Conn, error) {
	mine, leaveMine := context.WithCancel(l.ctx)
	defer leaveMine()
	theirs, leaveTheirs := context.WithCancel(l.ctx)
	defer leaveTheirs()
	r := new(race)
	spawnNear(func() {
		defer r.finish()
		if !r.awaitTurn(d.FallbackDelay) {
			return
		}
		c, err := d.serial(limits{theirs, l.until}, n, fallbacks)
		if err == nil {
			r.offer(c)
			leaveMine()
		}
	})
	defer r.abandon() // Control may unwind the caller
	c, err := d.serial(limits{mine, l.until}, n, primaries)
	if err != nil {
		r.failed.Store(true)
		r.turn.Ring()
		// A forced shutdown ends this wait early; the fallback then ends soon.
		r.end.Wait(coroutine.ReasonConnect, 0, r.ended.Load)
	}
	if r.state.CompareAndSwap(undecided, primaryWon) {
		return c, err
	}
	if err == nil {
		c.Close()
	}
	c, r.conn = r.conn, nil
	return c, nil
}

// abandon ends the race for the caller, if it is not over.
func (r *race) abandon() {
	if !r.state.CompareAndSwap(undecided, primaryWon) && r.state.Load() == fallbackWon &&
		r.conn != nil {
		r.conn.Close()
	}
	r.turn.Ring()
}

// awaitTurn waits until the fallback is to begin; false says that there is no
// need for it.
func (r *race) awaitTurn(delay time.Duration) bool {
	if delay == 0 {
		delay = defaultFallbackDelay
	}
	err := r.turn.Wait(coroutine.ReasonConnect, clock.Now()+int64(delay), func() bool {
		return r.failed.Load() || r.state.Load() != undecided
	})
	return err == nil && r.state.Load() == undecided
}

// offer hands the fallback's connection over, unless there is one already.
func (r *race) offer(c net.Conn) {
	r.conn = c
	if !r.state.CompareAndSwap(undecided, fallbackWon) {
		c.Close()
	}
}

func (r *race) finish() {
	r.ended.Store(true)
	r.end.Ring()
}

// spawnNear runs fn in a coroutine of the caller's Processor, or in a goroutine
// if the caller is one.
func spawnNear(fn func()) {
	if p := processor.Current(); p != nil {
		sp := coroutine.Spawn{Fn: fn, Name: "dial fallback"}
		sp.Pinned, sp.Unlimited = true, true
		p.Group().Go(p, p, sp)
	} else {
		go fn()
	}
}
