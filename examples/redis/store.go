package main

import (
	"time"

	"github.com/netco-go/netco/sync"
)

// store holds the keys. Its mutex is held for no longer than it takes to find
// or change some keys. What is done meanwhile is one step for all others.
type store struct {
	mu       sync.Mutex
	keys     map[string]*entry
	volatile map[string]*entry // those of keys that have a deadline
}

// entry is a key with its value. Under the store's mu, but for the bytes of
// value, which never change: so an answer may be sent from them after mu is
// free.
type entry struct {
	key      string
	value    []byte
	deadline int64 // ms since 1970, 0 for none
}

func newStore() *store {
	db := &store{}
	db.clearLocked()
	return db
}

func now() int64 { return time.Now().UnixMilli() }

func (s *store) clearLocked() { s.keys, s.volatile = map[string]*entry{}, map[string]*entry{} }

// findLocked returns the entry of a key, or nil. It does not allocate.
func (s *store) findLocked(key []byte) *entry {
	e := s.keys[string(key)]
	if e != nil && e.deadline != 0 && e.deadline <= now() {
		s.deleteLocked(e)
		return nil
	}
	return e
}

// setLocked gives a key a value, which becomes the store's, and a deadline, 0
// for none.
func (s *store) setLocked(key, value []byte, deadline int64) {
	e := s.keys[string(key)]
	if e == nil {
		e = &entry{key: string(key)}
		s.keys[e.key] = e
	}
	e.value = value
	if e.deadline != deadline {
		s.setDeadlineLocked(e, deadline)
	}
}

func (s *store) setDeadlineLocked(e *entry, deadline int64) {
	if deadline == 0 {
		delete(s.volatile, e.key)
	} else {
		s.volatile[e.key] = e
	}
	e.deadline = deadline
}

func (s *store) deleteLocked(e *entry) {
	s.setDeadlineLocked(e, 0)
	delete(s.keys, e.key)
}

// expire deletes keys that have expired and that no client asks for. It looks
// at some at random, as redis does, and reports whether it should look again at
// once: more than a quarter of them had. A map's order is random.
func (s *store) expire() (again bool) {
	const sample = 20
	s.mu.Lock()
	defer s.mu.Unlock()
	looked, gone, now := 0, 0, now()
	for _, e := range s.volatile {
		if looked++; looked > sample {
			break
		}
		if e.deadline <= now {
			s.deleteLocked(e)
			gone++
		}
	}
	return gone*4 > looked
}
