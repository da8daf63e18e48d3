package processor

// Withdraw takes fd out of epoll, for which closing it is not enough while it has duplicates. To be called before Unbind.
func (pd *PollDesc) Withdraw(fd int) {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if p := pd.home.Load(); p != nil {
		p.ep.Remove(fd)
	}
	if o := pd.outer.Load(); o != nil {
		o.at.ep.Remove(fd)
	}
}
