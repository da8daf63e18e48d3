package gen

import (
	"cmp"
	"fmt"
	"strings"
)

// newRESPTemplate makes Redis commands. Words are separated by spaces.
func newRESPTemplate(command string, mix Mix, pipeline int) (*template, error) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil, fmt.Errorf("-redis %q has no command", command)
	}
	var args [][]piece
	for _, w := range words {
		pieces, err := parsePieces(w)
		if err != nil {
			return nil, fmt.Errorf("-redis: %w", err)
		}
		args = append(args, pieces)
	}
	return newTemplate(mix, pipeline, func(payload []byte) variant {
		var v variant
		v.literal(fmt.Sprintf("*%d\r\n", len(args)))
		for _, a := range args {
			var arg variant
			arg.pieces(a, payload)
			v.literal(fmt.Sprintf("$%d\r\n", len(arg.text)))
			v.append(arg)
			v.literal("\r\n")
		}
		return v
	}), nil
}

// respCodec is RESP2 and RESP3 on one connection.
type respCodec struct {
	sender
	respParser
}

func (c *respCodec) reset()                 { c.respParser = respParser{} }
func (c *respCodec) end() verdict           { return 0 }
func (c *respCodec) failure(verdict) string { return c.text }

// respParser recognises answers, which may come in any pieces.
type respParser struct {
	begun   bool
	missing int // values until the answer is complete
	skip    int // bytes of a bulk string and the line end behind it
	v       verdict
	text    string // of the first error
}

// maxRESP bounds lengths and numbers of elements, as Redis does.
const maxRESP = 512 << 20

func (p *respParser) answer(b []byte) (int, verdict, error) {
	at := 0
	if !p.begun {
		p.begun, p.missing, p.v = true, 1, complete
	}
	for {
		n := min(p.skip, len(b)-at)
		at += n
		if p.skip -= n; p.skip > 0 {
			return at, 0, nil
		}
		if p.missing == 0 {
			p.begun = false
			return at, p.v, nil
		}
		line, n := cutLine(b[at:])
		if n == 0 {
			return at, 0, nil
		}
		if len(line) == 0 {
			return at, 0, wrongf("an empty line is no RESP")
		}
		if err := p.value(line); err != nil {
			return at, 0, err
		}
		at += n
	}
}

// value takes the line that a value begins with.
func (p *respParser) value(line []byte) error {
	p.missing--
	kind, arg := line[0], line[1:]
	switch kind {
	case '+', ':', ',', '#', '_', '(':
		return nil
	case '-':
		p.v |= failed
		if p.text == "" {
			p.text = fmt.Sprintf("%.200s", arg)
		}
		return nil
	}
	n, ok := parseLength(arg)
	if !ok && string(arg) != "-1" || n > maxRESP {
		return wrongf("%.40q is no RESP", line)
	}
	if !ok { // null
		return nil
	}
	switch kind {
	case '$', '=', '!':
		p.skip = int(n) + 2
		if kind == '!' {
			p.v |= failed
			p.text = cmp.Or(p.text, "an error as a bulk string")
		}
	case '*', '~', '>':
		p.missing += int(n)
	case '%':
		p.missing += 2 * int(n)
	case '|': // attributes come in front of the value
		p.missing += 2*int(n) + 1
	default:
		return wrongf("%.40q is no RESP", line)
	}
	if p.missing > 4*maxRESP {
		return wrongf("more than %d values", p.missing)
	}
	return nil
}
