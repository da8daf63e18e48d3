package main

import (
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// conversation is what commands answer, in order, to a server with no keys. The
// words are separated by spaces.
var conversation = []struct{ ask, want string }{
	{"PING", "+PONG\r\n"},
	{"ping hello", bulk("hello")},
	{"ECHO hello", bulk("hello")},
	{"ECHO", "-ERR wrong number of arguments for 'echo' command\r\n"},
	{"NONSENSE a b", "-ERR unknown command 'NONSENSE', with args beginning with: 'a' 'b' \r\n"},
	{"AVERYLONGNAMEOFACOMMAND", "-ERR unknown command 'AVERYLONGNAMEOFACOMMAND', with args " +
		"beginning with: \r\n"},
	{"GET a", none},
	{"SET a 1", ok},
	{"GET a", bulk("1")},
	{"SET a 2 NX", none},
	{"SET a 2 XX", ok},
	{"SET b 2 XX", none},
	{"SET b 2 nx", ok},
	{"SET a 2 NX XX", "-ERR syntax error\r\n"},
	{"SET a 2 EX", "-ERR syntax error\r\n"},
	{"SET a 2 EX 10 PX 10", "-ERR syntax error\r\n"},
	{"SET a 2 EX x", noInt},
	{"SET a 2 EX 0", "-ERR invalid expire time in 'set' command\r\n"},
	{"SET a 2 EX 9223372036854775807", "-ERR invalid expire time in 'set' command\r\n"},
	{"SET a 2 PX 9223372036854775807", "-ERR invalid expire time in 'set' command\r\n"},
	{"SETNX a 3", zero},
	{"SETNX c 3", one},
	{"MGET a b c d", "*4\r\n" + bulk("2") + bulk("2") + bulk("3") + none},
	{"MSET a 4 d", "-ERR wrong number of arguments for 'mset' command\r\n"},
	{"MSET a 4 d 5 a 6", ok},
	{"MGET a d", "*2\r\n" + bulk("6") + bulk("5")},
	{"EXISTS a b x a", ":3\r\n"},
	{"DEL a b x a", ":2\r\n"},
	{"DBSIZE", ":2\r\n"},
	{"INCR n", one},
	{"INCR n", ":2\r\n"},
	{"INCRBY n 40", ":42\r\n"},
	{"DECRBY n 50", ":-8\r\n"},
	{"DECR n", ":-9\r\n"},
	{"INCRBY n -1", ":-10\r\n"},
	{"INCRBY n x", noInt},
	{"INCRBY n +1", noInt},
	{"INCRBY n 9223372036854775808", noInt},
	{"DECRBY n -9223372036854775808", "-ERR decrement would overflow\r\n"},
	{"DECRBY n 9223372036854775807", "-ERR increment or decrement would overflow\r\n"},
	{"SET n 9223372036854775807", ok},
	{"INCR n", "-ERR increment or decrement would overflow\r\n"},
	{"SET n -9223372036854775808", ok},
	{"DECR n", "-ERR increment or decrement would overflow\r\n"},
	{"INCR n", ":-9223372036854775807\r\n"},
	{"SET n 007", ok},
	{"INCR n", noInt},
	{"TTL none", ":-2\r\n"},
	{"TTL n", ":-1\r\n"},
	{"PTTL n", ":-1\r\n"},
	{"PERSIST n", zero},
	{"EXPIRE n 100", one},
	{"EXPIRE none 100", zero},
	{"EXPIRE n x", noInt},
	{"EXPIRE n 9223372036854775807", "-ERR invalid expire time in 'expire' command\r\n"},
	{"TTL n", ":100\r\n"},
	{"SET n 1 KEEPTTL", ok},
	{"TTL n", ":100\r\n"},
	{"PERSIST n", one},
	{"TTL n", ":-1\r\n"},
	{"SETEX n 200 1", ok},
	{"TTL n", ":200\r\n"},
	{"INCR n", ":2\r\n"},
	{"TTL n", ":200\r\n"},
	{"PSETEX n 200000 1", ok},
	{"TTL n", ":200\r\n"},
	{"SET n 1", ok},
	{"TTL n", ":-1\r\n"},
	{"SETEX n 0 1", "-ERR invalid expire time in 'setex' command\r\n"},
	{"EXPIRE n 0", one},
	{"GET n", none},
	{"SELECT 0", ok},
	{"SELECT 1", "-ERR DB index is out of range\r\n"},
	{"SELECT x", noInt},
	{"HELLO 3", "-NOPROTO unsupported protocol version\r\n"},
	{"HELLO x", "-ERR Protocol version is not an integer or out of range\r\n"},
	{"CLIENT GETNAME", none},
	{"CLIENT SETNAME me", ok},
	{"CLIENT GETNAME", bulk("me")},
	{"CLIENT SETINFO lib-name x", ok},
	{"COMMAND", "*0\r\n"},
	{"COMMAND DOCS", "*0\r\n"},
	{"CONFIG GET save", "*2\r\n" + bulk("save") + bulk("")},
	{"CONFIG GET nothing", "*0\r\n"},
	{"FLUSHALL x", "-ERR syntax error\r\n"},
	{"FLUSHALL", ok},
	{"DBSIZE", zero},
}

// same reports whether an answer is the one that is wanted, or the rest of a
// lifetime of which some has gone by since it was set.
func same(got, want string) bool {
	const patience = 60 // s; the lifetimes are 100 and more
	full, err1 := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(want), ":"))
	rest, err2 := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(got), ":"))
	lifetime := err1 == nil && err2 == nil && got[0] == ':' && full >= 100 &&
		full-patience <= rest && rest <= full
	return got == want || lifetime
}

