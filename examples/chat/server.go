package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/netco-go/netco/sync"
)

// server holds the clients by their names and the rooms.
type server struct {
	limits *limits
	gone   sync.WaitGroup // the clients, until their connections are closed
	ending atomic.Bool    // set under mu

	mu     sync.Mutex // never held together with a room's
	names  map[string]*client
	rooms  map[string]*room
	guests int
}

func newServer(l *limits) *server {
	return &server{limits: l, names: map[string]*client{}, rooms: map[string]*room{}}
}

// end lets no more clients in, and ends all with a last message. It returns
// when they are gone, after their grace at the latest.
func (s *server) end() {
	s.mu.Lock()
	s.ending.Store(true)
	list := slices.Collect(maps.Values(s.names))
	s.mu.Unlock()
	for _, c := range list {
		c.end(goingAway)
	}
	s.gone.WaitTimeout(3 * s.limits.grace) // to write, for an answer, to write again
}

// add gives c a name, false once the end has begun.
func (s *server) add(c *client) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending.Load() {
		return false
	}
	for c.name == "" || s.names[fold(c.name)] != nil {
		s.guests++
		c.name = fmt.Sprint("guest-", s.guests)
	}
	s.names[fold(c.name)] = c
	s.gone.Add(1)
	return true
}

// remove makes c's name free. Once that is done another client may have it, and
// keeps it if c is removed again.
func (s *server) remove(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names[fold(c.name)] == c {
		delete(s.names, fold(c.name))
	}
}

var errTaken = errors.New("that name is taken")

// rename reserves a name for c in place of its old one.
func (s *server) rename(c *client, name string) error {
	if err := checkName(name, s.limits.name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if by := s.names[fold(name)]; by != nil && by != c {
		return errTaken
	}
	delete(s.names, fold(c.name))
	s.names[fold(name)] = c
	return nil
}

// enter returns a room for a client to join, which it must leave by exit.
func (s *server) enter(name string) (*room, error) {
	if err := checkName(name, s.limits.name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rooms[fold(name)]
	if r == nil {
		if len(s.rooms) >= s.limits.rooms {
			return nil, fmt.Errorf("there are %d rooms, and there may not be more", len(s.rooms))
		}
		r = &room{name: name, members: map[*client]struct{}{}}
		s.rooms[fold(name)] = r
	}
	r.uses++
	return r, nil
}

// exit ends a room when the last has left.
func (s *server) exit(r *room) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.uses--; r.uses == 0 {
		delete(s.rooms, fold(r.name))
	}
}

// fold makes names that differ in case only the same.
func fold(name string) string { return strings.ToLower(name) }

func checkName(name string, most int) error {
	switch {
	case name == "":
		return errors.New("a name is missing")
	case len(name) > most:
		return fmt.Errorf("a name of %d bytes, %d at most", len(name), most)
	}
	if strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N) && r != '-' && r != '_'
	}) {
		return errors.New("a name has letters, digits, - and _ only")
	}
	return nil
}

// clean drops from a text what would change more than its own place on a
// screen: control characters, and what reverses the direction of others' text.
func clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, text))
}
