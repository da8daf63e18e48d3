package cosync

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// opCount is an access to a WaitGroup's state, for waitq.Step.
const opCount waitq.Op = "count"

// wait waits for the count to be 0, no longer than b allows.
func (wg *WaitGroup) wait(b coroutine.Bound) coroutine.Wake {
	w := waitq.Acquire()
	why := coroutine.WakeReady
	if wg.enqueue(w) {
		why = waitq.Wait(w, coroutine.ReasonGroup, b, &wg.guard, wg)
	}
	waitq.Release(w)
	return why
}

// enqueue queues w and reports true, unless the count is 0 by now.
func (wg *WaitGroup) enqueue(w *coroutine.Waiter) bool {
	wg.guard.Lock()
	defer wg.guard.Unlock()
	for {
		waitq.Step(opCount)
		s := wg.state.Load()
		if s>>32 == 0 {
			return false
		}
		if s&waitFlag != 0 || wg.state.CompareAndSwap(s, s|waitFlag) {
			wg.queue.Push(w, kind)
			return true
		}
	}
}

// release lets all go that wait, unless the count is not 0 any more: then the last of them had given up before, and others may
// have come.
func (wg *WaitGroup) release() {
	var b waitq.Batch
	wg.guard.Lock()
	waitq.Step(opCount)
	if wg.state.CompareAndSwap(waitFlag, 0) {
		b.TakeAll(&wg.queue)
	}
	wg.guard.Unlock()
	b.Wake()
}

// Leave implements waitq.Place.
func (wg *WaitGroup) Leave(w *coroutine.Waiter, _ *waitq.Batch) {
	wg.queue.Remove(w)
	if wg.queue.Empty() {
		waitq.Step(opCount)
		wg.state.And(^waitFlag)
	}
}
