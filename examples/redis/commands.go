package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// command is what a request may begin with.
type command struct {
	min, max int // arguments, the name among them
	do       func(c *client, args [][]byte)
}

// commands are all there are, by name in lower case.
var commands = map[string]command{
	"get":      {2, 2, get},
	"set":      {3, 5, set},
	"mget":     {2, maxArgs, mget},
	"mset":     {3, maxArgs, mset},
	"incr":     {2, 2, func(c *client, args [][]byte) { c.add(args[1], 1) }},
	"decr":     {2, 2, func(c *client, args [][]byte) { c.add(args[1], -1) }},
	"del":      {2, maxArgs, del},
	"exists":   {2, maxArgs, exists},
	"expire":   {3, 3, expire},
	"ttl":      {2, 2, ttl},
	"dbsize":   {1, 1, dbSize},
	"flushall": {1, 1, flushAll},
	"ping":     {1, 1, func(c *client, _ [][]byte) { c.appendLine('+', "PONG") }},
	"echo":     {2, 2, func(c *client, args [][]byte) { c.appendBulk(args[1]) }},
	"quit":     {1, 1, func(c *client, _ [][]byte) { c.appendLine('+', "OK"); c.quit = true }},
	// What redis-cli and redis-benchmark ask for when they start.
	"command": {1, maxArgs, func(c *client, _ [][]byte) { c.appendNumber('*', 0) }},
	"config":  {3, 3, config},
}

// Errors that several commands have.
const (
	errSyntax = "ERR syntax error"
	errNotInt = "ERR value is not an integer or out of range"
	errExpire = "ERR invalid expire time"
)

// do answers one request.
func (c *client) do(args [][]byte) {
	var buf [16]byte // longer than any name
	cmd, ok := commands[string(lower(buf[:0], args[0]))]
	switch {
	case !ok:
		c.appendLine('-', fmt.Sprintf("ERR unknown command %.60q", args[0]))
	case len(args) < cmd.min || len(args) > cmd.max:
		c.appendLine('-', fmt.Sprintf("ERR wrong number of arguments for %q", args[0]))
	default:
		cmd.do(c, args)
	}
}

// lower appends a word in lower case; of one that does not fit, nothing.
func lower(to, word []byte) []byte {
	if len(word) > cap(to) {
		return to
	}
	for _, ch := range word {
		if ch >= 'A' && ch <= 'Z' {
			ch |= 0x20
		}
		to = append(to, ch)
	}
	return to
}

// integer reads a number as redis does: no sign but a minus, no leading zeros,
// 64 bits.
func integer(p []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(p), 10, 64)
	var again [20]byte
	return n, err == nil && bytes.Equal(strconv.AppendInt(again[:0], n, 10), p)
}

// deadline returns the time that lies n units, of so many ms, ahead.
func deadline(n, unit int64) (at int64, ok bool) {
	const farthest = 1 << 53
	if n > farthest/unit || n < -farthest/unit {
		return 0, false
	}
	return max(1, now()+n*unit), true
}

// config answers CONFIG GET with an empty value.
func config(c *client, args [][]byte) {
	c.appendNumber('*', 2)
	c.appendBulk(args[2])
	c.appendBulk([]byte{})
}

func get(c *client, args [][]byte) {
	c.db.mu.Lock()
	var value []byte
	if e := c.db.findLocked(args[1]); e != nil {
		value = e.value
	}
	c.db.mu.Unlock()
	c.appendBulk(value)
}

// set is SET key value [EX seconds | PX milliseconds].
func set(c *client, args [][]byte) {
	at := int64(0)
	if len(args) > 3 {
		var buf [2]byte
		unit, known := map[string]int64{"ex": 1000, "px": 1}[string(lower(buf[:0], args[3]))]
		if !known || len(args) != 5 {
			c.appendLine('-', errSyntax)
			return
		}
		n, ok := integer(args[4])
		if !ok {
			c.appendLine('-', errNotInt)
			return
		}
		if at, ok = deadline(n, unit); !ok || n <= 0 {
			c.appendLine('-', errExpire)
			return
		}
	}
	value := keep(args[2])
	c.db.mu.Lock()
	c.db.setLocked(args[1], value, at)
	c.db.mu.Unlock()
	c.appendLine('+', "OK")
}

