package socket

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/processor"
)

// LimitListener returns l, limited: Accept pauses while n connections that it returned are open, and goes on when one of
// them is closed. What comes meanwhile waits in the kernel's backlog. It is x/net/netutil's LimitListener, for coroutines and goroutines.
//
// A listener of this package is itself limited and returned, so that it still is what it was; another limit may be added to it. A pause
// ends as a wait for a connection does: by Close, by the deadline, with ErrShutdown when the scheduler is ending. A connection counts
// until its fd is closed here; duplicates of it (File, a child process) do not count.
//
// Any other listener is wrapped, and so are its connections. It has a place while it waits for a connection, too. A pause of that one is
// ended only by Close of what LimitListener returned. To limit a tls listener, limit what it listens on.
//
// With n < 1 every Accept fails.
func LimitListener(l net.Listener, n int) net.Listener {
	limit := &connLimit{max: n}
	if own, ok := l.(limitable); ok {
		own.lis().addLimit(limit)
		return l
	}
	return &limitedListener{Listener: l, room: &room{limits: []*connLimit{limit}}}
}

// AcceptPauses returns how often accepting has stopped at the limit of a LimitListener or of Server.MaxConns.
func AcceptPauses() uint64 { return pauses.count.Load() }

// limitable is a listener of this package.
type limitable interface{ lis() *listener }

func (l *listener) lis() *listener { return l }

var errNoConns = errors.New("netco/socket: the listener is limited to fewer than one connection")

// connLimit bounds how many connections are open that were accepted under it.
type connLimit struct {
	max int // constant

	mu      sync.Mutex  // never held across a park or a call
	open    int         // under mu: those accepted, and one for each accept(2) under way
	waiting []forRoomer // under mu: all who have found it full since the last was closed
}

// forRoomer waits for room under a limit.
type forRoomer interface {
	// roomMade wakes it, to look again. Any thread; it does not park.
	roomMade()
}

// room is the limits under which a listener accepts. A place in it, one under each limit, is taken before accept(2), and given back if
// that fails, or when the fd is closed. Constant.
type room struct{ limits []*connLimit }

// take takes a place. If there is none it notes w, which is told when there may be one.
func (r *room) take(w forRoomer) bool {
	for i, l := range r.limits {
		if !l.take(w) {
			giveBack(r.limits[:i])
			return false
		}
	}
	return true
}

// release gives a place back.
func (r *room) release() { giveBack(r.limits) }

func giveBack(limits []*connLimit) {
	for _, l := range limits {
		l.release()
	}
}

// none reports whether there can never be a place.
func (r *room) none() bool {
	for _, l := range r.limits {
		if l.max < 1 {
			return true
		}
	}
	return false
}

// forget forgets who waits no more.
func (r *room) forget(w forRoomer) {
	for _, l := range r.limits {
		l.forget(w)
	}
}

func (l *connLimit) take(w forRoomer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open < l.max {
		l.open++
		return true
	}
	for _, x := range l.waiting {
		if x == w {
			return false
		}
	}
	l.waiting = append(l.waiting, w)
	return false
}

func (l *connLimit) release() {
	l.mu.Lock()
	l.open--
	waiting := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	for _, w := range waiting { // all: one alone might not want it any more
		w.roomMade()
	}
}

func (l *connLimit) forget(w forRoomer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, x := range l.waiting {
		if x == w {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			return
		}
	}
}

// addLimit makes the listener accept under one more limit.
func (l *listener) addLimit(limit *connLimit) {
	for {
		old := l.room.Load()
		limits := []*connLimit{limit}
		if old != nil {
			limits = append(limits, old.limits...)
		}
		if l.room.CompareAndSwap(old, &room{limits}) {
			return
		}
	}
}

// roomMade implements forRoomer: the mark of an edge makes who accepts look again.
func (l *listener) roomMade() { l.s.pd.Announce(processor.Read) }

// awaitRoomLocked waits until there may be room, which was just found to be full. What is announced by an edge meanwhile is not lost: each
// attempt begins with accept(2).
func (l *listener) awaitRoomLocked(full *room) error {
	if full.none() {
		return errNoConns
	}
	if !l.pausing {
		l.pausing = true
		paused(l.Addr())
	}
	v, err := l.s.pd.Wait(l.s.fd, processor.Read, coroutine.ReasonAccept, 0)
	if v != processor.Ready || err != nil {
		full.forget(l)
		return waitError(v, err)
	}
	return nil
}

// pauses counts.
var pauses struct {
	count atomic.Uint64
	told  atomic.Int64 // when the log was, UnixNano
}

// paused counts a pause. The log is told once a second: at the limit each connection that is closed ends one and begins another.
func paused(at net.Addr) {
	n := pauses.count.Add(1)
	told, now := pauses.told.Load(), time.Now().UnixNano()
	if now-told >= int64(time.Second) && pauses.told.CompareAndSwap(told, now) {
		processor.HereLogger().Warn("accepting pauses at the limit of connections",
			zap.Stringer("listener", at), zap.Uint64("pauses", n))
	}
}
