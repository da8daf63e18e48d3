package http

import (
	"context"
	"errors"
	"net"
	stdhttp "net/http"
	"net/http/httptrace"
	"slices"
	stdsync "sync"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/beside"
	"github.com/netco-go/netco/sync"
)

// pool is the connections of a Transport, as far as they are not in use, and
// those who wait for one.
type pool struct {
	mu      stdsync.Mutex // never held across a wait or a user's function
	closing bool          // what becomes idle is closed: CloseIdleConnections was the last call
	hosts   map[connKey]*host
	idle    int         // in all hosts
	dials   []*want     // whose dial is under way
	sweeper *time.Timer // nil until it is first needed
	sweeps  bool        // sweep will be called
}

// connKey is what the requests of one connection have in common.
type connKey struct{ scheme, addr string }

// host is the connections for one key. Under the pool's mu.
type host struct {
	idle    []*persistConn // the one used last is at the end
	waiting []*want        // for a connection, in order
	dialers []*want        // those of them that may not dial yet, for MaxConnsPerHost
	open    int            // with those being dialled
}

// want is a request that waits for a connection: one that becomes idle, or its
// own dial's.
type want struct {
	key    connKey
	ctx    context.Context // of the dial
	cancel context.CancelFunc
	site   uintptr
	done   bool // under the pool's mu: served, failed or abandoned
	got    sync.Future[*persistConn]
}

func keyOf(req *stdhttp.Request) connKey {
	port := req.URL.Port()
	if port == "" {
		port = "80"
		if req.URL.Scheme == "https" {
			port = "443"
		}
	}
	return connKey{req.URL.Scheme, net.JoinHostPort(req.URL.Hostname(), port)}
}

func (p *pool) hostLocked(key connKey) *host {
	h := p.hosts[key]
	if h == nil {
		if p.hosts == nil {
			p.hosts = map[connKey]*host{}
		}
		h = new(host)
		p.hosts[key] = h
	}
	return h
}

// forgetLocked forgets a host of which nothing is known.
func (p *pool) forgetLocked(key connKey, h *host) {
	if len(h.idle)+len(h.waiting)+len(h.dialers)+h.open == 0 {
		delete(p.hosts, key)
	}
}

// getConn returns a connection, idle or new. Parks.
func (t *Transport) getConn(x *trip, key connKey) (*persistConn, error) {
	if f := x.trace.GetConn; f != nil {
		f(key.addr)
	}
	pc := t.takeIdle(key)
	if pc == nil {
		var err error
		if pc, err = t.awaitConn(x, key); err != nil {
			return nil, err
		}
	}
	if f := x.trace.GotConn; f != nil {
		info := httptrace.GotConnInfo{Conn: pc.conn, Reused: pc.reused}
		if !pc.idleAt.IsZero() {
			info.WasIdle, info.IdleTime = true, time.Since(pc.idleAt)
		}
		f(info)
	}
	pc.idleAt = time.Time{}
	if err := x.cancelled(); err != nil {
		t.putOrClose(pc)
		return nil, waitingError(err)
	}
	return pc, nil
}

// takeIdle returns an idle connection that is as it should be, or nil.
func (t *Transport) takeIdle(key connKey) *persistConn {
	if t.DisableKeepAlives {
		return nil
	}
	for {
		t.pool.mu.Lock()
		t.pool.closing = false
		h := t.pool.hosts[key]
		if h == nil || len(h.idle) == 0 {
			t.pool.mu.Unlock()
			return nil
		}
		pc := h.idle[len(h.idle)-1]
		t.removeIdleLocked(h, len(h.idle)-1)
		t.pool.mu.Unlock()
		if !t.expired(pc, time.Now()) && !pc.spoilt() {
			return pc
		}
		pc.close()
	}
}

func (t *Transport) removeIdleLocked(h *host, i int) {
	h.idle = slices.Delete(h.idle, i, i+1)
	t.pool.idle--
}

