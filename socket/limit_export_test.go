package socket

import "net"

// Places returns how many places are taken under the first limit of l.
func Places(l net.Listener) int {
	r := (*room)(nil)
	if own, ok := l.(limitable); ok {
		r = own.lis().room.Load()
	} else {
		r = l.(*limitedListener).room
	}
	limit := r.limits[0]
	limit.mu.Lock()
	defer limit.mu.Unlock()
	return limit.open
}

// WaitForRoom returns how many wait under the first limit of l.
func WaitForRoom(l net.Listener) int {
	limit := l.(limitable).lis().room.Load().limits[0]
	limit.mu.Lock()
	defer limit.mu.Unlock()
	return len(limit.waiting)
}
