// Package waitq is what locks, conditions and semaphores are built from: a first-in-first-out queue of waiters under a spin lock, and
// the meeting of a waiter with its waker.
//
// # Use
//
// A primitive has a [Guard], and under it a [Queue] and state of its own. Who must wait does, in one guarded step, look that it
// must, and Push itself; then it calls [Wait]. Who lets others go takes them out in a guarded step, into a [Batch], lets the
// guard go, and wakes the batch. A waiter is taken out once: what it waited for is its own before it is woken, so a wake that
// comes for another reason lets nobody in.
//
// # A waiter's Tag
//
//	tag      means                              set by                      under guard
//	1..max/2 queued; the primitive's own kind   itself (Push)               yes
//	granted  taken out; it has what it waited   who let it go (Batch.Take)  yes
//	         for, but the waker may still be
//	         touching it
//	loose    the waker has done with it         that waker (Batch.Wake),    no
//	                                            its last access
//	0        it is in no queue                  itself (Queue.Remove)       yes
//
// A wait that ends by time, by a context or by shutdown takes itself out, under the guard, or finds that it has been granted
// meanwhile and then has what it waited for. So exactly one of the two happens, and no wake is lost between them.
//
// # Tests
//
// All that threads share here goes through trace.go, so that a test can run the code in every order of its shared accesses.
package waitq
