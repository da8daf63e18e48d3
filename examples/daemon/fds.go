package main

import (
	"fmt"
	"math"
	"syscall"

	"go.uber.org/zap"
)

// reservedFDs are for everything but connections: epoll, listeners, logs, and
// above all the admin address, which could not be reached any more when
// connections have taken the last fd.
const reservedFDs = 128

// fitFDs lowers -max-conns, or sets it if it is 0, to what the limit of open
// files leaves room for. The Go runtime has raised the soft limit to the hard
// one by now.
func (c *config) fitFDs(log *zap.Logger) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	room := int(min(l.Cur, math.MaxInt32)) - reservedFDs
	switch {
	case room < 1:
		return fmt.Errorf("RLIMIT_NOFILE is %d, of which all but connections need %d", l.Cur,
			reservedFDs)
	case c.maxConns == 0:
		c.maxConns = room
	case c.maxConns > room:
		log.Warn("-max-conns is more than there are fds for, and is lowered",
			zap.Int("conns", c.maxConns), zap.Int("lowered", room), zap.Uint64("fds", l.Cur))
		c.maxConns = room
	}
	return nil
}
