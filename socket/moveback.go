package socket

// A copy from one connection to another takes bytes from the source before it knows whether the sink will have them. What the sink did not
// take, because it failed, was closed or its deadline passed, is put back: the next read of the source returns it first. So
// nothing is lost, the count that the copy returns is also where the source stands, and a copy that a deadline ended can be
// continued by another. It is put back into the process's memory, not into the kernel's: raw use of the fd does not see it.

// leftover is what was put back and not been read yet: never empty. It is apart from the socket, which hardly ever has one.
type leftover struct{ p []byte }

// putBack puts p, which it keeps, in front of what is still to be read. The caller holds the read lock.
func (s *socket) putBack(p []byte) {
	if len(p) == 0 {
		return
	}
	if s.unread != nil {
		p = append(p, s.unread.p...)
	}
	s.unread = &leftover{p}
}

// takeUnread moves bytes that were put back into p. The caller holds the read lock.
func (s *socket) takeUnread(p []byte) int {
	n := copy(p, s.unread.p)
	if s.unread.p = s.unread.p[n:]; len(s.unread.p) == 0 {
		s.unread = nil
	}
	return n
}