// expired reports whether an idle connection has been so for too long. The
// clock is the wall's, which goes on while a machine sleeps.
func (t *Transport) expired(pc *persistConn, now time.Time) bool {
	return t.IdleConnTimeout > 0 && now.Round(0).Sub(pc.idleAt.Round(0)) >= t.IdleConnTimeout
}

// awaitConn waits for a connection.
func (t *Transport) awaitConn(x *trip, key connKey) (*persistConn, error) {
	w := &want{key: key, site: asm.CallerPC()}
	// A dial goes on when its request is cancelled: the next one may use it.
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(x.ctx))
	t.pool.mu.Lock()
	h := t.pool.hostLocked(key)
	if !t.DisableKeepAlives {
		h.waiting = append(h.waiting, w)
	}
	mayDial := t.MaxConnsPerHost <= 0 || h.open < t.MaxConnsPerHost
	if mayDial {
		h.open++
	} else {
		h.dialers = append(h.dialers, w)
	}
	t.pool.mu.Unlock()
	if mayDial {
		t.startDial(w)
	}
	pc, err := w.got.GetContext(x.ctx)
	if err != nil && !t.leave(w) { // it has been served, or the dial has failed
		pc, err = w.got.Get()
	}
	if cancelled := x.cancelled(); err != nil && cancelled != nil {
		err = waitingError(cancelled)
	}
	return pc, err
}

// waitingError is the error of a request cancelled while it waits here.
func waitingError(err error) error {
	if err == errRequestCanceled {
		return errRequestCanceledConn
	}
	return err
}

// leave ends the wait of w, and reports whether it did wait: w.got is not
// completed then.
func (t *Transport) leave(w *want) bool {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	return t.leaveLocked(w)
}

func (t *Transport) leaveLocked(w *want) bool {
	if w.done {
		return false
	}
	w.done = true
	h := t.pool.hostLocked(w.key)
	h.waiting = without(h.waiting, w)
	h.dialers = without(h.dialers, w)
	return true
}

// without returns all but w, whose references are gone.
func without(all []*want, w *want) []*want {
	if i := slices.Index(all, w); i >= 0 {
		all = slices.Delete(all, i, i+1)
	}
	return all
}

// startDial dials for w, beside its caller.
func (t *Transport) startDial(w *want) {
	t.pool.mu.Lock()
	t.pool.dials = append(t.pool.dials, w)
	t.pool.mu.Unlock()
	beside.Go(func() {
		pc, err := (*persistConn)(nil), errDialEnded
		defer func() { t.endDial(w, pc, err) }()
		pc, err = t.dialConn(w)
	}, func() {}, w.site)
}

var errDialEnded = errors.New("net/http: Transport's dial function did not return")

func (t *Transport) endDial(w *want, pc *persistConn, err error) {
	t.pool.mu.Lock()
	t.pool.dials = without(t.pool.dials, w)
	served := t.leaveLocked(w)
	t.pool.mu.Unlock()
	w.cancel()
	switch {
	case err != nil:
		t.dropped(w.key)
		if served {
			w.got.Fail(err)
		}
	case served:
		w.got.Set(pc)
	default:
		t.putOrClose(pc)
	}
}

// dropped counts a connection that is closed, or was not made, which may let
// another be dialled.
func (t *Transport) dropped(key connKey) {
	t.pool.mu.Lock()
	h := t.pool.hostLocked(key)
	if len(h.dialers) > 0 {
		w := h.dialers[0]
		h.dialers = without(h.dialers, w)
		t.pool.mu.Unlock()
		t.startDial(w)
		return
	}
	h.open--
	t.pool.forgetLocked(key, h)
	t.pool.mu.Unlock()
}

// Why a connection is not kept.
var (
	errKeepAlivesDisabled = errors.New("http: putIdleConn: keep alives disabled")
	errConnBroken         = errors.New("http: putIdleConn: connection is in bad state")
	errCloseIdle          = errors.New("http: putIdleConn: CloseIdleConnections was called")
	errTooManyIdleHost    = errors.New("http: putIdleConn: too many idle connections for host")
)

