package gen

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Limits of HTTP/2 (RFC 9113), and what this side allows the server to send
// before a WINDOW_UPDATE.
const (
	h2FrameHead    = 9
	h2FrameSize    = 16 << 10
	h2FirstWindow  = 64<<10 - 1
	h2LargestSize  = 1<<31 - 1
	h2StreamWindow = 4 << 20
	h2ConnWindow   = 16 << 20
	h2TableSize    = 4 << 10
	h2Requests     = 1<<30 - 1 // on a connection: the odd stream IDs
)

// h2Codec is HTTP/2 on one connection. Its streams end in any order, so an
// answer is that of the stream which answered names. What is to be sent, be it
// requests or acknowledgements, is queued in out.
type h2Codec struct {
	*h2Template
	rng  *rand.Rand
	head bool // the requests are HEAD, whose answers have no body

	framer *http2.Framer
	in     h2Input // of framer: one frame
	out    h2Queue // of framer
	spare  []byte  // what out was before, while it is being written
	h2Encoder

	decoder *hpack.Decoder
	block   h2Block

	streams    ring[h2Stream] // from the oldest unanswered one on
	base, next uint32         // the IDs of the oldest, and of the next to open
	answered   int            // the index in streams of what the verdict is about
	unsent     int            // streams whose body is not sent as a whole
	written    uint32         // the ID behind those whose requests have left out
	acks       int            // of PING and SETTINGS in out

	maxStreams     int   // that the server allows
	initial        int64 // send window of a new stream
	window         int64 // send window of the connection
	taken          int64 // bytes of DATA since the connection's last WINDOW_UPDATE
	goAway         bool  // the server takes no more streams
	lastID         uint32
	reason, goCode http2.ErrCode // of RST_STREAM, of GOAWAY
}

// h2Stream is one request and what is known of its answer.
type h2Stream struct {
	done   bool   // answered, or cancelled
	body   []byte // what is still to be sent of it
	window int64  // send window
	taken  int64  // bytes of DATA since the last WINDOW_UPDATE
	status int    // 0: no head has come
	length int64  // Content-Length, or -1
	got    int64  // bytes of the answer's body
}

// h2Block is a block of header fields: a HEADERS frame and its CONTINUATIONs.
type h2Block struct {
	id     uint32
	ends   bool // the stream ends with it
	size   int
	status int
	length int64
	err    error
}

type h2Input struct{ b []byte }

func (r *h2Input) Read(b []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(b, r.b)
	r.b = r.b[n:]
	return n, nil
}

type h2Queue struct{ b []byte }

func (q *h2Queue) Write(b []byte) (int, error) {
	q.b = append(q.b, b...)
	return len(b), nil
}

func newH2Codec(t *h2Template, rng *rand.Rand, head bool) *h2Codec {
	return &h2Codec{h2Template: t, rng: rng, head: head}
}

// h2Handshake sends the preface, waits for the server's SETTINGS, and returns
// them. It reads frame by frame: others may follow at once.
func h2Handshake(c net.Conn) (settings []http2.Setting, err error) {
	out := h2Queue{[]byte(http2.ClientPreface)}
	f := http2.NewFramer(&out, c)
	f.SetMaxReadFrameSize(h2FrameSize)
	_ = f.WriteSettings(http2.Setting{ID: http2.SettingEnablePush},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: h2StreamWindow})
	_ = f.WriteWindowUpdate(0, h2ConnWindow-h2FirstWindow)
	if _, err := c.Write(out.b); err != nil {
		return nil, err
	}
	frame, err := f.ReadFrame()
	if err == http2.ErrFrameTooLarge {
		return nil, wrongf("the server does not speak HTTP/2")
	}
	if err != nil {
		return nil, err
	}
	s, ok := frame.(*http2.SettingsFrame)
	if !ok || s.IsAck() {
		return nil, wrongf("%v where SETTINGS are due", frame.Header().Type)
	}
	err = s.ForeachSetting(func(s http2.Setting) error {
		settings = append(settings, s)
		return s.Valid()
	})
	if err != nil {
		return nil, wrongf("SETTINGS: %v", err)
	}
	out.b = out.b[:0]
	_ = f.WriteSettingsAck()
	_, err = c.Write(out.b)
	return settings, err
}

func (h *h2Codec) reset() {
	h.out.b = h.out.b[:0]
	h.framer = http2.NewFramer(&h.out, &h.in)
	h.framer.SetReuseFrames()
	h.framer.SetMaxReadFrameSize(h2FrameSize)
	h.decoder = hpack.NewDecoder(h2TableSize, h.field)
	h.decoder.SetMaxStringLength(maxUnparsed)
	h.h2Encoder.reset(h.h2Template)
	h.streams.clear()
	h.base, h.next, h.written, h.unsent, h.acks = 1, 1, 1, 0, 0
	h.maxStreams, h.initial, h.window = h2Requests, h2FirstWindow, h2FirstWindow
	h.taken, h.goAway, h.lastID = 0, false, h2LargestSize
}

