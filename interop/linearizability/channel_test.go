package linearizability

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/netco-go/netco/channel"
)

// transfer is a step of a channel's. A call that waits comes, and then either ends, with its value or with the channel closed, or
// gives up. Values are never 0 and never sent twice.
type transfer struct {
	op string // send, sent, not sent; recv, got; give up; try-send, full; try-recv, empty; close
	id byte   // who
	v  byte   // what; of a "got" or a "try-recv" 0 for the end of a closed channel
}

// channelState is the model's. A waiting sender is told by its value, a waiting receiver by who it is.
type channelState struct {
	buffer    string
	senders   string
	receivers string
	handed    string // pairs: to whom what, for receivers that have not noticed
	over      string // values of senders whose send is done, who have not noticed
	refused   string // and of senders that met the end
	closed    bool
}

// without returns s without the i-th byte and the n-1 behind it; false if i is negative.
func without(s string, i, n int) (string, bool) {
	if i < 0 {
		return s, false
	}
	return s[:i] + s[i+n:], true
}

func channelModel(capacity int) porcupine.Model {
	return model(channelState{}, func(s channelState, x transfer) (next channelState, ok bool) {
		room := len(s.receivers) > 0 || len(s.buffer) < capacity
		some := len(s.buffer)+len(s.senders) > 0
		ok = true
		switch x.op {
		case "send":
			s = s.send(x.v, room)
		case "sent":
			s.over, ok = without(s.over, strings.IndexByte(s.over, x.v), 1)
		case "not sent":
			s.refused, ok = without(s.refused, strings.IndexByte(s.refused, x.v), 1)
		case "try-send":
			if ok = room && !s.closed; ok {
				s = s.put(x.v)
			}
		case "full":
			ok = !room && !s.closed
		case "refused":
			ok = s.closed
		case "recv":
			if some || s.closed {
				var v byte
				s, v = s.take()
				s.handed += string([]byte{x.id, v})
			} else {
				s.receivers += string([]byte{x.id})
			}
		case "got":
			s.handed, ok = without(s.handed, strings.Index(s.handed, string([]byte{x.id, x.v})), 2)
		case "try-recv":
			if ok = some || s.closed; ok {
				var v byte
				s, v = s.take()
				ok = v == x.v
			}
		case "empty":
			ok = !some && !s.closed
		case "give up sending":
			s.senders, ok = without(s.senders, strings.IndexByte(s.senders, x.v), 1)
		case "give up receiving":
			s.receivers, ok = without(s.receivers, strings.IndexByte(s.receivers, x.id), 1)
		case "close":
			ok = !s.closed
			s = s.close()
		default:
			panic("no such step: " + x.op)
		}
		return s, ok
	})
}

// send begins a send of v, for which there is room or not.
func (s channelState) send(v byte, room bool) channelState {
	value := string([]byte{v})
	switch {
	case s.closed:
		s.refused += value
	case room:
		s = s.put(v)
		s.over += value
	default:
		s.senders += value
	}
	return s
}

// close ends what waits.
func (s channelState) close() channelState {
	for _, id := range []byte(s.receivers) {
		s.handed += string([]byte{id, 0})
	}
	s.refused += s.senders
	s.receivers, s.senders, s.closed = "", "", true
	return s
}

// put sends v. Precondition: there is room.
func (s channelState) put(v byte) channelState {
	if len(s.receivers) > 0 {
		s.handed += string([]byte{s.receivers[0], v})
		s.receivers = s.receivers[1:]
	} else {
		s.buffer += string([]byte{v})
	}
	return s
}

// take receives; 0 is the end. Whoever waits in front to send has room then.
func (s channelState) take() (next channelState, v byte) {
	if len(s.buffer)+len(s.senders) == 0 {
		return s, 0
	}
	if len(s.senders) > 0 {
		s.buffer += s.senders[:1]
		s.over += s.senders[:1]
		s.senders = s.senders[1:]
	}
	v = s.buffer[0]
	s.buffer = s.buffer[1:]
	return s, v
}

