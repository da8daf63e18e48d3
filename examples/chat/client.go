package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gobwas/ws"
	"golang.org/x/time/rate"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/outbox"
	"github.com/netco-go/netco/sync"
)

// A client is one connection. Its coroutine reads; all that is written goes
// through its outbox, which others send to, too.
type client struct {
	s    *server
	conn net.Conn
	in   *bufio.Reader
	wire wire
	out  *outbox.Outbox
	rate *rate.Limiter // nil: none

	// Changed by the client's coroutine, under the lock of its room if it is
	// in one, where others read them.
	name string
	away bool

	room          *room // owner: the client's coroutine
	heard, pinged time.Time

	// Guarded by the lock of its room, and the client's coroutine's without.
	dropped  uint64 // as of the last look
	notified uint64 // of these, the client knows

	endMu sync.Mutex // held while end sets ended and the deadline, which does not wait
	ended atomic.Pointer[ending]
}

// A wire is what the ways in differ in.
type wire interface {
	// read returns the next line that the client has sent, or false for what
	// is none. It is called when there is something to read.
	read(c *client) (line string, ok bool, err error)
	encode(e *encoding) []byte
	ping() []byte           // nil: there is none
	bye(why *ending) []byte // the last message
	// answered waits for the peer's answer to the last message.
	answered(c *client, why *ending)
}

// An ending is why a client's connection ends.
type ending struct {
	kind string // for metrics
	code ws.StatusCode
	text string
}

func (e *ending) Error() string { return "chat: " + e.text }

var (
	goingAway = &ending{"shutdown", ws.StatusGoingAway, "the server ends"}
	quit      = &ending{"quit", ws.StatusNormalClosure, "quit"}
	lost      = &ending{"lost", ws.StatusAbnormalClosure, "the connection was lost"}
	late      = &ending{"late", ws.StatusPolicyViolation, "a message took too long"}
)

func newClient(s *server, conn net.Conn, in *bufio.Reader, w wire) *client {
	l := s.limits
	c := &client{s: s, conn: conn, in: in, wire: w, out: outbox.New(conn, outbox.Options{
		Policy: outbox.DropOldest, Messages: l.queue, WriteTimeout: l.write, FlushTimeout: l.grace,
	})}
	if l.rate > 0 {
		c.rate = rate.NewLimiter(rate.Limit(l.rate), max(1, int(l.rate)))
	}
	return c
}

// serve is the client's coroutine.
func (c *client) serve() {
	defer c.conn.Close()
	if !c.s.add(c) {
		return
	}
	c.s.counts.clients.Add(1)
	defer func() { c.s.counts.clients.Add(-1); c.s.gone.Done() }()
	defer c.depart(lost) // after a panic; without effect otherwise
	c.end(c.converse())
	why := c.ended.Load()
	c.depart(why) // before it is closed, so that the name is free for its next connection
	c.s.counts.ended(why.kind)
	c.out.Send(c.wire.bye(why))
	c.wire.answered(c, why)
	c.out.Close()
}

// depart takes the client out of its room and makes its name free.
func (c *client) depart(why *ending) {
	c.leave(why.text)
	c.s.remove(c)
}

// end has the client's coroutine end the connection. Any may call it; the first
// reason counts.
func (c *client) end(why *ending) {
	c.endMu.Lock() // when end returns no call of it sets the deadline any more
	defer c.endMu.Unlock()
	if c.ended.CompareAndSwap(nil, why) {
		c.conn.SetReadDeadline(time.Unix(1, 0)) // converse looks at ended after it sets another
	}
}

// converse reads and acts on what it has read until there is a reason to end.
func (c *client) converse() *ending {
	c.heard = time.Now()
	c.pinged = c.heard
	for {
		if c.in.Buffered() == 0 {
			c.conn.SetReadDeadline(c.wakeAt())
			if why := c.ended.Load(); why != nil {
				return why
			}
			if _, err := c.in.Peek(1); errors.Is(err, os.ErrDeadlineExceeded) {
				if why := c.silent(); why != nil {
					return why
				}
				continue
			} else if err != nil { // a read would not return it again
				return c.failed(err)
			}
		}
		c.conn.SetReadDeadline(time.Now().Add(c.s.limits.message))
		if why := c.ended.Load(); why != nil {
			return why
		}
		line, ok, err := c.wire.read(c)
		if err != nil {
			return c.failed(err)
		}
		c.present()
		if ok && c.rate != nil {
			netco.Sleep(c.rate.Reserve().Delay())
		}
		if ok && c.command(line) {
			return quit
		}
	}
}

// failed returns what an error of read means.
func (c *client) failed(err error) *ending {
	var why *ending
	switch {
	case errors.As(err, &why):
		return why
	case errors.Is(err, os.ErrDeadlineExceeded):
		return late // unless it was ended, which was first
	case errors.Is(err, io.EOF):
		return quit
	default:
		return lost
	}
}

