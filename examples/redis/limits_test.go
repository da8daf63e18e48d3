package main

import (
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/goruntime"
)

// malformed is input after which the connection is closed, with the answer to
// it.
var malformed = []struct{ input, want string }{
	{"*x\r\n", "invalid multibulk length"},
	{"*2049\r\n", "invalid multibulk length"},
	{"*99999999999999999999\r\n", "invalid multibulk length"},
	{"*" + strings.Repeat("1", 70_000), "invalid multibulk length"},
	{"*1\rx", "invalid multibulk length"},
	{"*1\r\n+x\r\n", "expected '$', got '+'"},
	{"*1\r\n$x\r\n", "invalid bulk length"},
	{"*1\r\n$-1\r\n", "invalid bulk length"},
	{"*1\r\n$16777217\r\n", "too big request"},
	{"*1\r\n$9999999999999999999999\r\n", "invalid bulk length"},
	{"*1\r\n$1\r\nxyz", "expected CRLF after a bulk string"},
	{"*4\r\n$3\r\nSET\r\n$16000000\r\n", ""},
	{strings.Repeat("x", maxInline+1), "too big inline request"},
	{"*-1\r\n", "invalid multibulk length"},
}

// TestMalformed: each gets the answers to what came before, an error, and no
// more.
func TestMalformed(t *testing.T) {
	addr := start(t, 2)
	for _, m := range malformed {
		p := connect(t, addr)
		p.send("PING\r\n*0\r\n\r\n" + request("PING"))
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
		p.send(request("PING") + "*2000\r\n$3\r\nSET\r\n$16000000\r\n" +
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

// TestAllocations: GET allocates nothing, SET the value.
func TestAllocations(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	c := &client{db: newStore(), out: make([]byte, 0, 16<<10)}
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
