package socket

import (
	"net"
	"sync"
)

// FD returns the fd, for tests that ask the kernel about it.
func (c *TCPConn) FD() int { return c.s.fd }

// FDMutex is an fdMutex whose methods tests may call. The first one opens it.
type FDMutex struct {
	m    fdMutex
	once sync.Once
}

func (x *FDMutex) opened() *fdMutex {
	x.once.Do(x.m.open)
	return &x.m
}

// The directions.
const (
	Reading = reading
	Writing = writing
)

func (x *FDMutex) Lock(s side) bool          { return x.opened().lock(s) }
func (x *FDMutex) Unlock(s side) (last bool) { return x.opened().unlock(s) }
func (x *FDMutex) Use() bool                 { return x.opened().use() }
func (x *FDMutex) Unuse() (last bool)        { return x.opened().unuse() }
func (x *FDMutex) Close() bool               { return x.opened().close() > 0 }

// Idle reports whether nobody holds, uses or waits for it.
func (x *FDMutex) Idle() bool {
	return x.m.state.Load()&^mutexOpen == 0 && (x.m.queue == nil || *x.m.queue == [2]waitList{})
}

// FileName is what Inspect tells of a File in place of an address.
func FileName(name string) net.Addr { return fileName(name) }
