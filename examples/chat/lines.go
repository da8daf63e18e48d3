package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
)

// lineWire is for terminals: a line each way.
type lineWire struct{}

// commandRoom is what a line may have beside a message.
const commandRoom = 32

func newLines(s *server, conn net.Conn) *client {
	c := newClient(s, conn, bufio.NewReaderSize(conn, s.limits.text+commandRoom), lineWire{})
	c.send(event{Type: "info", Text: "welcome; /join a room, /help lists the commands"})
	return c
}

func (lineWire) read(c *client) (line string, ok bool, err error) {
	b, err := c.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		for errors.Is(err, bufio.ErrBufferFull) { // up to its end, within the time for one
			_, err = c.in.ReadSlice('\n')
		}
		c.refuse(fmt.Errorf("a line of more than %d bytes", c.s.limits.text))
		return "", false, err
	}
	return string(bytes.TrimRight(b, "\r\n")), err == nil, err
}

func (lineWire) form(m message) []byte { return m.line }

func (lineWire) bye(why *ending) []byte { return []byte("* goodbye: " + why.text + "\n") }

func (lineWire) answered(*client, *ending) {}
