package socket

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/processor"
)

// A coroutine that is to end by force, alone or with its Scheduler, finds that out when it waits. Operations that succeed for ever without a
// wait would let it go on for ever, so one that comes after a burst of them is refused. The socket is none the worse for it: others may go on
// to use it.
//
// pace notices at the end of a burst, when the operation has succeeded, and leaves the count at burst; what comes next looks who asks.

// check reports whether an operation in direction m may be tried: PollDesc.Check, but for that. Under m's lock.
func (s *socket) check(m processor.Mode) processor.Verdict {
	if (m == processor.Read && s.readBurst >= burst || m == processor.Write && s.writeBurst >= burst) && coroutine.Stopping() {
		return processor.Shutdown
	}
	return s.pd.Check(m)
}

// lock takes the read lock to wait for the next request; false means that the connection is closed. If the coroutine is ended in the wait
// for somebody else's Read, the connection ends with it: nobody else serves it.
func (c *ServerConn) lock() bool {
	m := &c.sock().mu
	if m.tryLock(reading) {
		return true
	}
	returned := false
	defer func() {
		if !returned {
			c.end(coroutine.ErrShutdown)
		}
	}()
	open := m.lock(reading)
	returned = true
	return open
}
