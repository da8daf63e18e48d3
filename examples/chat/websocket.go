package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/netco-go/netco"
)

// page is one file: there is nothing to fetch beside it.
//
//go:embed page.html
var page string

// policy lets in the page's own script and style, connections to its server,
// and nothing that a message might bring with it.
const policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " +
	"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// handler serves the page and the WebSocket that it opens.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		w.Write([]byte(page))
	})
	mux.HandleFunc("GET /ws", s.open)
	return mux
}

// webWire is a WebSocket: lines come as text messages, events go as JSON.
type webWire struct{ r wsutil.Reader }

// open makes a WebSocket of a request and has a coroutine serve it. Called on a
// goroutine of net/http, which ends with it.
func (s *server) open(w http.ResponseWriter, r *http.Request) {
	if err := checkOrigin(r); err != nil {
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
	in := io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn)
	w := &webWire{}
	c := newClient(s, conn, bufio.NewReaderSize(in, 1024), w)
	w.r = wsutil.Reader{Source: c.in, State: ws.StateServerSide, CheckUTF8: true,
		MaxFrameSize:   c.maxMessage(),
		OnIntermediate: func(h ws.Header, body io.Reader) error { return c.control(h, body) }}
	return c
}

// checkOrigin: a browser says which site's page opens a WebSocket, and does so
// for any page. Other programs say nothing, or what they like.
func checkOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if u, err := url.Parse(origin); origin == "" || err == nil && u.Host != "" &&
		strings.EqualFold(u.Host, r.Host) {
		return nil
	}
	return fmt.Errorf("a page of origin %q may not open a WebSocket of %q", origin, r.Host)
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
var closed = &ending{code: ws.StatusNormalClosure, text: "quit"}

// broken returns what ends a WebSocket whose frames cannot be read.
func broken(err error) error {
	var protocol ws.ProtocolError
	switch {
	case errors.Is(err, wsutil.ErrFrameTooLarge):
		return &ending{ws.StatusMessageTooBig, "a message is too long", true}
	case errors.Is(err, wsutil.ErrInvalidUTF8):
		return &ending{ws.StatusInvalidFramePayloadData, "a text is not UTF-8", true}
	case errors.As(err, &protocol), errors.Is(err, ws.ErrHeaderLengthMSB):
		return &ending{ws.StatusProtocolError, err.Error(), true}
	}
	return err
}

func (w *webWire) form(m message) []byte { return m.frame }

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
	if why.garbled {
		io.Copy(io.Discard, c.in)
		return
	}
	for {
		if _, _, err := w.read(c); err != nil {
			return
		}
	}
}
