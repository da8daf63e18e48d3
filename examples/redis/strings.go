package main

import (
	"bytes"
	"math"
	"strconv"
)

func get(c *client, args [][]byte) {
	s := c.s.db.lock(args[1])
	var value []byte
	if e := s.findLocked(args[1]); e != nil {
		value = e.value
	}
	s.mu.Unlock()
	c.appendBulk(value)
}

// keep copies a value out of the request. It is not nil, which would be no
// value.
func keep(p []byte) []byte {
	value := make([]byte, len(p))
	copy(value, p)
	return value
}

// setOptions are what may follow SET key value.
type setOptions struct {
	deadline int64
	keepTTL  bool
	nx, xx   bool // only if there is none, one
}

func set(c *client, args [][]byte) {
	var o setOptions
	if len(args) > 3 {
		var ok bool
		if o, ok = c.setOptions(args); !ok {
			return
		}
	}
	c.set(args[1], args[2], o)
}

// set does SET and answers it.
func (c *client) set(key, value []byte, o setOptions) (done bool) {
	kept := keep(value)
	s := c.s.db.lock(key)
	e := s.findLocked(key)
	if o.nx && e != nil || o.xx && e == nil {
		s.mu.Unlock()
		c.appendNil()
		return false
	}
	e = s.setLocked(e, key, kept)
	if !o.keepTTL && e.deadline != o.deadline {
		s.setDeadlineLocked(e, o.deadline)
	}
	s.mu.Unlock()
	c.appendOK()
	return true
}

// setOptions reads them; false means that it has answered with what is wrong.
func (c *client) setOptions(args [][]byte) (o setOptions, ok bool) {
	for i := 3; i < len(args); i++ {
		switch arg := args[i]; {
		case is(arg, "nx") && !o.xx:
			o.nx = true
		case is(arg, "xx") && !o.nx:
			o.xx = true
		case is(arg, "keepttl") && o.deadline == 0:
			o.keepTTL = true
		case (is(arg, "ex") || is(arg, "px")) && o.deadline == 0 && !o.keepTTL && i+1 < len(args):
			i++
			if o.deadline, ok = c.deadline(args, args[i], is(arg, "ex")); !ok {
				return o, false
			}
		default:
			c.appendError(errSyntax)
			return o, false
		}
	}
	return o, true
}

// deadline reads a time to live that must be positive; false means that it has
// answered with what is wrong.
func (c *client) deadline(args [][]byte, arg []byte, seconds bool) (int64, bool) {
	n, ok := integer(arg)
	if !ok {
		c.appendError(errNotInt)
		return 0, false
	}
	at, ok := after(n, seconds)
	if !ok || n <= 0 {
		c.badExpire(args)
		return 0, false
	}
	return at, true
}

// after returns the time n seconds or milliseconds from now, in ms, unless
// there is no such time.
func after(n int64, seconds bool) (int64, bool) {
	if seconds {
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return 0, false
		}
		n *= 1000
	}
	now := now()
	if n > math.MaxInt64-now {
		return 0, false
	}
	return now + n, true
}

func setEX(c *client, args [][]byte) {
	if at, ok := c.deadline(args, args[2], is(args[0], "setex")); ok {
		c.set(args[1], args[3], setOptions{deadline: at})
	}
}

func setNX(c *client, args [][]byte) {
	at := len(c.out)
	done := c.set(args[1], args[2], setOptions{nx: true})
	c.out = c.out[:at]
	if done {
		c.appendInt(1)
	} else {
		c.appendInt(0)
	}
}

// mget answers with what the keys held at one moment, if they are no more than
// maxStep.
func mget(c *client, args [][]byte) {
	keys := args[1:]
	c.vals = c.vals[:0]
	db := c.s.db
	db.inSteps(keys, 1, c.pause, func(part [][]byte) {
		for _, key := range part {
			if e := db.shard(key).findLocked(key); e != nil {
				c.vals = append(c.vals, e.value)
			} else {
				c.vals = append(c.vals, nil)
			}
		}
	})
	c.appendSize(len(keys))
	for _, value := range c.vals {
		if c.appendBulk(value); c.err != nil {
			break
		}
	}
	clear(c.vals)
}

func mset(c *client, args [][]byte) {
	pairs := args[1:]
	if len(pairs)%2 != 0 {
		c.wrongArgs("mset")
		return
	}
	db := c.s.db
	db.inSteps(pairs, 2, c.pause, func(part [][]byte) {
		for i := 0; i < len(part); i += 2 {
			key := part[i]
			s := db.shard(key)
			e := s.setLocked(s.findLocked(key), key, keep(part[i+1]))
			s.setDeadlineLocked(e, 0)
		}
	})
	c.appendOK()
}

// incr is INCR, DECR, INCRBY and DECRBY.
func incr(c *client, args [][]byte) {
	by := int64(1)
	if len(args) == 3 {
		var ok bool
		if by, ok = integer(args[2]); !ok {
			c.appendError(errNotInt)
			return
		}
	}
	if args[0][0]|0x20 == 'd' {
		if by == math.MinInt64 {
			c.appendError("ERR decrement would overflow")
			return
		}
		by = -by
	}
	n, fault := c.s.db.add(args[1], by)
	if fault != "" {
		c.appendError(fault)
		return
	}
	c.appendInt(n)
}

// add adds to the number that a key holds, 0 if it holds nothing. A deadline
// stays.
func (db *store) add(key []byte, by int64) (n int64, fault string) {
	s := db.lock(key)
	defer s.mu.Unlock()
	e := s.findLocked(key)
	if e != nil {
		var ok bool
		if n, ok = integer(e.value); !ok {
			return 0, errNotInt
		}
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return 0, errOverflow
	}
	n += by
	var digits [20]byte
	s.setLocked(e, key, bytes.Clone(strconv.AppendInt(digits[:0], n, 10)))
	return n, ""
}
