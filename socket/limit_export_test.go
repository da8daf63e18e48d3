package socket

import "net"

// Places returns how many places are taken under the first limit of l.
func Places(l net.Listener) (open int) {
	open, _ = underFirstLimit(l)
	return open
}

// WaitForRoom returns how many wait under the first limit of l.
func WaitForRoom(l net.Listener) (waiting int) {
	_, waiting = underFirstLimit(l)
	return waiting
}

// underFirstLimit counts nothing for a listener that has no limit yet: a
// Server's has one when Serve has begun.
func underFirstLimit(l net.Listener) (open, waiting int) {
	var r *room
	if own, ok := l.(limitable); ok {
		r = own.lis().room.Load()
	} else {
		r = l.(*limitedListener).room
	}
	if r == nil {
		return 0, 0
	}
	limit := r.limits[0]
	limit.mu.Lock()
	defer limit.mu.Unlock()
	return limit.open, len(limit.waiting)
}

// Limited reports whether l has a limit itself.
func Limited(l net.Listener) bool {
	if own, ok := l.(limitable); ok {
		return own.lis().room.Load() != nil
	}
	_, ok := l.(*limitedListener)
	return ok
}
