package main

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"time"
)

// store holds the keys, in shards so that Processors seldom meet. A shard's
// mutex blocks the Processor of a coroutine that finds it taken, which is right
// only because it is held for no longer than it takes to find or change some
// keys, and never across a park.
type store struct {
	shards []shard
	seed   maphash.Seed
}

// shard is one part of the keys.
type shard struct {
	mu       sync.Mutex
	keys     map[string]*entry
	volatile map[string]*entry // those of keys that have a deadline
	_        [64]byte          // no two in a cache line
}

// entry is a key with its value. Under its shard's mu, but for the bytes of
// value, which never change: so an answer may be sent from them after mu is
// free.
type entry struct {
	key      string
	value    []byte
	deadline int64 // ms since 1970, 0 for none
}

// maxShards is how many fit in a set.
const maxShards = 64

func newStore(processors int) *store {
	n := 1
	if processors > 1 {
		n = maxShards
	}
	db := &store{shards: make([]shard, n), seed: maphash.MakeSeed()}
	for i := range db.shards {
		db.shards[i].clear()
	}
	return db
}

func now() int64 { return time.Now().UnixMilli() }

func (db *store) index(key []byte) int {
	if len(db.shards) == 1 {
		return 0
	}
	return int(maphash.Bytes(db.seed, key) % maxShards)
}

// lock returns a key's shard, locked.
func (db *store) lock(key []byte) *shard {
	s := &db.shards[db.index(key)]
	s.mu.Lock()
	return s
}

// maxStep is how many keys of one command are dealt with in one step: some
// 100 µs, which others may be made to wait.
const maxStep = 1000

// inSteps calls f with part after part of args, whose every width-th is a key,
// with the shards of the part's keys locked. It calls pause in between. So a
// command of up to maxStep keys is one step for everybody else, a longer one
// several.
func (db *store) inSteps(args [][]byte, width int, pause func(), f func(part [][]byte)) {
	for len(args) > 0 {
		part := args[:min(len(args), maxStep*width)]
		locked := db.lockAll(part, width)
		f(part)
		db.unlockAll(locked)
		if args = args[len(part):]; len(args) > 0 {
			pause()
		}
	}
}

// lockAll locks the shards of all keys, one in every step of args: in order, so
// that no two wait for each other. What is then done is one step for everybody
// else.
func (db *store) lockAll(args [][]byte, step int) (set uint64) {
	for i := 0; i < len(args); i += step {
		set |= 1 << db.index(args[i])
	}
	for left := set; left != 0; left &= left - 1 {
		db.shards[bits.TrailingZeros64(left)].mu.Lock()
	}
	return set
}

func (db *store) unlockAll(set uint64) {
	for ; set != 0; set &= set - 1 {
		db.shards[bits.TrailingZeros64(set)].mu.Unlock()
	}
}

// shard returns a key's shard, which the caller has locked.
func (db *store) shard(key []byte) *shard { return &db.shards[db.index(key)] }

// size returns how many keys there are, with those that have expired and were
// not found out.
func (db *store) size() (n int) {
	for i := range db.shards {
		s := &db.shards[i]
		s.mu.Lock()
		n += len(s.keys)
		s.mu.Unlock()
	}
	return n
}

// flush deletes all keys at once.
func (db *store) flush() {
	for i := range db.shards {
		db.shards[i].mu.Lock()
	}
	for i := range db.shards {
		db.shards[i].clear()
		db.shards[i].mu.Unlock()
	}
}

func (s *shard) clear() { s.keys, s.volatile = map[string]*entry{}, map[string]*entry{} }

// findLocked returns the entry of a key, or nil. It does not allocate.
func (s *shard) findLocked(key []byte) *entry {
	e := s.keys[string(key)]
	if e != nil && e.deadline != 0 && e.deadline <= now() {
		s.deleteLocked(e)
		return nil
	}
	return e
}

// setLocked gives a key, whose entry is e if it has one, a value, which becomes
// the store's.
func (s *shard) setLocked(e *entry, key, value []byte) *entry {
	if e == nil {
		e = &entry{key: string(key)}
		s.keys[e.key] = e
	}
	e.value = value
	return e
}

// setDeadlineLocked says when an entry ends; 0 is never.
func (s *shard) setDeadlineLocked(e *entry, deadline int64) {
	if deadline == 0 && e.deadline != 0 {
		delete(s.volatile, e.key)
	} else if deadline != 0 && e.deadline == 0 {
		s.volatile[e.key] = e
	}
	e.deadline = deadline
}

func (s *shard) deleteLocked(e *entry) {
	s.setDeadlineLocked(e, 0)
	delete(s.keys, e.key)
}
