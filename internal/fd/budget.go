package fd

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// coopBudget counts the operations of one direction that did not park, in a
// row: one each, and one more for each BudgetBytes moved. When it is spent, or
// the Processor's turn is over, the coroutine yields.
//
// A coroutine that is cancelled, alone or with its Scheduler, notices when it
// waits. If its operations never wait, it notices when its budget is spent: the
// operation that spent it has succeeded, so the count stays spent and check
// refuses the next one. The socket itself is unaffected: other coroutines may
// go on to use it.
type coopBudget uint8

const (
	budgetOps   = 32
	BudgetBytes = 16 << 10
)

// spent reports whether the last operation found the coroutine cancelled.
func (b coopBudget) spent() bool { return b >= budgetOps }

// spend accounts for an operation, and yields if it is time to yield: other
// coroutines of the Processor run, and its events are polled. The user's code
// between two operations may take much longer than the operations, so the clock
// counts too, except at the first operation after a park. spend reports whether
// the coroutine has yielded, and may run on a different Processor now.
func (b *coopBudget) spend(bytes int) bool {
	if *b == 0 && bytes < BudgetBytes {
		*b = 1
		return false
	}
	return b.spendSlow(bytes)
}

func (b *coopBudget) spendSlow(bytes int) bool {
	first := *b == 0
	*b += coopBudget(1 + min(bytes, sysx.MaxIO)/BudgetBytes)
	if *b < budgetOps && (first || !processor.TurnOver()) {
		return false
	}
	*b = 1 // no park: the next operation reads the clock
	if processor.YieldTurn() {
		*b = budgetOps
	}
	return true
}

// spendRead is spend for a read. A coroutine that has moved takes the fd along.
func (f *FD) spendRead(bytes int) {
	if f.readBudget.spend(bytes) {
		f.pd.MoveHere(f.fd)
	}
}

// spendWrite is spend for a write. A connection whose reads park between its
// writes, as with requests and answers, waits often enough.
func (f *FD) spendWrite(n int) {
	if parks := f.readParks.Load(); parks != f.parksSeen {
		f.parksSeen, f.writeBudget = parks, 0
	}
	f.writeBudget.spend(n)
}

// check reports whether an operation in direction m may be tried, before its
// first attempt. It is PollDesc.Check, and refuses a cancelled coroutine whose
// budget is spent. Under m's lock.
func (f *FD) check(m Mode) processor.Verdict {
	spent := m == Read && f.readBudget.spent() || m == Write && f.writeBudget.spent()
	if spent && coroutine.Stopping() {
		return processor.Shutdown
	}
	if m == Write && f.served.Load() != 0 {
		f.noteWrite()
	}
	return f.pd.Check(m)
}
