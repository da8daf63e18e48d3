package processor

// Announce leaves the mark of an edge in direction m and wakes who waits, as an event does: for what is waited for beside the fd. Who
// clears the mark before he looks whether that has come misses nothing. Any thread.
func (pd *PollDesc) Announce(m Mode) { pd.gate(m).open(nil) }
