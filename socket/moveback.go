package socket

// A copy from one connection to another takes bytes from the source before it knows whether the sink will have them. What the sink did not
// take, because it failed, was closed or its deadline passed, is put back: the next read of the source returns it first. So
// nothing is lost, the count that the copy returns is also where the source stands, and a copy that a deadline ended can be
// continued by another. It is put back into the process's memory, not into the kernel's: raw use of the fd does not see it.

// putBack puts p, which it keeps, in front of what is still to be read. The caller holds the read lock.
func (s *socket) putBack(p []byte) {
	if len(p) > 0 {
		s.unread = append(p, s.unread...)
	}
}

// takeUnread moves bytes that were put back into p. The caller holds the read lock.
func (s *socket) takeUnread(p []byte) int {
	n := copy(p, s.unread)
	if s.unread = s.unread[n:]; len(s.unread) == 0 {
		s.unread = nil
	}
	return n
}
