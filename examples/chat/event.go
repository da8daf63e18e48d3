package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gobwas/ws"
)

// An event is what a client is sent. Which fields are set depends on its type:
//
//	message  Name said Text at Time
//	join     Name came in
//	leave    Name left, because of Text
//	nick     Name is called To from here on
//	room     the answer to /join: the client, called Name, is in Room, with
//	         People
//	missed   Count messages were dropped because the client reads too slowly
//	info     Text, for people
//	pong     the answer to /ping
//	error    Text says why something was refused; Code is taken where a name is
type event struct {
	Type   string   `json:"type"`
	Room   string   `json:"room,omitempty"`
	Name   string   `json:"name,omitempty"`
	To     string   `json:"to,omitempty"`
	Text   string   `json:"text,omitempty"`
	Code   string   `json:"code,omitempty"`
	Time   int64    `json:"time,omitempty"` // ms since 1970
	Count  uint64   `json:"count,omitempty"`
	People []string `json:"people,omitempty"`
}

// A message is an event in both forms, so that a broadcast encodes it once.
type message struct{ frame, line []byte }

func (e event) encode() message {
	text, err := json.Marshal(e)
	if err != nil {
		panic("chat: " + err.Error())
	}
	return message{ws.MustCompileFrame(ws.NewTextFrame(text)), []byte(e.String() + "\n")}
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
	case "room":
		return fmt.Sprintf("* you are %s in %s, with %s", e.Name, e.Room,
			strings.Join(e.People, ", "))
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
