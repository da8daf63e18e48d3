package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"

	"github.com/netco-go/netco/internal/testenv"
)

// scripts are conversations of a and b. In each step a client says a line, >,
// or gets one, <, which matches a pattern.
var scripts = []struct {
	name  string
	set   func(*limits)
	steps []string
}{
	{"talk", nil, []string{
		`a>/join den`, `a<\* you are a in den, with a`,
		`b>/join DEN`, `b<\* you are b in den, with a, b`, `a<\* b joined`,
		`a>hello`, `a<<a> hello`, `b<<a> hello`,
		`b>/nick c`, `a<\* b is now c`, `b<\* b is now c`,
		`b>/leave`, `b<\* you are in no room`, `a<\* c left: leave`,
		`a>/join attic`, `a<\* you are a in attic, with a`,
		`a>/quit`, `b>/ping`, `b<\* pong`}},
	{"names", nil, []string{
		`a>/nick B`, `a<! that name is taken`, `a>/nick A`, `a<\* a is now A`,
		`a>/nick`, `a<! a name is missing`,
		`a>/nick <b>`, `a<! a name has letters, digits, - and _ only`,
		`a>/nick Zoë-7`, `a<\* A is now Zoë-7`, `b>/nick a`, `b<\* b is now a`}},
	{"refused", nil, []string{
		`a>hello`, `a<! you are in no room; /join one`,
		`a>/leave`, `a<! you are in no room.*`, `a>/dance`, `a<! unknown command /dance.*`,
		`a>/join den`, `a<\* you are a in den.*`, `a>/join Den`, `a<! you are in that room`,
		`a>/help`, `a<\* /join ROOM.*`}},
	{"limits", func(l *limits) { l.name, l.text, l.rooms = 5, 10, 1 }, []string{
		`a>/nick abcdef`, `a<! a name of 6 bytes, 5 at most`,
		`a>/join abcdef`, `a<! a name of 6 bytes, 5 at most`,
		`a>/join den`, `a<\* you are a in den.*`,
		`a>0123456789`, `a<<a> 0123456789`,
		`a>0123456789+`, `a<! a message of 11 bytes, 10 at most`,
		`b>/join attic`, `b<! there are 1 rooms.*`,
		`a>/leave`, `a<\* you are in no room`,
		`b>/join attic`, `b<\* you are b in attic, with b`}},
	{"control characters", nil, []string{
		`a>/join den`, `a<\* you are a in den.*`,
		"a>\x1b[2Jred\u202e\x07", `a<<a> \[2Jred`, "a>\x00 \t", `a>end`, `a<<a> end`}},
}

// TestScripts plays them with clients of each kind.
func TestScripts(t *testing.T) {
	for _, script := range scripts {
		for _, kinds := range [][2]string{{"lines", "web"}, {"web", "lines"}} {
			t.Run(script.name+"/"+kinds[0], func(t *testing.T) {
				s := start(t, script.set)
				peers := map[byte]*peer{
					'a': s.connect(t, kinds[0], "a"), 'b': s.connect(t, kinds[1], "b")}
				for _, step := range script.steps {
					if p := peers[step[0]]; step[1] == '>' {
						p.say(step[2:])
					} else {
						p.want(step[2:])
					}
				}
			})
		}
	}
}

// TestSlow: a client that does not read keeps none waiting. It loses messages,
// and knows how many if it reads on, or is disconnected if it does not.
func TestSlow(t *testing.T) {
	text := strings.Repeat("x", 1<<16)
	for _, kind := range []string{"lines", "web"} {
		for _, lost := range []int{50, 1e9} {
			t.Run(kind+map[bool]string{true: "/reads on", false: "/does not"}[lost > 50],
				func(t *testing.T) {
					s := start(t, func(l *limits) { l.queue, l.lost, l.text = 8, lost, len(text) })
					slow, quick := s.connect(t, kind, "slow"), s.connect(t, "lines", "quick")
					slow.say("/join den")
					slow.want(`.*with slow`)
					quick.say("/join den")
					quick.want(`.*with quick, slow`)
					say := func() (line string) {
						quick.say(text)
						line, err := quick.next()
						testenv.OK(t, err)
						return line
					}
					if lost > 50 {
						s.mu.Lock()
						c := s.names["slow"]
						s.mu.Unlock()
						for c.out.Stats().Dropped == 0 {
							say()
						}
						heard := make(chan bool)
						go func() { defer close(heard); slow.until(`.*read too slowly: \d+ mess.*`) }()
						testenv.Until(t, "it to catch up by half", func() bool {
							return c.out.Stats().Queued <= s.limits.queue/2
						})
						say()
						testenv.Await(t, heard, "it to know")
						return
					}
					for !matches(`\* slow left: read too slowly, \d+ messages were dropped`, say()) {
					}
					if kind == "web" {
						slow.wantEnd(ws.StatusPolicyViolation)
						slow.Close()
					} else {
						slow.until(`\* goodbye: read too slowly.*`)
					}
					testenv.Until(t, "the end", func() bool { return s.clients() == 1 })
				})
		}
	}
}

