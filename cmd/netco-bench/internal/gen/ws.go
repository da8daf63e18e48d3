package gen

import (
	"encoding/binary"
	"errors"
)

// WebSocket frames (RFC 6455).
const (
	wsContinued = 0x0
	wsText      = 0x1
	wsBinary    = 0x2
	wsClose     = 0x8
	wsPing      = 0x9
	wsPong      = 0xA

	wsFinal = 0x80
	wsMask  = 0x80

	wsMaxControl = 125
)

// wsKey masks all frames of a run. Masks guard proxies against scripts in a
// browser, which a load generator is not.
var wsKey = [4]byte{0x37, 0xfa, 0x21, 0x3d}

// appendFrame appends a masked frame.
func appendFrame(b []byte, op byte, payload []byte) []byte {
	b = append(b, wsFinal|op)
	switch n := len(payload); {
	case n <= wsMaxControl:
		b = append(b, wsMask|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, wsMask|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, wsMask|127), uint64(n))
	}
	b = append(b, wsKey[:]...)
	for i, c := range payload {
		b = append(b, c^wsKey[i&3])
	}
	return b
}

func newWSTemplate(mix Mix, pipeline int) *template {
	return newTemplate(mix, pipeline, func(payload []byte) variant {
		return variant{text: appendFrame(nil, wsBinary, payload)}
	})
}

// wsCodec is WebSocket on one connection, behind the handshake.
type wsCodec struct {
	sender
	wsParser
	drawn ring[int]
}

func (c *wsCodec) reset() {
	c.drawn.clear()
	c.wsParser = wsParser{payload: c.payload}
}

func (c *wsCodec) end() verdict           { return 0 }
func (c *wsCodec) failure(verdict) string { return "" }

func (c *wsCodec) answer(b []byte) (int, verdict, error) {
	n, v, err := c.wsParser.answer(b)
	if v == 0 || err != nil {
		return n, v, err
	}
	if c.drawn.count == 0 {
		return n, 0, wrongf("a message that was not asked for")
	}
	if want := c.mix[c.drawn.pop()].Size; c.size != want {
		return n, 0, wrongf("a message of %d bytes, %d were sent", c.size, want)
	}
	return n, v, nil
}

// wsParser recognises messages, which may come in any pieces and frames.
type wsParser struct {
	payload []byte // what all messages begin like, if they are to be compared

	message bool   // some frame of a message has come, and not its last
	final   bool   // the frame is the last one of its message
	left    int    // bytes missing of the frame
	size    int    // bytes of the message so far
	pong    []byte // the answer to the last ping, if it is not sent
}

// maxWS bounds a frame.
const maxWS = 1 << 30

func (p *wsParser) answer(b []byte) (int, verdict, error) {
	at := 0
	for {
		if p.left > 0 {
			n := min(p.left, len(b)-at)
			if err := p.compare(b[at : at+n]); err != nil {
				return at, 0, err
			}
			at, p.left, p.size = at+n, p.left-n, p.size+n
			if p.left > 0 {
				return at, 0, nil
			}
		}
		if p.message && p.final {
			p.message = false
			return at, complete, nil
		}
		n, err := p.frame(b[at:])
		if n == 0 || err != nil {
			return at, 0, err
		}
		at += n
	}
}

func (p *wsParser) compare(b []byte) error {
	if p.payload == nil {
		return nil
	}
	if p.size+len(b) > len(p.payload) {
		return wrongf("a message of more than %d bytes, the largest sent", len(p.payload))
	}
	if want := p.payload[p.size : p.size+len(b)]; string(want) != string(b) {
		return differ(b, want)
	}
	return nil
}

// frame takes the head of a data frame, or a control frame as a whole.
func (p *wsParser) frame(b []byte) (n int, err error) {
	if len(b) < 2 {
		return 0, nil
	}
	op, size := b[0]&0x0f, int(b[1]&0x7f)
	if b[0]&0x70 != 0 || b[1]&wsMask != 0 {
		return 0, wrongf("frame % x: reserved bits or a mask", b[:2])
	}
	if op >= wsClose {
		return p.controlFrame(b, op, size)
	}
	n = 2
	switch size {
	case 126:
		if n += 2; len(b) < n {
			return 0, nil
		}
		size = int(binary.BigEndian.Uint16(b[2:]))
	case 127:
		if n += 8; len(b) < n {
			return 0, nil
		}
		long := binary.BigEndian.Uint64(b[2:])
		if long > maxWS {
			return 0, wrongf("a frame of %d bytes", long)
		}
		size = int(long)
	}
	if op != wsText && op != wsBinary && op != wsContinued || p.message != (op == wsContinued) {
		return 0, wrongf("frame % x: opcode %d", b[:2], op)
	}
	if !p.message {
		p.message, p.size = true, 0
	}
	p.final, p.left = b[0]&wsFinal != 0, size
	return n, nil
}

// controlFrame takes a whole one, or nothing.
func (p *wsParser) controlFrame(b []byte, op byte, size int) (n int, err error) {
	if size > wsMaxControl || b[0]&wsFinal == 0 {
		return 0, wrongf("control frame % x", b[:2])
	}
	if n = 2 + size; len(b) < n {
		return 0, nil
	}
	switch op {
	case wsClose:
		return n, errClosed
	case wsPing:
		// Only the last of several needs an answer: RFC 6455, 5.5.3.
		p.pong = appendFrame(p.pong[:0], wsPong, b[2:n])
	case wsPong:
	default:
		return 0, wrongf("opcode %d", op)
	}
	return n, nil
}

// errClosed is the server's orderly end of a connection that owes answers.
var errClosed = errors.New("closed by the server")
