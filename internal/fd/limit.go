package fd

import (
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
	"github.com/netco-go/netco/processor"
)

// ErrNoConns is the error of an Accept that can never get a permit.
var ErrNoConns = errors.New("netco/socket: the listener is limited to fewer than one connection")

// Limit bounds how many connections are open that were accepted under it.
type Limit struct {
	Max int // constant

	mu   sync.Mutex // never held across a park or a call
	open int        // under mu: connections, and one for each accept(2) under way
	// Under mu: waiters that have found the Limit full since a permit was last
	// returned.
	waiting []permitWaiter
}

// permitWaiter waits for a permit.
type permitWaiter interface {
	// onPermit makes the waiter try again. Any thread; it does not park.
	onPermit()
}

// Room is the limits under which a listener accepts. A place in a Room is one
// permit of each limit. It is taken before accept(2), and given back if
// accept(2) fails, or when the fd is closed. Constant.
type Room struct{ limits []*Limit }

// NewRoom returns a room with one limit.
func NewRoom(l *Limit) *Room { return &Room{[]*Limit{l}} }

// take takes a place. If there is none it registers w, whose onPermit is called
// when there may be a place.
func (r *Room) take(w permitWaiter) bool {
	for i, l := range r.limits {
		if !l.take(w) {
			giveBack(r.limits[:i])
			return false
		}
	}
	return true
}

// Release gives a place back.
func (r *Room) Release() { giveBack(r.limits) }

func giveBack(limits []*Limit) {
	for _, l := range limits {
		l.release()
	}
}

// Taken returns how many permits of the first limit are taken, and how many
// waiters wait for one.
func (r *Room) Taken() (open, waiting int) {
	l := r.limits[0]
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, len(l.waiting)
}

// none reports whether there can never be a place.
func (r *Room) none() bool {
	return slices.ContainsFunc(r.limits, func(l *Limit) bool { return l.Max < 1 })
}

// forget unregisters w, which waits no more.
func (r *Room) forget(w permitWaiter) {
	for _, l := range r.limits {
		l.forget(w)
	}
}

func (l *Limit) take(w permitWaiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open < l.Max {
		l.open++
		return true
	}
	if !slices.Contains(l.waiting, w) {
		l.waiting = append(l.waiting, w)
	}
	return false
}

func (l *Limit) release() {
	l.mu.Lock()
	l.open--
	waiting := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	for _, w := range waiting { // all: the first alone might not want the permit any more
		w.onPermit()
	}
}

func (l *Limit) forget(w permitWaiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, w); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
}

// Gate makes Accept of a listener that is not a Listener wait for a place.
type Gate struct {
	Room *Room // constant

	bell   waitq.Bell
	closed atomic.Bool
}

// Enter takes a place in the room, or waits for one. Log lines about a pause
// name the address of at. The error is ErrNoConns, net.ErrClosed or
// ErrShutdown. Parks.
func (g *Gate) Enter(at net.Listener) error {
	if g.Room.none() {
		return ErrNoConns
	}
	if g.Room.take(g) {
		return nil
	}
	if !g.closed.Load() {
		paused(at.Addr())
	}
	taken := false
	err := g.bell.Wait(coroutine.ReasonAccept, 0, func() bool {
		taken = taken || g.Room.take(g)
		return taken || g.closed.Load()
	})
	switch {
	case taken:
		return nil
	case err == nil: // it was closed
		g.Room.forget(g) // after the last take
		return net.ErrClosed
	}
	return err
}

// Close ends the calls of Enter that wait.
func (g *Gate) Close() {
	g.closed.Store(true)
	g.bell.Ring()
}

// onPermit implements permitWaiter.
func (g *Gate) onPermit() { g.bell.Ring() }

// joining guards the room field of the FD that Join is called for.
var joining sync.Mutex // held for a moment

// Join gives a connection of a foreign listener the place in r that the caller
// has taken. If the foreign listener accepts from a limited listener, the
// connection has a place under that limit too. If the connection is closed
// already, Join gives the place back.
func (f *FD) Join(r *Room) {
	if !f.mu.Use() {
		r.Release()
		return
	}
	joining.Lock()
	if f.room == nil {
		f.room = r
	} else {
		f.room = &Room{append(f.room.limits[:len(f.room.limits):len(f.room.limits)], r.limits...)}
	}
	joining.Unlock()
	f.unuse()
}

// AcceptPauses returns how often accepting has paused at a limit.
func AcceptPauses() uint64 { return pauses.count.Load() }

// pauses counts pauses at a limit.
var pauses struct {
	count atomic.Uint64
	lines processor.LogLimit
}

// paused counts a pause. It logs one line a second at most: at the limit each
// closed connection ends a pause, and the next accept begins a new pause.
func paused(at net.Addr) {
	if n := pauses.count.Add(1); pauses.lines.Allow() {
		processor.CurrentLogger().Warn("accepting pauses at the limit of connections",
			zap.Stringer("listener", at), zap.Uint64("pauses", n))
	}
}
