// Package explore runs small programs of threads over a primitive built on
// package waitq in every order in which their shared accesses can happen, with
// the primitive's real code. Only tests import it.
//
// # Use
//
//	explore.Run(t, func(w *explore.World) explore.Program {
//		var m sync.Mutex
//		inside := 0
//		use := func(th *explore.Thread) {
//			th.Step("lock")
//			m.Lock()
//			inside++
//			th.Step("inside")
//			inside--
//			m.Unlock()
//		}
//		return explore.Program{
//			Threads: []func(*explore.Thread){use, use, use},
//			State: func(b []byte) []byte {
//				return w.AppendQueue(append(b, byte(m.state.Load())), &m.queue)
//			},
//			Check:   func(*explore.Thread) string { ... "" if all is well },
//			End:     func() string { ... "" if the primitive is as new },
//		}
//	}, explore.Limits{Early: 1})
//
// The constructor is called once for each path through the states, tens of
// thousands of times, and must create everything anew from nothing but captured
// constants. Failures name the steps that led there.
//
// # What a step is
//
// A thread is an iter.Pull'ed function. It stops before every waitq.Step, so
// before each shared access of waitq and of the primitive's slow paths, at
// every park and wake, and where the program says Thread.Step. Between two
// stops it runs alone. So:
//
//   - The primitive calls waitq.Step(op) before each access to what it shares
//     (its state word, say) outside fast paths. Accesses under a Guard that
//     are made only under it need none.
//   - The program says Thread.Step before each operation, whose fast path
//     happens at once, and wherever a thread is to stay while others move:
//     inside a critical section, between the two operations of a pair.
//   - Unlocking a Guard is no step: what another thread could do between it
//     and the step before would make no difference (Lipton, "Reduction", 1975).
//
// # What can happen besides
//
//	Limits.Early      so many parks of coroutines, in all, end with WakeReady
//	                  without a wake
//	Limits.Moves      a coroutine moves where it releases its waiter: it goes on
//	                  when no other spins for its release, since that may hold
//	                  up the loop that it moves to
//	Thread.Stoppable  its parks may end by shutdown, at any time
//	a limit           a park under coroutine.Timeout may end with WakeTimeout at
//	                  any time, one under coroutine.Context(th.Context()) with
//	                  WakeCancelled; no clock is read, so any long duration
//	                  will do
//	World.Choose      all outcomes of what the primitive gets from a clock or a
//	                  random number
//	Thread.Goroutine  it waits as an ordinary goroutine: a wake is a token in
//	                  its channel, of which none may be lost or remain
//
// # What is checked
//
//   - After each step: Program.Check.
//   - In each state: a thread can move, or all have ended or are in a park that
//     may be the last (MayWait).
//   - At each end: Program.End.
//   - When all states are known: an end can be reached from each of them, so no
//     thread spins for ever.
//   - Always: a thread that is woken waits, a waiter that is released is in no
//     queue, a thread does not acquire its waiter twice, and it does not panic
//     (except in Thread.Panics).
//
// # States
//
// States with the same key count as one. The key is Program.State; the place of
// each thread (its call stack, the number of its Steps, what it
// noted by Thread.Note); each waiter's Tag, Link, Prev, tickets and token; and
// for local variables, what the thread saw last: Program.Seen(op), called as it
// makes the access op. Without Seen it is the whole of State. So:
//
//   - State must append all that the primitive's code and Check read, but no
//     more: addresses and counts that only grow make states without end.
//     World.Owner gives a waiter a number.
//   - What a thread keeps from an earlier access than its last needs a Note. So
//     does a loop in the program with no Step in it.
//   - What is claimed is woken as the Guard is unlocked.
package explore
