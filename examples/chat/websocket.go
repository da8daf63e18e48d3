package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/netco-go/netco"
)

// webWire is a WebSocket: lines come as text messages, events go as JSON.
type webWire struct{ r wsutil.Reader }

// open makes a WebSocket of a request and has a coroutine serve it. Called on a
// goroutine of net/http, which ends with it.
func (s *server) open(w http.ResponseWriter, r *http.Request) {
	if err := s.checkOrigin(r); err != nil {
		s.counts.origins.Add(1)
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	conn, rw, _, err := ws.UpgradeHTTP(r, w)
	if err != nil {
		if conn != nil {
			conn.Close()
		}
		return
	}
	c := newWeb(s, conn, rw.Reader)
	if _, err := netco.Go(c.serve); err != nil {
		conn.Close()
	}
}

// newWeb has a buffer of its own: that of net/http keeps its whole connection.
func newWeb(s *server, conn net.Conn, read *bufio.Reader) *client {
	early, _ := read.Peek(read.Buffered())
	var in io.Reader = conn
	if len(early) > 0 {
		in = io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn)
	}
	w := &webWire{}
	c := newClient(s, conn, bufio.NewReaderSize(in, 1024), w)
	w.r = wsutil.Reader{Source: c.in, State: ws.StateServerSide, CheckUTF8: true,
		MaxFrameSize:   c.maxMessage(),
		OnIntermediate: func(h ws.Header, body io.Reader) error { return c.control(h, body) }}
	return c
}

// checkOrigin: a browser says which site's page opens a WebSocket, and does so
// for any page. Other programs say nothing, or what they like.
func (s *server) checkOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(s.limits.origins, origin) {
		return nil
	}
	if u, err := url.Parse(origin); err == nil && u.Host != "" &&
		strings.EqualFold(u.Host, r.Host) {
		return nil
	}
	return fmt.Errorf("a page of origin %q may not open a WebSocket of %q: "+
		"the server's flag -origins lists others that may", origin, r.Host)
}

func (c *client) maxMessage() int64 { return int64(c.s.limits.text + commandRoom) }

func (w *webWire) read(c *client) (line string, ok bool, err error) {
	h, err := w.r.NextFrame()
	if err != nil {
		return "", false, broken(err)
	}
	if h.OpCode.IsControl() {
		return "", false, c.control(h, &w.r)
	}
	most := c.maxMessage()
	b, err := io.ReadAll(io.LimitReader(&w.r, most+1))
	switch {
	case err != nil:
		return "", false, broken(err)
	case int64(len(b)) > most: // of frames that are short enough each
		return "", false, broken(wsutil.ErrFrameTooLarge)
	case h.OpCode == ws.OpBinary:
		c.out.Send(ws.MustCompileFrame(ws.NewBinaryFrame(b))) // returned, for load generators
		return "", false, nil
	}
	return string(b), true, nil
}

// control answers a ping and takes the peer's close.
func (c *client) control(h ws.Header, body io.Reader) error {
	b, err := io.ReadAll(body)
	if err != nil {
		return broken(err)
	}
	switch h.OpCode {
	case ws.OpPing:
		c.out.Send(ws.MustCompileFrame(ws.NewPongFrame(b)))
	case ws.OpClose:
		if len(b) > 0 {
			code, reason := ws.ParseCloseFrameData(b)
			if err := ws.CheckCloseFrameData(code, reason); err != nil {
				return broken(err)
			}
		}
		return closed
	}
	return nil
}

// closed is the end that the peer has begun.
var closed = &ending{"quit", ws.StatusNormalClosure, "quit"}

// broken returns what ends a WebSocket whose frames cannot be read.
func broken(err error) error {
	var why *ending
	var protocol ws.ProtocolError
	switch {
	case errors.As(err, &why):
		return err
	case errors.Is(err, wsutil.ErrFrameTooLarge):
		return &ending{"malformed", ws.StatusMessageTooBig, "a message is too long"}
	case errors.Is(err, wsutil.ErrInvalidUTF8):
		return &ending{"malformed", ws.StatusInvalidFramePayloadData, "a text is not UTF-8"}
	case errors.As(err, &protocol), errors.Is(err, ws.ErrHeaderLengthMSB):
		return &ending{"malformed", ws.StatusProtocolError, err.Error()}
	}
	return err
}

func (w *webWire) encode(e *encoding) []byte { return e.asFrame() }

func (w *webWire) ping() []byte { return ws.CompiledPing }

func (w *webWire) bye(why *ending) []byte {
	if why.code == ws.StatusAbnormalClosure { // is never sent
		return ws.MustCompileFrame(ws.NewCloseFrame(nil))
	}
	return ws.MustCompileFrame(ws.NewCloseFrame(ws.NewCloseFrameBody(why.code, why.text)))
}

// answered discards what the peer has sent before it has read the close frame.
// A close with something unread would be a reset, which may overtake that
// frame.
func (w *webWire) answered(c *client, why *ending) {
	if why == closed || why == lost {
		return
	}
	c.conn.SetReadDeadline(time.Now().Add(c.s.limits.grace))
	if why.kind == "malformed" || why == late { // where the next frame begins is unknown
		io.Copy(io.Discard, c.in)
		return
	}
	for {
		if _, _, err := w.read(c); err != nil {
			return
		}
	}
}