func (h *h2Codec) end() verdict             { return 0 }
func (h *h2Codec) failure(v verdict) string { return statusText(v) }

func (h *h2Codec) answer(b []byte) (n int, v verdict, err error) {
	for len(b)-n >= h2FrameHead {
		size := h2FrameHead + int(b[n])<<16 + int(b[n+1])<<8 + int(b[n+2])
		if size > h2FrameHead+h2FrameSize {
			return n, 0, wrongf("a frame of %d bytes", size)
		}
		if len(b)-n < size {
			break
		}
		h.in.b = b[n : n+size]
		n += size
		f, err := h.framer.ReadFrame()
		if err != nil {
			return n, 0, wrongf("HTTP/2: %v", err)
		}
		if v, err = h.frame(f); v != 0 || err != nil {
			return n, v, err
		}
	}
	return n, 0, nil
}

func (h *h2Codec) frame(f http2.Frame) (verdict, error) {
	switch f := f.(type) {
	case *http2.DataFrame:
		return h.data(f)
	case *http2.HeadersFrame:
		h.block = h2Block{id: f.StreamID, ends: f.StreamEnded(), length: -1}
		return h.fields(f.HeaderBlockFragment(), f.HeadersEnded())
	case *http2.ContinuationFrame:
		return h.fields(f.HeaderBlockFragment(), f.HeadersEnded())
	case *http2.RSTStreamFrame:
		s, err := h.stream(f.StreamID)
		if s == nil {
			return 0, err
		}
		h.reason = f.ErrCode
		return h.finish(s, f.StreamID, complete|aborted)
	case *http2.GoAwayFrame:
		h.goAway, h.goCode, h.lastID = true, f.ErrCode, min(h.lastID, f.LastStreamID)
	case *http2.SettingsFrame:
		if f.IsAck() {
			return 0, nil
		}
		if err := f.ForeachSetting(h.set); err != nil {
			return 0, err
		}
		if err := h.acknowledge(); err != nil {
			return 0, err
		}
		return 0, h.framer.WriteSettingsAck()
	case *http2.PingFrame:
		if f.IsAck() {
			return 0, nil
		}
		if err := h.acknowledge(); err != nil {
			return 0, err
		}
		return 0, h.framer.WritePing(true, f.Data)
	case *http2.WindowUpdateFrame:
		return 0, h.widen(f)
	case *http2.PushPromiseFrame:
		return 0, wrongf("PUSH_PROMISE, which SETTINGS have forbidden")
	}
	return 0, nil // what is not known is ignored
}

// h2Acks is how many acknowledgements of PING and SETTINGS may be queued.
const h2Acks = 10_000

// acknowledge counts one more to queue. A server that asks for so many and does
// not read them would make the queue grow for ever.
func (h *h2Codec) acknowledge() error {
	if h.acks++; h.acks > h2Acks {
		return wrongf("%d acknowledgements of PING and SETTINGS wait for the server to read",
			h2Acks)
	}
	return nil
}

// stream returns a stream, nil if it is over. The server can't know of one
// whose request is queued: to take an answer to it, and queue the next request,
// would make the queue grow for ever if the server does not read.
func (h *h2Codec) stream(id uint32) (*h2Stream, error) {
	if id%2 == 0 || id >= h.written {
		return nil, wrongf("a frame of stream %d, which is not open", id)
	}
	if id < h.base {
		return nil, nil
	}
	s := h.streams.at(int(id-h.base) / 2)
	if s.done {
		return nil, nil
	}
	return s, nil
}

// finish is for a stream that the server has ended. If it did so early, the
// rest of the request is cancelled.
func (h *h2Codec) finish(s *h2Stream, id uint32, v verdict) (verdict, error) {
	if len(s.body) > 0 {
		h.unsent--
		s.body = nil
		if v&aborted == 0 {
			_ = h.framer.WriteRSTStream(id, http2.ErrCodeCancel)
		}
	}
	h.answered = int(id-h.base) / 2
	return v, nil
}

// cancel ends the i-th stream, which has not been answered.
func (h *h2Codec) cancel(i int) {
	s := h.streams.at(i)
	if len(s.body) > 0 {
		h.unsent--
		s.body = nil
	}
	_ = h.framer.WriteRSTStream(h.base+2*uint32(i), http2.ErrCodeCancel)
}

