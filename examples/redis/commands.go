package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// command is what a request may begin with.
type command struct {
	name     string
	min, max int // arguments, the name among them
	do       func(c *client, args [][]byte)
}

const many = maxArgs

// commands are all there are, by name in lower case.
var commands = map[string]*command{}

func init() {
	for _, cmd := range []command{
		{"get", 2, 2, get},
		{"set", 3, many, set},
		{"setex", 4, 4, setEX},
		{"psetex", 4, 4, setEX},
		{"setnx", 3, 3, setNX},
		{"mget", 2, many, mget},
		{"mset", 3, many, mset},
		{"incr", 2, 2, incr},
		{"decr", 2, 2, incr},
		{"incrby", 3, 3, incr},
		{"decrby", 3, 3, incr},
		{"del", 2, many, del},
		{"exists", 2, many, exists},
		{"expire", 3, 3, expire},
		{"pexpire", 3, 3, expire},
		{"ttl", 2, 2, ttl},
		{"pttl", 2, 2, ttl},
		{"persist", 2, 2, persist},
		{"dbsize", 1, 1, func(c *client, _ [][]byte) { c.appendInt(int64(c.s.db.size())) }},
		{"flushall", 1, 2, flush},
		{"flushdb", 1, 2, flush},
		{"ping", 1, 2, ping},
		{"echo", 2, 2, func(c *client, args [][]byte) { c.appendBulk(args[1]) }},
		{"select", 2, 2, selectDB},
		{"quit", 1, many, func(c *client, _ [][]byte) { c.appendOK(); c.quit = true }},
		{"hello", 1, many, hello},
		{"client", 2, many, clientCommand},
		{"command", 1, many, func(c *client, _ [][]byte) { c.appendSize(0) }},
		{"config", 2, many, config},
	} {
		commands[cmd.name] = &cmd
	}
}

// longestName is longer than any command's.
const longestName = 16

// do answers one request.
func (c *client) do(args [][]byte) {
	var buf [longestName]byte
	name := lower(buf[:0], args[0])
	cmd := commands[string(name)] // does not allocate
	switch {
	case cmd == nil:
		c.unknown(args)
	case len(args) < cmd.min || len(args) > cmd.max:
		c.wrongArgs(cmd.name)
	default:
		cmd.do(c, args)
	}
}

// lower appends name in lower case; of one that is too long for a command,
// nothing.
func lower(to, name []byte) []byte {
	if len(name) > longestName {
		return to
	}
	for _, ch := range name {
		if ch >= 'A' && ch <= 'Z' {
			ch |= 0x20
		}
		to = append(to, ch)
	}
	return to
}

// is reports whether an argument is a word, which is given in lower case.
func is(arg []byte, word string) bool {
	var buf [longestName]byte
	return string(lower(buf[:0], arg)) == word
}

// clip makes an argument fit to be repeated in an error.
func clip(arg []byte) []byte { return arg[:min(len(arg), 128)] }

func (c *client) unknown(args [][]byte) {
	var list bytes.Buffer
	for _, arg := range args[1:] {
		if list.Len() > 128 {
			break
		}
		fmt.Fprintf(&list, "'%s' ", clip(arg))
	}
	c.appendError(fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s",
		clip(args[0]), &list))
}

func (c *client) wrongArgs(name string) {
	c.appendError("ERR wrong number of arguments for '" + name + "' command")
}

// Errors that several commands have.
const (
	errSyntax   = "ERR syntax error"
	errNotInt   = "ERR value is not an integer or out of range"
	errOverflow = "ERR increment or decrement would overflow"
)

func (c *client) badExpire(args [][]byte) {
	c.appendError("ERR invalid expire time in '" + strings.ToLower(string(args[0])) + "' command")
}

// integer reads a number as redis does: no sign but a minus, no leading zeros,
// 64 bits.
func integer(p []byte) (int64, bool) {
	if len(p) == 0 || len(p) > 20 || p[0] == '+' || p[0] == '0' && len(p) > 1 || p[0] == '-' &&
		(len(p) == 1 || p[1] == '0') {
		return 0, false
	}
	if len(p) <= 18 { // cannot overflow
		digits, n := p, int64(0)
		if p[0] == '-' {
			digits = p[1:]
		}
		for _, ch := range digits {
			if ch -= '0'; ch > 9 {
				return 0, false
			}
			n = n*10 + int64(ch)
		}
		if p[0] == '-' {
			n = -n
		}
		return n, true
	}
	n, err := strconv.ParseInt(string(p), 10, 64)
	return n, err == nil
}

func ping(c *client, args [][]byte) {
	if len(args) == 2 {
		c.appendBulk(args[1])
		return
	}
	c.out = append(c.out, "+PONG\r\n"...)
}

func selectDB(c *client, args [][]byte) {
	switch n, ok := integer(args[1]); {
	case !ok:
		c.appendError(errNotInt)
	case n != 0:
		c.appendError("ERR DB index is out of range")
	default:
		c.appendOK()
	}
}

// hello answers in RESP2, which is all there is.
func hello(c *client, args [][]byte) {
	if len(args) > 1 {
		if n, ok := integer(args[1]); !ok {
			c.appendError("ERR Protocol version is not an integer or out of range")
			return
		} else if n != 2 {
			c.appendError("NOPROTO unsupported protocol version")
			return
		}
	}
	if len(args) > 2 {
		c.appendError("ERR Syntax error in HELLO option '" + string(clip(args[2])) + "'")
		return
	}
	c.appendSize(14)
	for _, pair := range [][2]string{{"server", "redis"}, {"version", "7.0.0"}} {
		c.appendText(pair[0])
		c.appendText(pair[1])
	}
	c.appendText("proto")
	c.appendInt(2)
	c.appendText("id")
	c.appendInt(c.id)
	for _, pair := range [][2]string{{"mode", "standalone"}, {"role", "master"}} {
		c.appendText(pair[0])
		c.appendText(pair[1])
	}
	c.appendText("modules")
	c.appendSize(0)
}

// clientCommand is what clients say and ask of themselves when they connect.
func clientCommand(c *client, args [][]byte) {
	switch {
	case is(args[1], "id") && len(args) == 2:
		c.appendInt(c.id)
	case is(args[1], "getname") && len(args) == 2:
		c.appendBulk(c.name)
	case is(args[1], "setname") && len(args) == 3:
		if len(args[2]) > 1024 || bytes.ContainsFunc(args[2], func(r rune) bool {
			return r <= ' ' || r > '~'
		}) {
			c.appendError("ERR Client names cannot contain spaces, newlines or special characters.")
			return
		}
		c.name = append([]byte(nil), args[2]...) // nil for an empty one
		c.appendOK()
	case is(args[1], "setinfo") && len(args) == 4:
		c.appendOK()
	default:
		c.appendError("ERR unknown subcommand or wrong number of arguments for '" +
			string(clip(args[1])) + "'. Try CLIENT HELP.")
	}
}

// config answers the questions that redis-benchmark has.
func config(c *client, args [][]byte) {
	if !is(args[1], "get") || len(args) < 3 {
		c.appendError("ERR unknown subcommand or wrong number of arguments for '" +
			string(clip(args[1])) + "'. Try CONFIG HELP.")
		return
	}
	known := map[string]string{"save": "", "appendonly": "no", "maxmemory": "0", "databases": "1"}
	var found []string
	for _, arg := range args[2:] {
		name := strings.ToLower(string(clip(arg)))
		if value, ok := known[name]; ok {
			found = append(found, name, value)
			delete(known, name)
		}
	}
	c.appendSize(len(found))
	for _, s := range found {
		c.appendText(s)
	}
}
