package socket

// FDOf returns the fd of a stream, for tests that ask the kernel about it. It
// stays shared with nobody, as SyscallConn would have it.
func FDOf(c Stream) int { return c.base().s.fd }
