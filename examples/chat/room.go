package main

import (
	"slices"
	"strings"

	"github.com/netco-go/netco/sync"
)

// A room sends what one member says to all, in the same order.
type room struct {
	name string
	uses int // under server.mu: members, and clients that are about to be

	mu      sync.Mutex
	members map[*client]struct{}
	history []event // the oldest first
}

// join lets c in: the others see it come, and it gets what was said before.
func (r *room) join(c *client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broadcastLocked(event{Type: "join", Name: c.name})
	r.members[c] = struct{}{}
	c.room = r
	c.deliver(&encoding{event: event{Type: "room", Room: r.name, Name: c.name,
		People: r.peopleLocked(), History: r.history}})
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

// change applies f, which changes what others see of a member, and broadcasts
// e.
func (r *room) change(e event, f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	r.broadcastLocked(e)
}

// say broadcasts a message and keeps it for newcomers.
func (r *room) say(e event, keep int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if keep > 0 {
		if len(r.history) >= keep {
			// A copy, as encodings may have the old one.
			r.history = slices.Clone(r.history[len(r.history)-keep+1:])
		}
		r.history = append(r.history, e)
	}
	r.broadcastLocked(e)
}

func (r *room) broadcastLocked(e event) {
	n := &encoding{event: e}
	for c := range r.members {
		c.deliver(n)
	}
}

// people returns the members, by name.
func (r *room) people() []person {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.peopleLocked()
}

func (r *room) peopleLocked() []person {
	list := make([]person, 0, len(r.members))
	for c := range r.members {
		list = append(list, person{c.name, c.away})
	}
	slices.SortFunc(list, func(a, b person) int { return strings.Compare(a.Name, b.Name) })
	return list
}