// pipe is a channel and what the clients have agreed on.
type pipe struct {
	*channel.Chan[byte]
	early   bool         // it is closed while some send
	senders atomic.Int32 // have not ended
}

func usePipe(c *client[transfer], p *pipe) {
	if c.id%2 == 0 {
		for i := range 4 {
			p.send(c, byte(1+c.id*10+i))
			c.pause()
		}
		if p.senders.Add(-1) == 0 || p.early && c.id == 0 {
			p.close(c)
		}
		return
	}
	for p.recv(c) {
		c.pause()
	}
}

func (p *pipe) send(c *client[transfer], v byte) {
	c.call(func() (steps []transfer) {
		step := func(op string) transfer { return transfer{op, byte(c.id), v} }
		switch c.IntN(4) {
		case 0:
			defer func() {
				if r := recover(); r != nil {
					steps = []transfer{step("refused")}
				}
			}()
			if !p.TrySend(v) {
				return []transfer{step("full")}
			}
			return []transfer{step("try-send")}
		case 1:
			d := c.bound()
			switch err := p.SendTimeout(v, d); {
			case err == nil:
				return []transfer{step("send"), step("sent")}
			case err == channel.ErrClosed:
				return []transfer{step("send"), step("not sent")}
			case err == os.ErrDeadlineExceeded && d == 0:
				return []transfer{step("full")}
			case err == os.ErrDeadlineExceeded:
				return []transfer{step("send"), step("give up sending")}
			default:
				panic(err)
			}
		}
		defer func() {
			if r := recover(); r != nil {
				steps = []transfer{step("send"), step("not sent")}
			}
		}()
		p.Send(v)
		return []transfer{step("send"), step("sent")}
	})
}

// recv reports false at the end of the channel.
func (p *pipe) recv(c *client[transfer]) (more bool) {
	c.call(func() []transfer {
		step := func(op string, v byte) transfer { return transfer{op, byte(c.id), v} }
		more = true
		switch c.IntN(4) {
		case 0:
			v, ok, done := p.TryRecv()
			if !done {
				return []transfer{step("empty", 0)}
			}
			more = ok
			return []transfer{step("try-recv", v)}
		case 1:
			d := c.bound()
			switch v, err := p.RecvTimeout(d); {
			case err == nil || err == channel.ErrClosed:
				more = err == nil
				return []transfer{step("recv", 0), step("got", v)}
			case err == os.ErrDeadlineExceeded && d == 0:
				return []transfer{step("empty", 0)}
			case err == os.ErrDeadlineExceeded:
				return []transfer{step("recv", 0), step("give up receiving", 0)}
			default:
				panic(err)
			}
		}
		v, ok := p.Recv()
		more = ok
		return []transfer{step("recv", 0), step("got", v)}
	})
	return more
}

func (p *pipe) close(c *client[transfer]) {
	c.call(func() (steps []transfer) {
		defer func() {
			if recover() != nil { // it is closed already
				steps = nil
			}
		}()
		p.Close()
		return []transfer{{op: "close"}}
	})
}

// TestChannel: values come out in the order in which they went in, once; those who wait are served in the order in which they came; who
// does not wait is refused only when he would have to.
func TestChannel(t *testing.T) {
	for capacity := range 4 {
		for _, early := range []bool{false, true} {
			t.Run(fmt.Sprintf("capacity=%d/early=%t", capacity, early), func(t *testing.T) {
				record(t, newPipe(capacity, early), usePipe,
					func(_ *pipe, history []porcupine.Operation) bool {
						return accept(t, channelModel(capacity), history)
					})
			})
		}
	}
}

func newPipe(capacity int, early bool) func(*rand.Rand) *pipe {
	return func(*rand.Rand) *pipe {
		p := &pipe{Chan: channel.Make[byte](capacity), early: early}
		p.senders.Store(clients / 2)
		return p
	}
}