// complete checks an answer as a whole.
func (h *h2Codec) complete(s *h2Stream, id uint32) (verdict, error) {
	if s.length >= 0 && s.length != s.got && !h.head && s.status != 304 {
		return 0, wrongf("a body of %d bytes, Content-Length is %d", s.got, s.length)
	}
	v := complete | verdict(s.status)<<statusShift
	if s.status >= 400 {
		v |= failed
	}
	return h.finish(s, id, v)
}

func (h *h2Codec) data(f *http2.DataFrame) (verdict, error) {
	n := int64(f.Length) // with the padding
	if h.taken += n; h.taken > h2ConnWindow {
		return 0, wrongf("more DATA than the connection's window allows")
	}
	if h.taken >= h2ConnWindow/2 {
		_ = h.framer.WriteWindowUpdate(0, uint32(h.taken))
		h.taken = 0
	}
	s, err := h.stream(f.StreamID)
	if s == nil {
		return 0, err
	}
	if s.status == 0 {
		return 0, wrongf("DATA in front of HEADERS")
	}
	s.got += int64(len(f.Data()))
	if s.taken += n; s.taken > h2StreamWindow {
		return 0, wrongf("more DATA than the stream's window allows")
	}
	if f.StreamEnded() {
		return h.complete(s, f.StreamID)
	}
	if s.taken >= h2StreamWindow/2 {
		_ = h.framer.WriteWindowUpdate(f.StreamID, uint32(s.taken))
		s.taken = 0
	}
	return 0, nil
}

// fields takes a part of a block, also if its stream is over: it may change
// the decoder's table.
func (h *h2Codec) fields(part []byte, last bool) (verdict, error) {
	b := &h.block
	if b.size += len(part); b.size > maxUnparsed {
		return 0, wrongf("header fields of more than %d bytes", maxUnparsed)
	}
	if _, err := h.decoder.Write(part); err != nil {
		return 0, wrongf("HPACK: %v", err)
	}
	if b.err != nil || !last {
		return 0, b.err
	}
	if err := h.decoder.Close(); err != nil {
		return 0, wrongf("HPACK: %v", err)
	}
	s, err := h.stream(b.id)
	switch {
	case s == nil:
		return 0, err
	case s.status > 0: // trailers
		if !b.ends || b.status > 0 {
			return 0, wrongf("a second head")
		}
	case b.status < 100 || b.status == 101:
		return 0, wrongf("a head with the status %d", b.status)
	case b.status < 200: // the answer is still to come
		if b.ends {
			return 0, wrongf("an answer that ends with the status %d", b.status)
		}
	default:
		s.status, s.length = b.status, b.length
	}
	if b.ends {
		return h.complete(s, b.id)
	}
	return 0, nil
}

// field is called for each header field of an answer.
func (h *h2Codec) field(f hpack.HeaderField) {
	b := &h.block
	switch f.Name {
	case ":status":
		n, err := strconv.ParseUint(f.Value, 10, 10)
		if b.status = int(n); err != nil || len(f.Value) != 3 {
			b.err = wrongf(":status %q", f.Value)
		}
	case "content-length":
		n, err := strconv.ParseUint(f.Value, 10, 63)
		if b.length = int64(n); err != nil {
			b.err = wrongf("Content-Length %q", f.Value)
		}
	}
}

// set applies one of the server's settings.
func (h *h2Codec) set(s http2.Setting) error {
	if err := s.Valid(); err != nil {
		return wrongf("SETTINGS: %v", err)
	}
	switch s.ID {
	case http2.SettingMaxConcurrentStreams:
		h.maxStreams = int(s.Val)
	case http2.SettingHeaderTableSize:
		h.h2Encoder.limit(h.h2Template, s.Val)
	case http2.SettingInitialWindowSize:
		more := int64(s.Val) - h.initial
		h.initial += more
		for i := range h.streams.count {
			if w := &h.streams.at(i).window; *w+more <= h2LargestSize {
				*w += more
			} else {
				return wrongf("a window of more than %d bytes", h2LargestSize)
			}
		}
	}
	return nil
}

func (h *h2Codec) widen(f *http2.WindowUpdateFrame) error {
	w := &h.window
	if f.StreamID != 0 {
		s, err := h.stream(f.StreamID)
		if s == nil {
			return err
		}
		w = &s.window
	}
	if *w += int64(f.Increment); *w > h2LargestSize {
		return wrongf("a window of more than %d bytes", h2LargestSize)
	}
	return nil
}

// abortErr says why a stream ended without an answer.
func (h *h2Codec) abortErr() error {
	return fmt.Errorf("%w: RST_STREAM with %v", errClosed, h.reason)
}
