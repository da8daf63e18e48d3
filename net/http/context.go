package http

import (
	"context"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
)

// requestContext is a request's context: its response under another type. To
// find out whether the peer has gone costs a read of the connection, and most
// handlers do not ask. So Done and Err start the read. Derived contexts use a
// standard context inside, made at the first call.
type requestContext response

func (rc *requestContext) Deadline() (time.Time, bool) { return rc.c.ctx.Deadline() }
func (rc *requestContext) Done() <-chan struct{}       { return rc.std(true).Done() }
func (rc *requestContext) Err() error                  { return rc.std(true).Err() }

func (rc *requestContext) Value(key any) any {
	if key == LocalAddrContextKey {
		return rc.c.nc.LocalAddr()
	}
	return rc.std(false).Value(key)
}

// std returns the inner, standard context. watch says that the caller wants to
// know when it ends.
func (rc *requestContext) std(watch bool) context.Context {
	rc.ctxMu.Lock()
	defer rc.ctxMu.Unlock()
	if rc.inner == nil {
		rc.inner, rc.cancel = context.WithCancel(rc.c.ctx)
		if rc.ended {
			rc.cancel()
		}
	}
	rc.wanted = rc.wanted || watch
	(*response)(rc).watchLocked()
	return rc.inner
}

// watchLocked starts a read beside the handler, if one is wanted, once the body
// has been read.
func (w *response) watchLocked() {
	if w.wanted && w.bodyRead && !w.watched && !w.ended {
		w.watched = true
		w.c.startRead()
	}
}

// bodyAtEnd notes that the whole body has been read.
func (w *response) bodyAtEnd() {
	w.ctxMu.Lock()
	defer w.ctxMu.Unlock()
	w.bodyRead = true
	w.watchLocked()
}

func (w *response) finishContext() {
	w.ctxMu.Lock()
	defer w.ctxMu.Unlock()
	w.ended = true
	if w.cancel != nil {
		w.cancel()
	}
}

// CloseNotify implements http.CloseNotifier.
func (w *response) CloseNotify() <-chan bool {
	if w.done.Load() {
		panic("net/http: CloseNotify called after ServeHTTP finished")
	}
	gone := make(chan bool, 1)
	context.AfterFunc((*requestContext)(w), func() {
		if !w.done.Load() {
			gone <- true
		}
	})
	return gone
}

// startRead starts a read beside the handler, to find out that the peer has
// gone. It is called only if the handler wants to know, and once the body has
// been read. The bytes that it reads belong to the next request.
func (c *conn) startRead() {
	x := c.work
	x.beside.Add(1)
	read := func() {
		defer x.beside.Done()
		x.in.Peek(x.in.Buffered() + 1)
	}
	c.nc.SetReadDeadline(time.Time{})
	if coroutine.Current() != nil {
		if _, err := netco.GoWith(netco.Spawn{Local: true, Fn: read}); err == nil {
			return
		}
	}
	go read()
}

// stopRead ends the read beside the handler, if there is one, and prevents a
// later one.
func (w *response) stopRead() {
	w.ctxMu.Lock()
	reads := w.watched
	w.watched = true
	w.ctxMu.Unlock()
	if reads {
		w.c.nc.SetReadDeadline(longAgo)
		w.c.work.beside.Wait()
		w.c.nc.SetReadDeadline(time.Time{})
	}
}
