package gen

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2Template is requests with places to fill in: a variant for each size of the
// mix and each path. All connections share it.
type h2Template struct {
	mix      Mix // as often as there are paths
	weights  int
	variants []h2Variant
	constant bool   // no header field has random numbers
	table    uint32 // bytes of HPACK's table that the fields to be indexed take
}

type h2Variant struct {
	fields []h2Field
	body   variant
}

type h2Field struct {
	name    string
	value   variant
	indexed bool // the same in all requests, and in HPACK's table
}

// connectionFields are those of HTTP/1.1 that HTTP/2 has no place for.
var connectionFields = []string{"connection", "host", "keep-alive", "proxy-connection",
	"transfer-encoding", "upgrade"}

func newH2Template(p *httpPlan, mix Mix, scheme string) (*h2Template, error) {
	t := &h2Template{mix: slices.Repeat(mix, len(p.targets)), constant: true}
	t.weights = t.mix.total()
	named := [][2]string{{":method", p.method}, {":scheme", scheme}, {":authority", p.host},
		{":path", ""}}
	for _, h := range p.header {
		name, value, _ := strings.Cut(h, ":")
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "" || strings.ContainsAny(h, "\r\n") || strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("-H %q: want 'Name: value'", h)
		}
		if slices.Contains(connectionFields, name) {
			return nil, fmt.Errorf("-H %q: HTTP/2 has no such header; -host sets the host", h)
		}
		named = append(named, [2]string{name, strings.TrimSpace(value)})
	}
	content, err := parsePieces(p.body)
	if err != nil {
		return nil, fmt.Errorf("-body: %w", err)
	}
	for i, s := range t.mix {
		named[3][1] = p.targets[i/len(mix)]
		var v h2Variant
		payload := payload(s.Size)
		v.body.pieces(content, payload)
		for _, f := range named {
			all, err := parsePieces(f[1])
			if err != nil {
				return nil, err
			}
			field := h2Field{name: f[0]}
			field.value.pieces(all, payload)
			field.indexed = len(field.value.rands) == 0 && !strings.Contains(f[1], "{size}") &&
				(f[0] != ":path" || len(p.targets) == 1)
			v.fields = append(v.fields, field)
		}
		if n := len(v.body.text); n > 0 || sendsBody(p.method) {
			v.fields = append(v.fields, h2Field{name: "content-length",
				value: variant{text: strconv.AppendInt(nil, int64(n), 10)}})
		}
		t.variants = append(t.variants, v)
	}
	t.measure()
	return t, nil
}

func (t *h2Template) measure() {
	for i, v := range t.variants {
		for _, f := range v.fields {
			if f.indexed && i == 0 {
				t.table += uint32(len(f.name) + len(f.value.text) + 32)
			}
			t.constant = t.constant && len(f.value.rands) == 0
		}
	}
}

// h2Encoder makes the header blocks of one connection. With the first request
// of a connection all fields that do not change are in the table, so later
// blocks of a variant are alike and are kept.
type h2Encoder struct {
	encoder *hpack.Encoder
	buf     bytes.Buffer
	blocks  [][]byte // by variant; nil: not known
	first   bool     // no block has been made
	value   []byte
}

func (e *h2Encoder) reset(t *h2Template) {
	e.encoder = hpack.NewEncoder(&e.buf)
	e.limit(t, h2TableSize)
}

// limit is for the server's limit of the table's size. If the fields do not
// all fit there is no table, or each request would change it.
func (e *h2Encoder) limit(t *h2Template, size uint32) {
	e.encoder.SetMaxDynamicTableSizeLimit(size)
	if t.table > min(size, h2TableSize) {
		e.encoder.SetMaxDynamicTableSize(0)
	}
	e.blocks, e.first = make([][]byte, len(t.variants)), true
}

// encode returns the block of a request, valid until the next call.
func (e *h2Encoder) encode(t *h2Template, i int, rng *rand.Rand) []byte {
	if b := e.blocks[i]; b != nil {
		return b
	}
	e.buf.Reset()
	for _, f := range t.variants[i].fields {
		e.value = f.value.fill(e.value[:0], rng)
		_ = e.encoder.WriteField(hpack.HeaderField{Name: f.name, Value: string(e.value),
			Sensitive: !f.indexed}) // not in the table
	}
	if t.constant && !e.first {
		e.blocks[i] = bytes.Clone(e.buf.Bytes())
	}
	e.first = false
	return e.buf.Bytes()
}

// requests queues k requests; conn.flush writes what is queued.
func (h *h2Codec) requests(k int) []byte {
	for range k {
		i := h.mix.draw(h.rng, h.weights)
		id := h.next
		h.next += 2
		h.streams.push(h2Stream{})
		s := h.streams.at(h.streams.count - 1)
		s.window, s.length = h.initial, -1
		if body := &h.variants[i].body; len(body.rands) > 0 {
			s.body = body.fill(nil, h.rng)
		} else {
			s.body = body.text
		}
		h.writeHead(id, h.encode(h.h2Template, i, h.rng), len(s.body) == 0)
		if len(s.body) > 0 {
			h.unsent++
			h.sendBody(s, id)
		}
	}
	return nil
}

func (h *h2Codec) writeHead(id uint32, block []byte, ends bool) {
	n := min(len(block), h2FrameSize)
	_ = h.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block[:n],
		EndStream: ends, EndHeaders: n == len(block)})
	for block = block[n:]; len(block) > 0; block = block[n:] {
		n = min(len(block), h2FrameSize)
		_ = h.framer.WriteContinuation(id, n == len(block), block[:n])
	}
}

// h2Queued is how many bytes are queued before what follows waits until they
// are written.
const h2Queued = 256 << 10

// sendBody queues what the windows allow.
func (h *h2Codec) sendBody(s *h2Stream, id uint32) {
	for len(h.out.b) < h2Queued {
		n := int(min(int64(len(s.body)), h2FrameSize, s.window, h.window))
		if n <= 0 {
			return
		}
		b := s.body[:n]
		s.body = s.body[n:]
		s.window -= int64(n)
		h.window -= int64(n)
		_ = h.framer.WriteData(id, len(s.body) == 0, b)
		if len(s.body) == 0 {
			h.unsent--
			return
		}
	}
}

// sendBodies goes on with bodies that have waited for a window, the oldest
// first.
func (h *h2Codec) sendBodies() {
	if h.unsent == 0 || h.window <= 0 {
		return
	}
	for i := range h.streams.count {
		if s := h.streams.at(i); len(s.body) > 0 {
			h.sendBody(s, h.base+2*uint32(i))
		}
	}
}

// takeQueued returns what is queued, valid until the second next call.
func (h *h2Codec) takeQueued() []byte {
	b := h.out.b
	h.out.b, h.spare = h.spare[:0], b
	h.written, h.acks = h.next, 0
	return b
}
