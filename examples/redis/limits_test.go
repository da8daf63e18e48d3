package main

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// malformed is input after which the connection is closed, with the answer to
// it.
var malformed = []struct{ input, want string }{
	{"*x\r\n", "invalid multibulk length"},
	{"*65537\r\n", "invalid multibulk length"},
	{"*99999999999999999999\r\n", "invalid multibulk length"},
	{"*" + strings.Repeat("1", 70_000), "invalid multibulk length"},
	{"*1\rx", "invalid multibulk length"},
	{"*1\r\n+x\r\n", "expected '$', got '+'"},
	{"*1\r\n$x\r\n", "invalid bulk length"},
	{"*1\r\n$-1\r\n", "invalid bulk length"},
	{"*1\r\n$67108865\r\n", "invalid bulk length"},
	{"*1\r\n$9999999999999999999999\r\n", "invalid bulk length"},
	{"*1\r\n$1\r\nxyz", "expected CRLF after a bulk string"},
	{"*4\r\n$3\r\nSET\r\n$" + fmt.Sprint(maxBulk) + "\r\n", ""},
	{strings.Repeat("x", maxInline+1), "too big inline request"},
	{"set \"a\r\n", "unbalanced quotes in request"},
	{"set 'a'b\r\n", "unbalanced quotes in request"},
}

// TestMalformed: each gets the answers to what came before, an error, and no
// more.
func TestMalformed(t *testing.T) {
	addr := start(t, 2)
	for _, m := range malformed {
		p := connect(t, addr)
		p.send("PING\r\n*0\r\n*-1\r\n\r\n" + request("PING"))
		// The server reads no more of it than it takes to see what is wrong.
		io.WriteString(p, m.input)
		p.Conn.(*net.TCPConn).CloseWrite()
		got, _ := io.ReadAll(p.in) // a reset if the server has not read it all
		want := "+PONG\r\n+PONG\r\n"
		if m.want != "" {
			want += "-ERR Protocol error: " + m.want + "\r\n"
		}
		if string(got) != want {
			t.Errorf("%.50q: %q, want %q", m.input, got, want)
		}
		p.Close()
	}
}

// TestClaims: who says that much will come, and sends little, gets little
// memory.
func TestClaims(t *testing.T) {
	addr := start(t, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const conns = 100
	for range conns {
		p := connect(t, addr)
		p.send(request("PING") + "*60000\r\n$3\r\nSET\r\n$60000000\r\n" +
			strings.Repeat("x", 1000))
		if got := p.answer(); got != "+PONG\r\n" {
			t.Errorf("%q", got)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > conns*300<<10 {
		t.Errorf("%d connections got %d KiB", conns, grown>>10)
	}
}

// TestUnfinished: large requests that are not all there share a bounded memory.
// One that gets none is refused, and small ones are served.
func TestUnfinished(t *testing.T) {
	const size = 200_000
	head := "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$" + fmt.Sprint(size) + "\r\n"
	s := newServer(1)
	s.maxUnfinished = size / 2
	addr := serve(t, s, 1)
	p := connect(t, addr)
	p.send(head + strings.Repeat("x", size/2))
	if got, want := p.answer(), "-ERR "+noMemory.Error()+"\r\n"; got != want {
		t.Errorf("without memory: %q, want %q", got, want)
	}
	p = connect(t, addr)
	p.send(request("PING"))
	if got := p.answer(); got != "+PONG\r\n" {
		t.Errorf("a small request: %q", got)
	}
}

// TestUnfinishedComesBack: the memory of a large request comes back when it is
// all there, and when its client leaves.
func TestUnfinishedComesBack(t *testing.T) {
	const size = 200_000
	head := "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$" + fmt.Sprint(size) + "\r\n"
	s := newServer(1)
	p := connect(t, serve(t, s, 1))
	p.send(head + strings.Repeat("x", size/2))
	testenv.Until(t, "its memory", func() bool { return s.unfinished.Load() > 0 })
	p.send(strings.Repeat("x", size/2) + "\r\n")
	if got := p.answer(); got != "+OK\r\n" {
		t.Errorf("with memory: %q", got)
	}
	testenv.Until(t, "it to come back", func() bool { return s.unfinished.Load() == 0 })
	p.send(head + strings.Repeat("x", size/2))
	testenv.Until(t, "its memory", func() bool { return s.unfinished.Load() > 0 })
	p.Close()
	testenv.Until(t, "it to come back when the client has left",
		func() bool { return s.unfinished.Load() == 0 })
}

// TestLongCommands: one of many keys lets others run in between.
func TestLongCommands(t *testing.T) {
	db := newStore(2)
	args := make([][]byte, 2*(3*maxStep+1))
	for i := range args {
		args[i] = fmt.Appendf(nil, "%d", i/2)
	}
	for width, want := range map[int]int{1: 6, 2: 3} {
		pauses, seen := 0, 0
		db.inSteps(args, width, func() { pauses++ }, func(part [][]byte) {
			seen += len(part)
			if len(part) > maxStep*width {
				t.Errorf("%d keys in one step", len(part)/width)
			}
		})
		if pauses != want || seen != len(args) {
			t.Errorf("%d pauses, want %d; %d of %d", pauses, want, seen, len(args))
		}
	}
	p := connect(t, start(t, 1))
	words := []string{"MSET"}
	for i := range 2*maxStep + 1 {
		words = append(words, fmt.Sprint(i), "v")
	}
	p.send(request(words...))
	keys := []string{}
	for i := 1; i < len(words); i += 2 {
		keys = append(keys, words[i])
	}
	p.send(request(append([]string{"EXISTS"}, keys...)...) +
		request(append([]string{"DEL"}, keys...)...) + request("DBSIZE"))
	for _, want := range []string{"+OK\r\n", ":2001\r\n", ":2001\r\n", ":0\r\n"} {
		if got := p.answer(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAllocations: GET allocates nothing, SET the value.
func TestAllocations(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	c := &client{s: newServer(2), out: make([]byte, 0, 16<<10)}
	run := func(words ...string) float64 {
		p := []byte(request(words...))
		return testing.AllocsPerRun(1000, func() {
			c.out = c.out[:0]
			args, used, _, err := c.parser.next(p)
			if used != len(p) || err != nil {
				t.Fatal(used, err)
			}
			c.do(args)
		})
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, k := range []struct {
		ask  string
		most float64
	}{
		{"SET key value", 1}, {"GET key", 0}, {"SET key value EX 100", 1}, {"GET key", 0},
		{"GET nokey", 0},
		{"EXISTS key", 0}, {"PING", 0}, {"TTL key", 0}, {"SET n 1000", 1}, {"INCR n", 1},
		{"MGET key n", 0},
	} {
		if n := run(strings.Fields(k.ask)...); n > k.most {
			t.Errorf("%s: %v allocations, want %v", k.ask, n, k.most)
		}
	}
}
