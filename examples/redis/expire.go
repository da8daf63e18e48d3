package main

// Keys that have expired are found when a client asks for them, and otherwise
// by looking at some at random, as redis does it: in each round some of every
// shard, and again while more than a quarter of them had expired.
const (
	sample    = 20
	maxRounds = 64
)

// expire deletes keys that have expired. It calls pause between locks.
func (db *store) expire(pause func()) {
	for i := range db.shards {
		for range maxRounds {
			if looked, gone := db.shards[i].expireSome(); gone*4 <= looked {
				break
			}
			pause()
		}
	}
}

// expireSome looks at some keys with a deadline. A map's order is random, and
// so are they.
func (s *shard) expireSome() (looked, gone int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.volatile) == 0 {
		return 0, 0
	}
	now := now()
	for _, e := range s.volatile {
		if looked++; looked > sample {
			break
		}
		if e.deadline <= now {
			s.deleteLocked(e)
			gone++
		}
	}
	return looked, gone
}
