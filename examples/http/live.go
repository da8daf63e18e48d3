package main

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/net/http"
)

// live is the pages that show new notes, each by a WebSocket.
type live struct {
	mu    sync.Mutex // never held across a wait
	pages map[*channel.Chan[[]byte]]bool
	ended bool
}

const (
	pending    = 16 // notes that a page may not have taken yet
	writeLimit = 10 * time.Second
)

var upgrader = websocket.Upgrader{} // for pages of the same origin

// serve is GET /live. It returns when the page has gone, or takes its notes too
// slowly.
func (l *live) serve(w http.ResponseWriter, r *http.Request) {
	c, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // it has answered
	}
	defer c.Close()
	messages := channel.Make[[]byte](pending)
	if !l.add(messages) {
		return
	}
	defer l.drop(messages)
	if _, err := netco.Go(func() {
		defer l.drop(messages)
		for { // a page says nothing but goodbye
			if _, _, err := c.NextReader(); err != nil { //netco-vet:ok gorilla's lock, held briefly
				return
			}
		}
	}); err != nil {
		return
	}
	for m := range messages.All() {
		c.SetWriteDeadline(time.Now().Add(writeLimit))
		if c.WriteMessage(websocket.TextMessage, m) != nil {
			return
		}
	}
	c.WriteControl(websocket.CloseMessage,
		websocket.FormatCloseMessage(websocket.CloseGoingAway, ""), time.Now().Add(writeLimit))
}

func (l *live) add(messages *channel.Chan[[]byte]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	if l.pages == nil {
		l.pages = map[*channel.Chan[[]byte]]bool{}
	}
	l.pages[messages] = true
	return true
}

// drop forgets a page, once, and ends its messages.
func (l *live) drop(messages *channel.Chan[[]byte]) {
	l.mu.Lock()
	known := l.pages[messages]
	delete(l.pages, messages)
	l.mu.Unlock()
	if known {
		messages.Close()
	}
}

// publish shows a note to all pages. It waits for none: one with too many
// pending is dropped.
func (l *live) publish(x note) {
	text, err := json.Marshal(x)
	if err != nil {
		return
	}
	var slow []*channel.Chan[[]byte]
	l.mu.Lock()
	for messages := range l.pages {
		if !messages.TrySend(text) {
			slow = append(slow, messages)
		}
	}
	l.mu.Unlock()
	for _, messages := range slow {
		l.drop(messages)
	}
}

// close says goodbye to all pages.
func (l *live) close() {
	l.mu.Lock()
	l.ended = true
	all := l.pages
	l.pages = nil
	l.mu.Unlock()
	for messages := range all {
		messages.Close()
	}
}
