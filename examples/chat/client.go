package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gobwas/ws"

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

	name string // changed by the client's coroutine, under the lock of its room
	room *room  // owner: the client's coroutine

	// Guarded by the lock of its room.
	notified uint64 // of the messages that it lost, the client knows

	endMu sync.Mutex // held while end sets ended and the deadline, which does not wait
	ended atomic.Pointer[ending]
}

// A wire is what the ways in differ in.
type wire interface {
	// read returns the next line that the client has sent, or false for what
	// is none. It is called when there is something to read.
	read(c *client) (line string, ok bool, err error)
	form(m message) []byte
	bye(why *ending) []byte // the last message
	// answered waits for the peer's answer to the last message.
	answered(c *client, why *ending)
}

// An ending is why a client's connection ends.
type ending struct {
	code    ws.StatusCode
	text    string
	garbled bool // where the next message begins is unknown
}

func (e *ending) Error() string { return "chat: " + e.text }

var (
	goingAway = &ending{code: ws.StatusGoingAway, text: "the server ends"}
	quit      = &ending{code: ws.StatusNormalClosure, text: "quit"}
	lost      = &ending{code: ws.StatusAbnormalClosure, text: "the connection was lost"}
)

func newClient(s *server, conn net.Conn, in *bufio.Reader, w wire) *client {
	l := s.limits
	return &client{s: s, conn: conn, in: in, wire: w, out: outbox.New(conn, outbox.Options{
		Policy: outbox.DropOldest, Messages: l.queue, WriteTimeout: l.write, FlushTimeout: l.grace,
	})}
}

// serve is the client's coroutine.
func (c *client) serve() {
	defer c.conn.Close()
	if !c.s.add(c) {
		return
	}
	defer c.s.gone.Done()
	defer c.depart(lost) // after a panic; without effect otherwise
	c.end(c.converse())
	why := c.ended.Load()
	c.depart(why) // before it is closed, so that the name is free for its next connection
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
		c.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// converse reads and acts on what it has read until there is a reason to end.
func (c *client) converse() *ending {
	for c.ended.Load() == nil {
		if _, err := c.in.Peek(1); err != nil { // end breaks this off, and seldom a message
			return c.failed(err)
		}
		line, ok, err := c.wire.read(c)
		if err != nil {
			return c.failed(err)
		}
		if ok && c.command(line) {
			return quit
		}
	}
	return c.ended.Load()
}

// failed returns what an error of read means.
func (c *client) failed(err error) *ending {
	var why *ending
	switch {
	case errors.As(err, &why):
		return why
	case errors.Is(err, io.EOF):
		return quit
	}
	return lost // unless it was ended, which was first
}

// send is for answers, which no others get. Called by the client's coroutine.
func (c *client) send(e event) { c.out.Send(c.wire.form(e.encode())) }

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
func (c *client) deliver(m message) {
	st := c.out.Stats()
	missed := st.Dropped - c.notified
	switch {
	case missed >= uint64(c.s.limits.lost):
		c.end(&ending{code: ws.StatusPolicyViolation,
			text: fmt.Sprintf("read too slowly, %d messages were dropped", missed)})
		return
	case missed > 0 && st.Queued <= c.s.limits.queue/2:
		c.notified = st.Dropped
		c.send(event{Type: "missed", Count: missed})
	}
	c.out.Send(c.wire.form(m))
}

// command acts on a line, and returns true if it was the last one.
func (c *client) command(line string) bool {
	if line = clean(line); line == "" {
		return false
	}
	if line[0] != '/' {
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
	case "ping":
		c.send(event{Type: "pong"})
	case "quit":
		return true
	case "help":
		c.send(event{Type: "info", Text: "/join ROOM, /leave, /nick NAME, /ping, /quit; " +
			"all else is said to the room"})
	default:
		c.refuse(fmt.Errorf("unknown command /%.20s; /help lists them", verb))
	}
	return false
}

var errNoRoom = errors.New("you are in no room; /join one")

func (c *client) say(text string) {
	switch {
	case len(text) > c.s.limits.text:
		c.refuse(fmt.Errorf("a message of %d bytes, %d at most", len(text), c.s.limits.text))
	case c.room == nil:
		c.refuse(errNoRoom)
	default:
		c.room.broadcast(event{Type: "message", Name: c.name, Text: text,
			Time: time.Now().UnixMilli()})
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
	switch err := c.s.rename(c, name); {
	case err != nil:
		c.refuse(err)
	case c.room != nil:
		c.room.rename(c, name)
	default:
		c.send(event{Type: "nick", Name: c.name, To: name})
		c.name = name
	}
}