// TestMalformed: each kind of broken frame ends its connection with the code
// that RFC 6455 has for it, and its room goes on.
func TestMalformed(t *testing.T) {
	big := strings.Repeat("x", 3000)
	masked := func(f ws.Frame) []byte { return ws.MustCompileFrame(ws.MaskFrame(f)) }
	part := ws.NewTextFrame([]byte(big[:1500]))
	part.Header.Fin = false
	rest := part
	rest.Header.OpCode = ws.OpContinuation
	for _, c := range []struct {
		name string
		raw  []byte
		code ws.StatusCode
	}{
		{"not masked", ws.MustCompileFrame(ws.NewTextFrame([]byte("hi"))), ws.StatusProtocolError},
		{"reserved bit", []byte{0xc1, 0x80, 0, 0, 0, 0}, ws.StatusProtocolError},
		{"reserved code", []byte{0x83, 0x80, 0, 0, 0, 0}, ws.StatusProtocolError},
		{"no beginning", masked(rest), ws.StatusProtocolError},
		{"long ping", masked(ws.NewPingFrame([]byte(big[:126]))), ws.StatusProtocolError},
		{"ping in parts", []byte{0x09, 0x80, 0, 0, 0, 0}, ws.StatusProtocolError},
		{"not UTF-8", masked(ws.NewTextFrame([]byte{0xff})), ws.StatusInvalidFramePayloadData},
		{"too long", masked(ws.NewTextFrame([]byte(big))), ws.StatusMessageTooBig},
		{"too long in parts", append(masked(part), masked(rest)...), ws.StatusMessageTooBig},
		{"negative length", []byte{0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
			ws.StatusProtocolError},
		{"close", masked(ws.NewCloseFrame(ws.NewCloseFrameBody(ws.StatusNormalClosure, ""))),
			ws.StatusNormalClosure},
		{"close of a code that is never sent", masked(ws.NewCloseFrame([]byte{3, 0xee})),
			ws.StatusProtocolError},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, nil)
			other, broken := s.connect(t, "lines", "other"), s.connect(t, "web", "broken")
			other.say("/join den")
			other.want(`.*with other`)
			broken.say("/join den")
			broken.want(`.*with broken, other`)
			other.want(`\* broken joined`)
			testenv.Must(broken.Write(c.raw))
			broken.wantEnd(c.code)
			other.want(`\* broken left: .*`)
		})
	}
}

// TestAbrupt: a connection that ends without a word leaves nothing behind.
func TestAbrupt(t *testing.T) {
	for _, kind := range []string{"lines", "web"} {
		for _, end := range []string{"close", "reset", "in the midst"} {
			t.Run(kind+"/"+end, func(t *testing.T) {
				s := start(t, nil)
				other, gone := s.connect(t, "lines", "other"), s.connect(t, kind, "gone")
				other.say("/join den")
				other.want(`.*with other`)
				gone.say("/join den")
				gone.want(`.*with gone, other`)
				other.want(`\* gone joined`)
				switch end {
				case "reset":
					gone.Conn.(*net.TCPConn).SetLinger(0)
				case "in the midst":
					testenv.Must(gone.Write([]byte{0x81}))
				}
				gone.Close()
				other.until(`\* gone left: .*`)
				other.say("/nick gone") // its name is free
				other.want(`\* other is now gone`)
			})
		}
	}
}

// TestNameTakenOver: a connection that is still to be closed has given its name
// away, and does not take it from its next owner.
func TestNameTakenOver(t *testing.T) {
	s := start(t, nil)
	first := s.connect(t, "web", "ann")
	testenv.Must(first.Write([]byte{0xc1, 0x80, 0, 0, 0, 0}))
	first.wantEnd(ws.StatusProtocolError) // and waits for this one's close
	s.connect(t, "lines", "ann")
	first.CloseWrite()
	io.Copy(io.Discard, first.in) // until it has ended
	third := s.connect(t, "lines", "bert")
	third.say("/nick ann")
	third.want(`! that name is taken`)
}

// TestOrigins: pages of other sites may not open a WebSocket.
func TestOrigins(t *testing.T) {
	s := start(t, nil)
	for origin, want := range map[string]string{
		"":                             "HTTP/1.1 101",
		"http://" + s.web:              "HTTP/1.1 101",
		"https://chat.example":         "HTTP/1.1 403",
		"http://chat.example":          "HTTP/1.1 403",
		"null":                         "HTTP/1.1 403",
		"http://" + s.web + ".evil:80": "HTTP/1.1 403",
	} {
		c := dial(t, s.web)
		head := "GET /ws HTTP/1.1\r\nHost: " + s.web + "\r\nConnection: Upgrade\r\n" +
			"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
			"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
		if origin != "" {
			head += "Origin: " + origin + "\r\n"
		}
		testenv.Must(c.Write([]byte(head + "\r\n")))
		answer := make([]byte, 2000)
		n, _ := c.Read(answer)
		if got := string(answer[:n]); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %s", origin, got, want)
		}
		c.Close()
	}
}

// heldConn holds the calls that set a deadline of long ago until it is
// released.
type heldConn struct {
	net.Conn
	entered, release chan bool
}

func (c *heldConn) SetReadDeadline(t time.Time) error {
	if t.Before(time.Unix(2, 0)) {
		c.entered <- true
		<-c.release
	}
	return c.Conn.SetReadDeadline(t)
}

// TestEndsOnce: where another has begun to end a client, its own end waits
// until the deadline for that is set, which must not follow the one for the
// answer.
func TestEndsOnce(t *testing.T) {
	s := start(t, nil)
	conn, peer := net.Pipe()
	defer peer.Close()
	held := &heldConn{conn, make(chan bool), make(chan bool)}
	c := newClient(s.server, held, nil, lineWire{})
	go c.end(goingAway)
	testenv.Await(t, held.entered, "the deadline")
	ended := make(chan bool)
	go func() {
		defer close(ended)
		c.end(quit)
	}()
	select {
	case <-ended:
		t.Error("the second end has not waited")
	case <-time.After(20 * time.Millisecond):
	}
	close(held.release)
	testenv.Await(t, ended, "the second end")
	testenv.Equal(t, c.ended.Load(), goingAway, "ended")
}