// keep copies a value out of the request. It is not nil, which would be no
// value.
func keep(p []byte) []byte { return append([]byte{}, p...) }

// mget answers with what the keys held at one moment.
func mget(c *client, args [][]byte) {
	keys := args[1:]
	var few [16][]byte
	values := few[:0]
	c.db.mu.Lock()
	for _, key := range keys {
		var value []byte
		if e := c.db.findLocked(key); e != nil {
			value = e.value
		}
		values = append(values, value)
	}
	c.db.mu.Unlock()
	c.appendNumber('*', int64(len(keys)))
	for _, value := range values {
		if c.appendBulk(value); c.err != nil {
			return
		}
	}
}

// mset is one step to all others.
func mset(c *client, args [][]byte) {
	pairs := args[1:]
	if len(pairs)%2 != 0 {
		c.appendLine('-', errSyntax)
		return
	}
	c.db.mu.Lock()
	for i := 0; i < len(pairs); i += 2 {
		c.db.setLocked(pairs[i], keep(pairs[i+1]), 0)
	}
	c.db.mu.Unlock()
	c.appendLine('+', "OK")
}

// add adds to the number that a key holds, 0 if it holds nothing. A deadline
// stays.
func (c *client) add(key []byte, by int64) {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	n, at, ok := int64(0), int64(0), true
	if e := c.db.findLocked(key); e != nil {
		n, ok = integer(e.value)
		at = e.deadline
	}
	if !ok || by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		c.appendLine('-', errNotInt)
		return
	}
	c.db.setLocked(key, strconv.AppendInt(make([]byte, 0, 20), n+by, 10), at)
	c.appendNumber(':', n+by)
}

// dbSize counts keys that have expired and were not found out, too.
func dbSize(c *client, _ [][]byte) {
	c.db.mu.Lock()
	n := len(c.db.keys)
	c.db.mu.Unlock()
	c.appendNumber(':', int64(n))
}

func flushAll(c *client, _ [][]byte) {
	c.db.mu.Lock()
	c.db.clearLocked()
	c.db.mu.Unlock()
	c.appendLine('+', "OK")
}

// count calls f with each of the keys that exists, the store locked, and
// answers how many there were.
func (c *client) count(keys [][]byte, f func(db *store, e *entry)) {
	n := int64(0)
	c.db.mu.Lock()
	for _, key := range keys {
		if e := c.db.findLocked(key); e != nil {
			n++
			f(c.db, e)
		}
	}
	c.db.mu.Unlock()
	c.appendNumber(':', n)
}

func del(c *client, args [][]byte)    { c.count(args[1:], (*store).deleteLocked) }
func exists(c *client, args [][]byte) { c.count(args[1:], func(*store, *entry) {}) }

// expire is EXPIRE. A time that is not in the future ends the key.
func expire(c *client, args [][]byte) {
	n, ok := integer(args[2])
	if !ok {
		c.appendLine('-', errNotInt)
		return
	}
	at, ok := deadline(n, 1000)
	if !ok {
		c.appendLine('-', errExpire)
		return
	}
	c.count(args[1:2], func(db *store, e *entry) { db.setDeadlineLocked(e, at) })
}

// ttl answers with the seconds that a key has left; -2 for no such key, -1 for
// one without a deadline.
func ttl(c *client, args [][]byte) {
	c.db.mu.Lock()
	left := int64(-2)
	if e := c.db.findLocked(args[1]); e != nil {
		if left = -1; e.deadline != 0 {
			left = max(0, e.deadline-now()+500) / 1000
		}
	}
	c.db.mu.Unlock()
	c.appendNumber(':', left)
}
