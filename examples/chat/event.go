package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gobwas/ws"
)

// An event is what a client is sent. Which fields are set depends on its type:
//
//	message  Name said Text at Time
//	join     Name came in
//	leave    Name left, because of Text
//	nick     Name is called To from here on
//	away     Name has been silent for a while
//	back     Name is no longer away
//	room     the answer to /join: the client, called Name, is in Room, with
//	         People; History is what was said before
//	who      the answer to /who: People
//	rooms    the answer to /rooms: Rooms
//	missed   Count messages were dropped because the client reads too slowly
//	info     Text, for people
//	pong     the answer to /ping
//	error    Text says why something was refused; Code is taken where a name is
type event struct {
	Type    string     `json:"type"`
	Room    string     `json:"room,omitempty"`
	Name    string     `json:"name,omitempty"`
	To      string     `json:"to,omitempty"`
	Text    string     `json:"text,omitempty"`
	Code    string     `json:"code,omitempty"`
	Time    int64      `json:"time,omitempty"` // ms since 1970
	Count   uint64     `json:"count,omitempty"`
	People  []person   `json:"people,omitempty"`
	Rooms   []roomInfo `json:"rooms,omitempty"`
	History []event    `json:"history,omitempty"`
}

type person struct {
	Name string `json:"name"`
	Away bool   `json:"away,omitempty"`
}

type roomInfo struct {
	Name   string `json:"name"`
	People int    `json:"people"`
}

// An encoding holds an event in the forms that clients have asked for, so that
// a broadcast encodes it once for each. One coroutine uses it at a time.
type encoding struct {
	event
	frame, line []byte
}

// asFrame returns the event as a WebSocket frame.
func (e *encoding) asFrame() []byte {
	if e.frame == nil {
		text, err := json.Marshal(e.event)
		if err != nil {
			panic("chat: " + err.Error())
		}
		e.frame = ws.MustCompileFrame(ws.NewTextFrame(text))
	}
	return e.frame
}

// asLine returns the event as lines of text.
func (e *encoding) asLine() []byte {
	if e.line == nil {
		e.line = []byte(e.event.String() + "\n")
	}
	return e.line
}

// String is for terminals: what people say begins with <, all else with * or !.
func (e event) String() string {
	switch e.Type {
	case "message":
		return fmt.Sprintf("<%s> %s", e.Name, e.Text)
	case "join":
		return fmt.Sprintf("* %s joined", e.Name)
	case "leave":
		return fmt.Sprintf("* %s left: %s", e.Name, e.Text)
	case "nick":
		return fmt.Sprintf("* %s is now %s", e.Name, e.To)
	case "away":
		return fmt.Sprintf("* %s is away", e.Name)
	case "back":
		return fmt.Sprintf("* %s is back", e.Name)
	case "room":
		lines := make([]string, 0, len(e.History)+1)
		for _, h := range e.History {
			lines = append(lines, time.UnixMilli(h.Time).Format("[15:04] ")+h.String())
		}
		return strings.Join(append(lines, fmt.Sprintf("* you are %s in %s, with %s",
			e.Name, e.Room, names(e.People))), "\n")
	case "who":
		return "* here: " + names(e.People)
	case "rooms":
		list := make([]string, len(e.Rooms))
		for i, r := range e.Rooms {
			list[i] = fmt.Sprintf("%s (%d)", r.Name, r.People)
		}
		return "* rooms: " + strings.Join(list, ", ")
	case "missed":
		return fmt.Sprintf("* you read too slowly: %d messages were dropped", e.Count)
	case "pong":
		return "* pong"
	case "error":
		return "! " + e.Text
	default:
		return "* " + e.Text
	}
}

func names(people []person) string {
	list := make([]string, len(people))
	for i, p := range people {
		list[i] = p.Name
		if p.Away {
			list[i] += " (away)"
		}
	}
	return strings.Join(list, ", ")
}
