package socket

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/processor"
)

// LimitListener returns l, limited: Accept pauses while n connections that it
// returned are open, and goes on when one of them is closed. What comes
// meanwhile waits in the kernel's backlog. It is x/net/netutil's LimitListener,
// for coroutines and goroutines.
//
// A listener of this package is itself limited and returned, so that it still
// is what it was; another limit may be added to it. A pause ends as a wait for
// a connection does: by Close, by the deadline, with ErrShutdown when the
// scheduler is ending. A connection counts until its fd is closed here;
// duplicates of it (File, a child process) do not count.
//
// Any other listener is wrapped, and so are its connections. It has a place
// while it waits for a connection, too. A pause of that one is ended only by
// Close of what LimitListener returned. To limit a tls listener, limit what it
// listens on.
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

// acceptPauses returns how often accepting has stopped at the limit of a
// LimitListener or of Server.MaxConns.
func acceptPauses() uint64 { return pauses.count.Load() }

// limitable is a listener of this package.
type limitable interface{ lis() *listener }

func (l *listener) lis() *listener { return l }

var errNoConns = errors.New("netco/socket: the listener is limited to fewer than one connection")

// connLimit bounds how many connections are open that were accepted under it.
type connLimit struct {
	max int // constant

	mu   sync.Mutex // never held across a park or a call
	open int        // under mu: those accepted, and one for each accept(2) under way
	// Under mu: those that have found it full since a permit was last returned.
	waiting []permitWaiter
}

// permitWaiter waits for a permit.
type permitWaiter interface {
	// onPermit wakes it, to try again. Any thread; it does not park.
	onPermit()
}

// room is the limits under which a listener accepts. A place in it, one under
// each limit, is taken before accept(2), and given back if that fails, or when
// the fd is closed. Constant.
type room struct{ limits []*connLimit }

// take takes a place. If there is none it registers w, whose onPermit is called
// when there may be one.
func (r *room) take(w permitWaiter) bool {
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

// forget unregisters w, which waits no more.
func (r *room) forget(w permitWaiter) {
	for _, l := range r.limits {
		l.forget(w)
	}
}

func (l *connLimit) take(w permitWaiter) bool {
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
		w.onPermit()
	}
}

func (l *connLimit) forget(w permitWaiter) {
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

// onPermit implements permitWaiter: an edge makes a caller of Accept try again.
func (l *listener) onPermit() { l.s.pd.MarkReady(processor.Read) }

// awaitRoomLocked waits until there may be a permit of full, which had none. An
// edge meanwhile is not lost: each attempt begins with accept(2).
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
		return waitError(v, err)
	}
	return nil
}

// pauses counts pauses at a limit.
var pauses struct {
	count  atomic.Uint64
	logged atomic.Int64 // time of the last line, UnixNano
}

// paused counts a pause. It logs one line a second at most: at the limit each
// connection that is closed ends one pause and begins another.
func paused(at net.Addr) {
	n := pauses.count.Add(1)
	logged, now := pauses.logged.Load(), time.Now().UnixNano()
	if now-logged >= int64(time.Second) && pauses.logged.CompareAndSwap(logged, now) {
		processor.CurrentLogger().Warn("accepting pauses at the limit of connections",
			zap.Stringer("listener", at), zap.Uint64("pauses", n))
	}
}

// limitedListener is a listener of another package under a limit.
type limitedListener struct {
	net.Listener
	room *room

	mu      sync.Mutex // never held across a park or a call
	closed  bool       // under mu
	waiting []*roomBell
}

// roomBell is one Accept that waits for room.
type roomBell struct {
	bell
	closed atomic.Bool
}

func (w *roomBell) onPermit() { w.ring() }

// Accept waits for room, and then for the next connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	if err := l.awaitRoom(); err != nil {
		addr := l.Addr()
		return nil, &net.OpError{Op: "accept", Net: addr.Network(), Addr: addr, Err: err}
	}
	accepted := false
	defer func() {
		if !accepted { // it failed, panicked or was unwound
			l.room.release()
		}
	}()
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	accepted = true
	if own, ok := c.(Stream); ok {
		own.base().s.join(l.room)
		return c, nil
	}
	return newLimitedConn(c, l.room), nil
}

// joining guards socket.room of what join is called for.
var joining sync.Mutex // held for a moment

// join gives a connection that another's listener has returned a place in r,
// which is taken: beside those that it has where that listener accepts from a
// limited one. If the connection is closed by now the place is given back.
func (s *socket) join(r *room) {
	if !s.mu.use() {
		r.release()
		return
	}
	joining.Lock()
	if s.room == nil {
		s.room = r
	} else {
		s.room = &room{append(s.room.limits[:len(s.room.limits):len(s.room.limits)], r.limits...)}
	}
	joining.Unlock()
	s.unuse()
}

// awaitRoom takes a place.
func (l *limitedListener) awaitRoom() error {
	if l.room.none() {
		return errNoConns
	}
	w := new(roomBell)
	if l.room.take(w) {
		return nil
	}
	defer l.room.forget(w)
	if !l.enter(w) {
		return net.ErrClosed
	}
	defer l.leave(w)
	paused(l.Addr())
	taken := false
	err := w.wait(coroutine.ReasonAccept, 0, func() bool {
		taken = taken || l.room.take(w)
		return taken || w.closed.Load()
	})
	switch {
	case taken:
		return nil
	case err != nil:
		return err
	}
	return net.ErrClosed
}

func (l *limitedListener) enter(w *roomBell) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.waiting = append(l.waiting, w)
	}
	return !l.closed
}

func (l *limitedListener) leave(w *roomBell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, x := range l.waiting {
		if x == w {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			return
		}
	}
}

// Close ends the Accepts that wait, and closes what is limited.
func (l *limitedListener) Close() error {
	l.mu.Lock()
	l.closed = true
	waiting := append([]*roomBell(nil), l.waiting...)
	l.mu.Unlock()
	for _, w := range waiting {
		w.closed.Store(true)
		w.ring()
	}
	return l.Listener.Close()
}

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn
	place *place
}

// place is a place in a room. What the program has lost without a Close gives
// it back when it is collected.
type place struct {
	room *room
	once sync.Once
}

func (p *place) release() { p.once.Do(p.room.release) }

func newLimitedConn(c net.Conn, r *room) *limitedConn {
	l := &limitedConn{c, &place{room: r}}
	runtime.AddCleanup(l, (*place).release, l.place)
	return l
}

// Close closes the connection.
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.place.release()
	return err
}
