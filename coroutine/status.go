package coroutine

// A coroutine's status word, written by its owner and read by any thread:
//
//	bits    hold
//	0-7     State; Ready also while it is Running or Outside
//	8-15    Reason, while it waits
//	16-63   since when: CLOCK_MONOTONIC in units of 1,024 ns, as of the turn in which the state was stored; 0 if unknown.
//	        It wraps nine years after the machine's start
//
// The time comes for an OR: the executor keeps it in place, as stamp.
const (
	stampUnit  = 10 // log2 of the unit in ns
	stampShift = 16
)

// SetClock tells the time (CLOCK_MONOTONIC, ns) from which states that change now on are dated. Owner only; to be called at the
// beginning of each turn.
func (ex *Executor) SetClock(now int64) { ex.stamp = stampOf(now) }

// stampOf returns the time (CLOCK_MONOTONIC, ns) as it stands in a status word.
func stampOf(now int64) uint64 { return uint64(now) >> stampUnit << stampShift }

// since returns the time in a status word.
func since(status uint64) int64 { return int64(status >> stampShift << stampUnit) }