func (t *Transport) putOrClose(pc *persistConn) {
	if t.putIdle(pc) != nil {
		pc.close()
	}
}

// putIdle gives a connection to a request that waits, or keeps it for the next
// one. An error says why it is not kept.
func (t *Transport) putIdle(pc *persistConn) error {
	switch {
	case t.DisableKeepAlives || t.MaxIdleConnsPerHost < 0:
		return errKeepAlivesDisabled
	case pc.closed.Load():
		return errConnBroken
	}
	pc.reused = true
	limit := t.MaxIdleConnsPerHost
	if limit == 0 {
		limit = stdhttp.DefaultMaxIdleConnsPerHost
	}
	t.pool.mu.Lock()
	h := t.pool.hostLocked(pc.key)
	if len(h.waiting) > 0 {
		w := h.waiting[0]
		t.leaveLocked(w)
		t.pool.mu.Unlock()
		w.got.Set(pc)
		return nil
	}
	if t.pool.closing || len(h.idle) >= limit {
		t.pool.forgetLocked(pc.key, h)
		t.pool.mu.Unlock()
		if len(h.idle) >= limit {
			return errTooManyIdleHost
		}
		return errCloseIdle
	}
	pc.idleAt = time.Now()
	pc.releaseBuffer()
	h.idle = append(h.idle, pc)
	t.pool.idle++
	var oldest *persistConn
	if t.MaxIdleConns > 0 && t.pool.idle > t.MaxIdleConns {
		oldest = t.oldestLocked()
	}
	if !t.pool.sweeps {
		t.sweepLaterLocked()
	}
	t.pool.mu.Unlock()
	if oldest != nil {
		oldest.close()
	}
	return nil
}

// oldestLocked removes the connection that has been idle for longest.
func (t *Transport) oldestLocked() (oldest *persistConn) {
	var of *host
	for _, h := range t.pool.hosts {
		if len(h.idle) > 0 && (oldest == nil || h.idle[0].idleAt.Before(oldest.idleAt)) {
			oldest, of = h.idle[0], h
		}
	}
	t.removeIdleLocked(of, 0)
	return oldest
}

// closeIdle closes the idle connections, and ends the dials that no request
// waits for.
func (t *Transport) closeIdle() {
	t.pool.mu.Lock()
	t.pool.closing = true
	closed := t.removeLocked(func(*persistConn) bool { return true })
	for _, w := range t.pool.dials {
		if w.done {
			w.cancel()
		}
	}
	t.pool.mu.Unlock()
	for _, pc := range closed {
		pc.close()
	}
}

// removeLocked removes the idle connections that are to go.
func (t *Transport) removeLocked(goes func(*persistConn) bool) (gone []*persistConn) {
	for key, h := range t.pool.hosts {
		for i := len(h.idle) - 1; i >= 0; i-- {
			if pc := h.idle[i]; goes(pc) {
				gone = append(gone, pc)
				t.removeIdleLocked(h, i)
			}
		}
		t.pool.forgetLocked(key, h)
	}
	return gone
}

// sweepEvery is how long a connection may be idle after its server has closed
// it.
const sweepEvery = time.Second

// sweepLaterLocked has sweep called, while there are idle connections.
func (t *Transport) sweepLaterLocked() {
	if t.pool.sweeps = t.pool.idle > 0; !t.pool.sweeps {
		return
	}
	next := sweepEvery
	if t.IdleConnTimeout > 0 {
		next = min(next, t.IdleConnTimeout)
	}
	if t.pool.sweeper == nil {
		t.pool.sweeper = time.AfterFunc(next, t.sweep)
	} else {
		t.pool.sweeper.Reset(next)
	}
}

// sweep closes the idle connections that have been so for too long, and those
// that their servers have closed.
func (t *Transport) sweep() {
	now := time.Now()
	t.pool.mu.Lock()
	gone := t.removeLocked(func(pc *persistConn) bool {
		return t.expired(pc, now) || pc.spoilt()
	})
	t.sweepLaterLocked()
	t.pool.mu.Unlock()
	for _, pc := range gone {
		pc.close()
	}
}
