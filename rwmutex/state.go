package rwmutex

import "fmt"

// The state word is the sum of three flags and a count. The count is signed and stays far from the flags:
//
//	63        62       61       60 ... 0
//	blocked   writer   queued   count
//
//	flags            state      count is             meaning
//	0                open       readers              readers hold it, or with count 0 nobody
//	writer           written    visitors             a writer holds it
//	queued           closing    readers + visitors   readers hold it or the last has just left; the queue is not empty
//	writer|queued    full       visitors             a writer holds it; the queue is not empty
//
// The constants writer and queued each include blocked, so whatever keeps a reader out makes the word negative:
// a reader adds 1 and is in if the sum is positive; it subtracts 1 and is out if the sum is not negative. These
// are sync.RWMutex's costs.
//
// A visitor is a reader that has added its 1, found the lock blocked, and has not yet taken the 1 back to queue. It
// may instead find that the lock has opened meanwhile: then it is a reader. A misused RUnlock is a visitor of -1: it
// finds its sum too small, adds the 1 again and panics. A visitor is never waited for, except by who finds nothing
// else in its way.
//
// The transitions; count changes by visitors are left out:
//
//	from            to                   by                                              under guard
//	open, 0         written              Lock, TryLock                                   no
//	open, n >= 0    open, n+1            RLock, TryRLock                                 no
//	written         open                 Unlock                                          no
//	open, n > 0     open, n-1            RUnlock                                         no
//	closing, n > 0  closing, n-1         RUnlock                                         no
//	open, n > 0     closing              a writer that queues                            yes
//	written         full                 whoever queues                                  yes
//	full            the front's          Unlock                                          yes
//	closing, 0      the front's          whoever has brought the count to 0, or another  yes
//	                                     who has the guard and sees it
//	closing, n      closing or open,     a writer that gives up and was in front of m    yes
//	                n+m                  readers
//	closing, full   open, written        a waiter that gives up and was the only one     yes
//
// "The front's" is: a writer's, if a writer is in front of the queue; m readers', if m readers are in front of the
// next writer; and queued if anyone is left behind them. It is set on behalf of those in front, who are then woken: the
// lock is not free in between. While queued is set, the flags change only under guard.
//
// Whoever brings the word to closing, 0 must then call serve, and whoever has queued someone leaves a holder or a visitor
// behind who will: so nobody waits for a lock that is free.
const (
	blocked   int64 = -1 << 63
	hasWriter int64 = 1 << 62
	hasQueue  int64 = 1 << 61

	writer = blocked | hasWriter
	queued = blocked | hasQueue
)

// split returns the flags and the count of a state, also for a count below zero.
func split(s int64) (flags, count int64) {
	flags = (s + hasQueue/2) &^ (hasQueue - 1)
	return flags, s - flags
}

// misuse says what was done wrong and in which state.
func misuse(op string, s int64) string {
	flags, count := split(s)
	state := "free"
	switch {
	case flags&hasWriter != 0:
		state = "locked for writing"
	case count > 0:
		state = fmt.Sprintf("locked by %d readers", count)
	}
	if flags&hasQueue != 0 {
		state += ", others wait"
	}
	return "rwmutex: " + op + " of unlocked RWMutex: it is " + state
}
