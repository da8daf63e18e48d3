package channel

// Biased reports whether one thread does without the guard.
func (c *Chan[T]) Biased() bool { o := c.owner.Load(); return o != nil && o != shared }

// CanBias reports whether the kernel and the build let channels have an owner.
// It takes a moment to become true.
func CanBias() bool { return canBias() }

// Waiting returns how many senders and receivers are queued.
func (c *Chan[T]) Waiting() (senders, receivers int) {
	c.lock()
	defer c.guard.Unlock()
	for s := c.sendq.front(); s != nil; s = s.Link {
		senders++
	}
	for s := c.recvq.front(); s != nil; s = s.Link {
		receivers++
	}
	return senders, receivers
}

// ReadyToSend and ReadyToReceive report whether the operation would not wait.
func (c *Chan[T]) ReadyToSend() bool    { return c.isReady(kindSend) }
func (c *Chan[T]) ReadyToReceive() bool { return c.isReady(kindRecv) }

func (c *Chan[T]) isReady(k kind) bool {
	c.lock()
	defer c.guard.Unlock()
	return c.isReadyLocked(k)
}

// Stock gives c free waiters; otherwise it has as many as ever waited at once.
func (c *Chan[T]) Stock(n int) {
	c.lock()
	defer c.guard.Unlock()
	for range n {
		c.recycleLocked(&waiter[T]{c: c})
	}
}
