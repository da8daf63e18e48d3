package main

import (
	"slices"

	"github.com/netco-go/netco/sync"
)

// A room sends what one member says to all, in the same order.
type room struct {
	name string
	uses int // under server.mu: members, and clients that are about to be

	mu      sync.Mutex
	members map[*client]struct{}
}

// join lets c in: the others see it come, and it gets the list of members.
func (r *room) join(c *client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broadcastLocked(event{Type: "join", Name: c.name})
	r.members[c] = struct{}{}
	c.room = r
	c.deliver(event{Type: "room", Room: r.name, Name: c.name, People: r.peopleLocked()}.encode())
}

// leave is the reverse. While all are leaving, it is not worth a message each.
func (r *room) leave(c *client, why string, quietly bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.members, c)
	c.room = nil
	if !quietly {
		r.broadcastLocked(event{Type: "leave", Name: c.name, Text: why})
	}
}

// rename has the others know a member by another name.
func (r *room) rename(c *client, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broadcastLocked(event{Type: "nick", Name: c.name, To: name})
	c.name = name
}

func (r *room) broadcast(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broadcastLocked(e)
}

func (r *room) broadcastLocked(e event) {
	m := e.encode()
	for c := range r.members {
		c.deliver(m)
	}
}

// peopleLocked returns the members' names.
func (r *room) peopleLocked() []string {
	names := make([]string, 0, len(r.members))
	for c := range r.members {
		names = append(names, c.name)
	}
	slices.Sort(names)
	return names
}
