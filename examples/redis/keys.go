package main

// count calls f with each of the keys that exists, its shard locked, and
// answers how many there were.
func (c *client) count(keys [][]byte, f func(s *shard, e *entry)) {
	db := c.s.db
	n := int64(0)
	db.inSteps(keys, 1, c.pause, func(part [][]byte) {
		for _, key := range part {
			s := db.shard(key)
			if e := s.findLocked(key); e != nil {
				n++
				f(s, e)
			}
		}
	})
	c.appendInt(n)
}

func del(c *client, args [][]byte)    { c.count(args[1:], (*shard).deleteLocked) }
func exists(c *client, args [][]byte) { c.count(args[1:], func(*shard, *entry) {}) }

func flush(c *client, args [][]byte) {
	if len(args) == 2 && !is(args[1], "async") && !is(args[1], "sync") {
		c.appendError(errSyntax)
		return
	}
	c.s.db.flush()
	c.appendOK()
}

// expire is EXPIRE and PEXPIRE. A time that is not in the future deletes the
// key.
func expire(c *client, args [][]byte) {
	n, ok := integer(args[2])
	if !ok {
		c.appendError(errNotInt)
		return
	}
	at, ok := after(n, is(args[0], "expire"))
	if !ok {
		c.badExpire(args)
		return
	}
	c.count(args[1:2], func(s *shard, e *entry) {
		if n <= 0 {
			s.deleteLocked(e)
		} else {
			s.setDeadlineLocked(e, at)
		}
	})
}

// ttl is TTL and PTTL: -2 for no such key, -1 for one without a deadline.
func ttl(c *client, args [][]byte) {
	s := c.s.db.lock(args[1])
	left := int64(-2)
	if e := s.findLocked(args[1]); e != nil {
		if left = -1; e.deadline != 0 {
			left = max(0, e.deadline-now())
		}
	}
	s.mu.Unlock()
	if left > 0 && is(args[0], "ttl") {
		left = (left + 500) / 1000
	}
	c.appendInt(left)
}

func persist(c *client, args [][]byte) {
	s := c.s.db.lock(args[1])
	n := int64(0)
	if e := s.findLocked(args[1]); e != nil && e.deadline != 0 {
		s.setDeadlineLocked(e, 0)
		n = 1
	}
	s.mu.Unlock()
	c.appendInt(n)
}
