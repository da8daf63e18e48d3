package rwmutex

import "fmt"

// The state word is three flags and a count:
//
//	63        62       61       60 ... 0
//	blocked   writer   queued   count
//
//	flags            state    count is             meaning
//	0                open     readers              readers hold it, or with count 0 nobody
//	writer           written  visitors             a writer holds it
//	queued           closing  readers + visitors   readers hold it, or have just left; the queue is not empty
//	writer|queued    full     visitors             a writer holds it; the queue is not empty
//
// The constants writer and queued include blocked, so that whatever keeps a reader out makes the word negative: a
// reader adds 1, and is in if the sum is positive.
//
// A visitor is a reader that has added its 1, found the lock blocked, and has not yet taken the 1 back to queue. If it
// finds the lock open by then, it is in. Nobody waits for a visitor; it ends in a few instructions under guard.
//
// The transitions; visitors that come, at any time, and go, under guard, are left out:
//
//	from            to                  by                                              under guard
//	open, 0         written             Lock, TryLock                                   no
//	open, n         open, n+1           RLock, TryRLock                                 no
//	written         open                Unlock                                          no
//	open, n > 0     open, n-1           RUnlock                                         no
//	closing, n > 0  closing, n-1        RUnlock                                         no
//	open, n > 0     closing             a writer that queues                            yes
//	written         full                whoever queues                                  yes
//	full            the front's         Unlock                                          yes
//	closing, 0      the front's         whoever has brought the count to 0, or another  yes
//	                                    who sees it first
//	closing, n      open or closing,    a writer that gives up in front of m readers    yes
//	                n+m
//	closing, full   open, written       a waiter that gives up and was the only one     yes
//
// "The front's" is: written, if a writer is in front of the queue; or open with m readers, if m readers are in front of
// the next writer; and queued too if anyone is left behind them. It is set on behalf of those in front, who are then
// woken: the lock is not free in between. While queued is set, the flags change under guard only.
//
// Why nobody waits for a free lock: whoever queues leaves behind a holder or a visitor, the last of whom brings the word
// to closing, 0 or leaves it from full; and that one serves the queue.
//
// An RUnlock too many is found, and changes nothing, unless a count is there to take: that of a reader, whose lock
// is then lost, as with any lock that counts; or that of a visitor, who notices when none is left to take back.
const (
	blocked   int64 = -1 << 63
	hasWriter int64 = 1 << 62
	hasQueue  int64 = 1 << 61

	writer = blocked | hasWriter
	queued = blocked | hasQueue
)

// split returns the flags and the count of a state.
func split(s int64) (flags, count int64) { return s &^ (hasQueue - 1), s & (hasQueue - 1) }

// misuse says what was done wrong and in which state.
func misuse(op string, s int64) string {
	flags, count := split(s)
	state := "free"
	switch {
	case flags&hasWriter != 0:
		state = "locked for writing"
	case count > 0:
		state = fmt.Sprintf("locked for reading, %d times", count)
	}
	if flags&hasQueue != 0 {
		state += ", others wait"
	}
	return "rwmutex: " + op + " of unlocked RWMutex: it is " + state
}
