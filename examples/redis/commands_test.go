package main

import (
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/netco-go/netco/examples/internal/child"
)

// conversation is what commands answer, in order, to a server with no keys. The
// words are separated by spaces.
var conversation = []struct{ ask, want string }{
	{"PING", "+PONG\r\n"},
	{"ping", "+PONG\r\n"},
	{"ECHO hello", bulk("hello")},
	{"ECHO", "-ERR wrong number of arguments for \"ECHO\"\r\n"},
	{"NONSENSE a b", "-ERR unknown command \"NONSENSE\"\r\n"},
	{"AVERYLONGNAMEOFACOMMAND", "-ERR unknown command \"AVERYLONGNAMEOFACOMMAND\"\r\n"},
	{"GET a", none},
	{"SET a 1", ok},
	{"GET a", bulk("1")},
	{"SET a 2 EX", "-ERR syntax error\r\n"},
	{"SET a 2 NX 10", "-ERR syntax error\r\n"},
	{"SET a 2 EX x", noInt},
	{"SET a 2 EX 0", "-ERR invalid expire time\r\n"},
	{"SET a 2 EX 9223372036854775807", "-ERR invalid expire time\r\n"},
	{"SET a 2 PX 9223372036854775807", "-ERR invalid expire time\r\n"},
	{"MGET a b", "*2\r\n" + bulk("1") + none},
	{"MSET a 4 d", "-ERR syntax error\r\n"},
	{"MSET a 4 b 5 a 6", ok},
	{"MGET a b", "*2\r\n" + bulk("6") + bulk("5")},
	{"EXISTS a b x a", ":3\r\n"},
	{"DEL a b x a", ":2\r\n"},
	{"DBSIZE", zero},
	{"INCR n", one},
	{"INCR n", ":2\r\n"},
	{"DECR n", one},
	{"SET n 9223372036854775807", ok},
	{"INCR n", noInt},
	{"SET n -9223372036854775808", ok},
	{"DECR n", noInt},
	{"INCR n", ":-9223372036854775807\r\n"},
	{"SET n 007", ok},
	{"INCR n", noInt},
	{"SET n +7", ok},
	{"INCR n", noInt},
	{"TTL none", ":-2\r\n"},
	{"TTL n", ":-1\r\n"},
	{"EXPIRE n 100", one},
	{"EXPIRE none 100", zero},
	{"EXPIRE n x", noInt},
	{"EXPIRE n 9223372036854775807", "-ERR invalid expire time\r\n"},
	{"TTL n", ":100\r\n"},
	{"SET n 1 ex 200", ok},
	{"INCR n", ":2\r\n"},
	{"TTL n", ":200\r\n"},
	{"SET n 1 PX 200000", ok},
	{"TTL n", ":200\r\n"},
	{"MSET n 1", ok},
	{"TTL n", ":-1\r\n"},
	{"EXPIRE n 0", one},
	{"GET n", none},
	{"COMMAND DOCS", "*0\r\n"},
	{"CONFIG GET save", "*2\r\n" + bulk("save") + bulk("")},
	{"SET a 1", ok},
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
	addrs := map[int]string{}
	for _, processors := range []int{1, 2} {
		_, addrs[processors] = child.Start(t, "-addr", "127.0.0.1:0", "-processors",
			strconv.Itoa(processors))
	}
	for _, inline := range []bool{false, true} {
		for _, addr := range addrs {
			p := connect(t, addr)
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
			p.expect(ok, "QUIT")
			if _, err := p.in.ReadByte(); err != io.EOF {
				t.Errorf("after QUIT: %v", err)
			}
		}
	}
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