// TestCommands asks for everything, as clients do and inline.
func TestCommands(t *testing.T) {
	for _, inline := range []bool{false, true} {
		for _, processors := range []int{1, 2} {
			p := connect(t, start2(t, processors))
			for _, c := range conversation {
				if inline {
					p.send(c.ask + "\r\n")
				} else {
					p.send(request(strings.Fields(c.ask)...))
				}
				if got := p.answer(); !same(got, c.want) {
					t.Errorf("%s: %q, want %q", c.ask, got, c.want)
				}
			}
			if got := p.ask("HELLO"); !strings.HasPrefix(got, "*14\r\n"+bulk("server")) ||
				!strings.Contains(got, bulk("proto")+":2\r\n") {
				t.Errorf("HELLO: %q", got)
			}
			p.expect(ok, "QUIT")
			if _, err := p.in.ReadByte(); err != io.EOF {
				t.Errorf("after QUIT: %v", err)
			}
		}
	}
}

// start2 is start in a process of its own, for several in one test.
func start2(t *testing.T, processors int) (addr string) {
	addr, _ = daemon(t, "-processors", strconv.Itoa(processors))
	return addr
}

// TestSplits sends the conversation in one go, cut in random places, the same
// for the same seed, and byte by byte.
func TestSplits(t *testing.T) {
	addr := start(t, 2)
	var all strings.Builder
	for i, c := range conversation {
		if i%3 == 0 {
			all.WriteString(c.ask + "\n")
		} else {
			all.WriteString(request(strings.Fields(c.ask)...))
		}
	}
	for seed := range uint64(20) {
		p := connect(t, addr)
		p.expect(ok, "FLUSHALL")
		r := rand.New(rand.NewPCG(seed, 0))
		most := 1 << (seed % 10) // 1: byte by byte
		go func() {
			for rest := all.String(); len(rest) > 0; {
				n := min(1+r.IntN(most), len(rest))
				if _, err := io.WriteString(p, rest[:n]); err != nil {
					return
				}
				rest = rest[n:]
			}
		}()
		for _, c := range conversation {
			if got := p.answer(); !same(got, c.want) {
				t.Fatalf("seed %d: %s: %q, want %q", seed, c.ask, got, c.want)
			}
		}
		p.Close()
	}
}