// wakeAt returns when silence is the next to have a consequence.
func (c *client) wakeAt() time.Time {
	l := c.s.limits
	at := c.heard.Add(l.drop)
	if !c.away {
		at = earlier(at, c.heard.Add(l.away))
	}
	if c.wire.ping() != nil {
		at = earlier(at, c.pinged.Add(l.ping))
	}
	return at
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// silent is called when the client has not sent anything until wakeAt: it is
// pinged, shown as away, or has to go.
func (c *client) silent() *ending {
	l, now := c.s.limits, time.Now()
	quiet := now.Sub(c.heard)
	if quiet >= l.drop {
		return &ending{"silent", ws.StatusPolicyViolation,
			fmt.Sprint("no sign of life for ", l.drop)}
	}
	if quiet >= l.away && !c.away {
		c.change(event{Type: "away", Name: c.name}, func() { c.away = true })
		c.send(event{Type: "info", Text: fmt.Sprintf(
			"you are shown as away; say something, or /ping, within %v", l.drop-l.away)})
	}
	if ping := c.wire.ping(); ping != nil && now.Sub(c.pinged) >= l.ping {
		c.pinged = now
		c.out.Send(ping)
	}
	return nil
}

// present is called when the client has sent something, be it a pong.
func (c *client) present() {
	c.heard = time.Now()
	c.pinged = c.heard
	if c.away {
		c.change(event{Type: "back", Name: c.name}, func() { c.away = false })
	}
}

// change applies f, which changes what others see of the client, and has its
// room know.
func (c *client) change(e event, f func()) {
	if c.room != nil {
		c.room.change(e, f)
	} else {
		f()
	}
}

// send is for answers, which no others get. Called by the client's coroutine.
func (c *client) send(e event) { c.out.Send(c.wire.encode(&encoding{event: e})) }

func (c *client) refuse(err error) {
	e := event{Type: "error", Text: err.Error()}
	if errors.Is(err, errTaken) {
		e.Code = "taken"
	}
	c.send(e)
}

// deliver queues what is for many. It does not wait: a slow client loses the
// oldest of what is queued, and knows once it has caught up by half; one that
// loses too much before has to go. Under the lock of the room.
func (c *client) deliver(e *encoding) {
	st := c.out.Stats()
	c.s.counts.dropped.Add(st.Dropped - c.dropped)
	c.dropped = st.Dropped
	missed := st.Dropped - c.notified
	switch {
	case missed >= uint64(c.s.limits.lost):
		c.end(&ending{"slow", ws.StatusPolicyViolation,
			fmt.Sprintf("read too slowly, %d messages were dropped", missed)})
		return
	case missed > 0 && st.Queued <= c.s.limits.queue/2:
		c.notified = st.Dropped
		c.send(event{Type: "missed", Count: missed})
	}
	c.out.Send(c.wire.encode(e))
}

// command acts on a line, and returns true if it was the last one.
func (c *client) command(line string) bool {
	if line = clean(line); line == "" {
		return false
	}
	if text, quoted := strings.CutPrefix(line, "//"); quoted || line[0] != '/' {
		if quoted {
			line = "/" + text
		}
		c.say(line)
		return false
	}
	verb, arg, _ := strings.Cut(line[1:], " ")
	arg = strings.TrimSpace(arg)
	switch verb {
	case "join":
		c.join(arg)
	case "leave":
		if c.room == nil {
			c.refuse(errNoRoom)
			break
		}
		c.leave("leave")
		c.send(event{Type: "info", Text: "you are in no room"})
	case "nick":
		c.nick(arg)
	case "who":
		if c.room == nil {
			c.refuse(errNoRoom)
			break
		}
		c.send(event{Type: "who", People: c.room.people()})
	case "rooms":
		c.send(event{Type: "rooms", Rooms: c.s.list()})
	case "ping":
		c.send(event{Type: "pong"})
	case "quit":
		return true
	case "help":
		c.send(event{Type: "info", Text: help})
	default:
		c.refuse(fmt.Errorf("unknown command /%.20s; /help lists them", verb))
	}
	return false
}

const help = "/join ROOM, /leave, /nick NAME, /who, /rooms, /ping, /quit; " +
	"all else is said to the room, also what begins with //"

var errNoRoom = errors.New("you are in no room; /join one")

func (c *client) say(text string) {
	switch {
	case len(text) > c.s.limits.text:
		c.refuse(fmt.Errorf("a message of %d bytes, %d at most", len(text), c.s.limits.text))
	case c.room == nil:
		c.refuse(errNoRoom)
	default:
		c.s.counts.messages.Add(1)
		c.room.say(event{Type: "message", Name: c.name, Text: text,
			Time: time.Now().UnixMilli()}, c.s.limits.history)
	}
}

func (c *client) join(name string) {
	if c.room != nil && fold(c.room.name) == fold(name) {
		c.refuse(errors.New("you are in that room"))
		return
	}
	r, err := c.s.enter(name)
	if err != nil {
		c.refuse(err)
		return
	}
	c.leave("joined another room")
	r.join(c)
}

func (c *client) leave(why string) {
	if r := c.room; r != nil {
		r.leave(c, why, c.s.ending.Load())
		c.s.exit(r)
	}
}

func (c *client) nick(name string) {
	if err := c.s.rename(c, name); err != nil {
		c.refuse(err)
		return
	}
	e := event{Type: "nick", Name: c.name, To: name}
	c.change(e, func() { c.name = name })
	if c.room == nil {
		c.send(e)
	}
}
