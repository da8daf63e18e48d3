package processor

// What others may be told of a PollDesc: any thread, without a lock.

// Waiter returns the id of the coroutine that waits in direction m, or 0 if none does. It may be over by then.
func (pd *PollDesc) Waiter(m Mode) uint64 {
	g := pd.gate(m)
	for {
		w := g.w.Load()
		if w == nil || w == readyW || w.Coroutine() == nil {
			return 0
		}
		id := w.Coroutine().ID()
		// The coroutine's memory may be another's by now. If its Waiter is still there, under the same id, it was this one that waited.
		if g.w.Load() == w && w.Coroutine().ID() == id {
			return id
		}
	}
}

// Watched reports whether a Watch waits for the fd, and no coroutine. It may be over by then.
func (pd *PollDesc) Watched() bool { return pd.watched() }

// OutsidePollDescs calls f for the fds of the group that only ordinary
// goroutines have waited for, from any thread, until it returns false. It may
// miss those that come or go meanwhile.
func (g *Group) OutsidePollDescs(f func(*PollDesc) bool) {
	more := true
	eachOutside(g, func(pd *PollDesc) {
		if more && pd.home.Load() == nil {
			more = f(pd)
		}
	})
}
