package http

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	stdhttp "net/http"
	"slices"
	stdsync "sync"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/beside"
	"github.com/netco-go/netco/sync"
)

// pool holds the idle connections of a Transport, and the requests that wait
// for a connection.
type pool struct {
	mu      stdsync.Mutex   // never held across a wait or a user's function
	closing bool            // CloseIdleConnections was the last call: keep no connection
	hosts   map[string]host // by address
	idle    int             // in all hosts
	sweeps  bool            // a call of sweep is due
}

// host is the pool's state for one key. Under the pool's mu.
type host struct {
	idle    []*persistConn // the most recently used is at the end
	waiting *list.List     // of *sync.Future[*persistConn]; nil or empty: none
}

func (p *pool) setLocked(key string, h host) {
	switch {
	case len(h.idle) == 0 && (h.waiting == nil || h.waiting.Len() == 0):
		delete(p.hosts, key)
		return
	case p.hosts == nil:
		p.hosts = map[string]host{}
	}
	p.hosts[key] = h
}

// takeIdle returns a usable idle connection, or nil.
func (t *Transport) takeIdle(key string) *persistConn {
	for {
		var pc *persistConn
		t.pool.mu.Lock()
		t.pool.closing = false
		if n := len(t.pool.hosts[key].idle); n > 0 {
			pc = t.pool.removeIdleLocked(key, n-1)
		}
		t.pool.mu.Unlock()
		if pc == nil || !t.expired(pc, time.Now()) && !pc.spoilt() {
			return pc
		}
		pc.close()
	}
}

func (p *pool) removeIdleLocked(key string, i int) *persistConn {
	h := p.hosts[key]
	pc := h.idle[i]
	h.idle = slices.Delete(h.idle, i, i+1)
	p.setLocked(key, h)
	p.idle--
	return pc
}

// expired reports whether a connection has been idle for too long. It reads the
// wall clock, which goes on while the machine sleeps.
func (t *Transport) expired(pc *persistConn, now time.Time) bool {
	return t.IdleConnTimeout > 0 && now.Round(0).Sub(pc.idleAt.Round(0)) >= t.IdleConnTimeout
}

// getConn returns an idle connection, or else dials and waits for the first of
// two: its own connection, or one that becomes idle earlier. In the latter case
// the dial goes on, for the next request. Parks.
func (t *Transport) getConn(x *trip, key string) (*persistConn, error) {
	if err := x.cancelled(); err != nil {
		return nil, err
	}
	if pc := t.takeIdle(key); pc != nil {
		return pc, nil
	}
	got := sync.NewFuture[*persistConn]()
	t.pool.mu.Lock()
	h := t.pool.hosts[key]
	if h.waiting == nil {
		h.waiting = list.New()
	}
	waiting, place := h.waiting, h.waiting.PushBack(got)
	t.pool.setLocked(key, h)
	t.pool.mu.Unlock()
	beside.Go(func() {
		pc, err := (*persistConn)(nil), errDialEnded
		defer func() {
			if err != nil {
				got.Fail(err)
			} else if !got.Set(pc) {
				t.putOrClose(pc)
			}
		}()
		pc, err = t.dialConn(context.WithoutCancel(x.ctx), key)
	}, func() {}, asm.CallerPC())
	pc, err := got.GetContext(x.ctx)
	if err != nil && !got.Fail(err) { // the request has a connection, or the dial has failed
		pc, err = got.Get()
	}
	t.pool.mu.Lock()
	waiting.Remove(place) // unless putIdle has
	t.pool.setLocked(key, t.pool.hosts[key])
	t.pool.mu.Unlock()
	if cancelled := x.cancelled(); cancelled != nil {
		if err == nil {
			t.putOrClose(pc)
		}
		return nil, cancelled
	}
	return pc, err
}

var errDialEnded = errors.New("net/http: Transport's dial function did not return")

func (t *Transport) putOrClose(pc *persistConn) {
	if surplus := t.putIdle(pc); surplus != nil {
		surplus.close()
	}
}

// putIdle gives a connection to a waiting request, or keeps it for the next
// request. If a connection is to be closed then, pc or another, putIdle returns
// it.
func (t *Transport) putIdle(pc *persistConn) (surplus *persistConn) {
	if t.DisableKeepAlives || t.MaxIdleConnsPerHost < 0 || pc.closed.Load() {
		return pc
	}
	pc.reused = true
	limit := cmp.Or(t.MaxIdleConnsPerHost, stdhttp.DefaultMaxIdleConnsPerHost)
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	h := t.pool.hosts[pc.key]
	for h.waiting != nil && h.waiting.Len() > 0 {
		w := h.waiting.Remove(h.waiting.Front()).(*sync.Future[*persistConn])
		if w.Set(pc) {
			return nil
		}
	}
	if t.pool.closing || len(h.idle) >= limit {
		return pc
	}
	pc.idleAt = time.Now()
	pc.releaseBuffer()
	h.idle = append(h.idle, pc)
	t.pool.setLocked(pc.key, h)
	t.pool.idle++
	if t.MaxIdleConns > 0 && t.pool.idle > t.MaxIdleConns {
		surplus = t.pool.oldestLocked()
	}
	t.sweepLaterLocked()
	return surplus
}

// oldestLocked removes the connection that has been idle for longest.
func (p *pool) oldestLocked() (oldest *persistConn) {
	for _, h := range p.hosts {
		if len(h.idle) > 0 && (oldest == nil || h.idle[0].idleAt.Before(oldest.idleAt)) {
			oldest = h.idle[0]
		}
	}
	return p.removeIdleLocked(oldest.key, 0)
}

// closeIdle closes the idle connections that goes selects.
func (t *Transport) closeIdle(goes func(*persistConn) bool) {
	var gone []*persistConn
	t.pool.mu.Lock()
	for key, h := range t.pool.hosts {
		h.idle = slices.DeleteFunc(h.idle, func(pc *persistConn) bool {
			if goes(pc) {
				gone = append(gone, pc)
				return true
			}
			return false
		})
		t.pool.setLocked(key, h)
	}
	t.pool.idle -= len(gone)
	t.pool.mu.Unlock()
	for _, pc := range gone {
		pc.close()
	}
}

// sweepEvery is how long an idle connection may stay open after its server has
// closed it.
const sweepEvery = time.Second

// sweepLaterLocked schedules a call of sweep if there are idle connections.
func (t *Transport) sweepLaterLocked() {
	if t.pool.sweeps || t.pool.idle == 0 {
		return
	}
	t.pool.sweeps = true
	time.AfterFunc(min(sweepEvery, cmp.Or(max(0, t.IdleConnTimeout), sweepEvery)), t.sweep)
}

// sweep closes connections that have been idle for too long, and those that
// their servers have closed.
func (t *Transport) sweep() {
	now := time.Now()
	t.closeIdle(func(pc *persistConn) bool { return t.expired(pc, now) || pc.spoilt() })
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	t.pool.sweeps = false
	t.sweepLaterLocked()
}
