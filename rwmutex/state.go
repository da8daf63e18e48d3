package rwmutex

import "fmt"

// The state word is a count and five flags:
//
//	63 ... 5   4     3         2      1       0
//	count      due   starving  woken  queued  writer
//
//	count      readers that hold the lock, and visitors
//	writer     a writer holds it
//	queued     the queue is not empty
//	woken      a writer has been taken out of the queue and woken to try for the lock: the contender. There is one at most
//	starving   only who comes from the queue gets in; queued or woken is set too
//	due        queued and not woken: who unlocks must serve the queue. With a contender on its way, unlocking readers need do nothing
//
// A visitor is a reader that has added its 1, which RLock does before it looks, and has found a writer in, or the lock starving. It
// is in as soon as it finds neither. It runs: nobody waits for it long, and it parks only after it has taken its 1 back.
//
// The lock is free with count 0 and no writer. It is given in two ways. Barging: whoever runs takes it when it is free, or a reader when
// no writer is in, past those who wait. Service: it is given to the front of the queue; to a writer by waking it as
// contender, or when starving by setting writer on its behalf; to all readers in front of the next writer by counting them in.
//
// The transitions; visitors come at any time and go under guard, and due follows from queued and woken:
//
//	from                    to                        by                                                under guard
//	free, not starving      writer                    Lock; TryLock (from 0)                            no
//	no writer, not          count+1                   RLock; TryRLock (without any flag)                no
//	starving
//	writer                  no writer                 Unlock, which then serves if due                  no
//	count                   count-1                   RUnlock, which then serves if due and count 0     no
//	not free, or starving   queued                    whoever must wait                                 yes
//	due, no writer          count+n, less queued      serve, readers being in front                     yes
//	due, free,              woken, less queued        serve, a writer being in front                    yes
//	not starving
//	due, free, starving     writer, less queued       serve, a writer being in front                    yes
//	woken, free             writer, not woken         the contender                                     no
//	woken, not free         queued, not woken         the contender, which goes back to the front       yes
//	queued or woken         starving                  the contender, on going back, if it has waited    yes
//	                                                  for patience
//	due, count              starving                  RUnlock beside other readers, if the front has    yes
//	                                                  waited for patience
//	starving                not starving              who has been given the lock and had not waited    no
//	                                                  for patience
//	queued                  not queued                the last waiter, giving up                        yes
//
// "Less queued" means that the queue may be empty after it. When neither queued nor woken is left, starving ends.
//
// Why nobody waits for a free lock: whoever queues finds a holder, a visitor, or a contender. The last holder or visitor to go sees due
// and serves, unless there is a contender; and that one takes the lock, or finds it taken and leaves due for that holder to see.
//
// Why nobody waits for ever: the contender is the one who has waited longest, and is tried again whenever it has failed. After patience
// it makes the lock starving, and is then first. Readers can keep the lock from ever being free, and so a contender from being made; but
// each that leaves the others inside looks how long the front has waited.
//
// An RUnlock too many takes 1 off the count all the same. If it finds a writer in or the count negative, it panics, after it has put the 1
// back; unless somebody else has, for who counts a reader in, under guard, first makes a negative count 0. If there is a 1 to take, a
// reader's or a visitor's, nothing is noticed, and that one's lock is lost, as with any lock that counts. A visitor who finds no 1 to
// take back takes none: so whatever is done wrong, the count is 0 when nobody is left.
const (
	writer int64 = 1 << iota
	queued
	woken
	starving
	due
	one // of the count
)

const (
	flagMask       = one - 1
	negative int64 = -1 << 63 // the count is
)

// count returns the count of a state, which is negative while a misuse is being undone.
func count(s int64) int64 { return s >> 5 }

// free reports whether nobody holds the lock or is visiting.
func free(s int64) bool { return s&(^flagMask|writer) == 0 }

// settled returns s with due as it follows from queued and woken, and without starving if nobody waits.
func settled(s int64) int64 {
	switch s & (queued | woken) {
	case queued:
		return s | due
	case 0:
		return s &^ (due | starving)
	}
	return s &^ due
}

// misuse says what was done wrong and in which state.
func misuse(op string, s int64) string {
	state := "free"
	switch {
	case s&writer != 0:
		state = "locked for writing"
	case count(s) > 0:
		state = fmt.Sprintf("locked for reading, %d times", count(s))
	}
	if s&(queued|woken) != 0 {
		state += ", others wait"
	}
	return "rwmutex: " + op + " of unlocked RWMutex: it is " + state
}
