package http

import (
	"context"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
)

// requestContext is a request's context, which is its response under another
// type. Most handlers do not ask whether it is done, and finding out costs a
// read of the connection. So Done and Err begin the read. Derived contexts use
// the standard's context inside it, which the first call makes.
type requestContext response

// Deadline implements context.Context.
func (x *requestContext) Deadline() (time.Time, bool) { return x.c.ctx.Deadline() }

// Done implements context.Context.
func (x *requestContext) Done() <-chan struct{} { return x.std(true).Done() }

// Err implements context.Context.
func (x *requestContext) Err() error { return x.std(true).Err() }

// Value implements context.Context.
func (x *requestContext) Value(key any) any {
	if key == LocalAddrContextKey {
		return x.c.nc.LocalAddr()
	}
	return x.std(false).Value(key)
}

// std returns the standard's context. watch says that its end is of interest.
func (x *requestContext) std(watch bool) context.Context {
	x.ctxMu.Lock()
	defer x.ctxMu.Unlock()
	if x.inner == nil {
		x.inner, x.cancel = context.WithCancel(x.c.ctx)
		if x.ended {
			x.cancel()
		}
	}
	x.wanted = x.wanted || watch
	(*response)(x).watchLocked()
	return x.inner
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

// finishContext ends the context.
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

// startRead begins a read beside the handler, which finds out that the peer has
// gone. It runs only for handlers that want to know, once the body has been
// read. Its bytes belong to the next request.
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

// stopRead ends the read beside the handler, if there is one, and lets none
// begin.
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
