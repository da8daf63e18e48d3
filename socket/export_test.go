package socket

// FD returns the fd, for tests that ask the kernel about it.
func (c *TCPConn) FD() int { return c.s.fd }

// FDMutex is an fdMutex whose methods tests may call.
type FDMutex struct{ m fdMutex }

// The directions.
const (
	Reading = reading
	Writing = writing
)

func (x *FDMutex) Lock(s side) bool          { return x.m.lock(s) }
func (x *FDMutex) Unlock(s side) (last bool) { return x.m.unlock(s) }
func (x *FDMutex) Use() bool                 { return x.m.use() }
func (x *FDMutex) Unuse() (last bool)        { return x.m.unuse() }
func (x *FDMutex) Close() bool               { return x.m.close() }

// Idle reports whether nobody holds, uses or waits for it.
func (x *FDMutex) Idle() bool {
	return x.m.state.Load()&^mutexClosed == 0 && (x.m.queue == nil || *x.m.queue == [2]waitList{})
}
