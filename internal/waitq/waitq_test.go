package waitq_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/ilist"
	"github.com/netco-go/netco/internal/waitq"
)

// latch is a primitive: its waiters wait until it opens.
type latch struct {
	guard waitq.Guard
	open  bool        // under guard
	queue waitq.Queue // under guard
}

func (l *latch) wait(limit coroutine.Limit) error {
	w := waitq.Acquire(limit)
	defer waitq.Release(w)
	l.guard.Lock()
	if l.open {
		l.guard.Unlock()
		return nil
	}
	l.queue.Push(w, waitq.AnyKind) // in one step with the check
	l.guard.Unlock()
	return limit.Err(waitq.Wait(w, coroutine.ReasonUser, limit, &l.guard, l.leaveLocked))
}

func (l *latch) leaveLocked(w *coroutine.Waiter) { l.queue.Remove(w) }

func (l *latch) setOpen() {
	l.guard.Lock()
	l.open = true
	l.guard.TakeAll(&l.queue)
	l.guard.Unlock()
}

func Example() {
	var l latch
	fmt.Println("closed:", l.wait(coroutine.Timeout(1)))
	go l.setOpen()
	fmt.Println("opened:", l.wait(coroutine.Limit{}))
	// Output:
	// closed: i/o timeout
	// opened: <nil>
}

// TestLinksOffset: package ilist depends on it.
func TestLinksOffset(t *testing.T) {
	f, ok := reflect.TypeFor[coroutine.Waiter]().FieldByName("Links")
	if !ok || f.Offset != ilist.Offset {
		t.Errorf("Links: %t, at %d, want %d", ok, f.Offset, ilist.Offset)
	}
}

// TestBlock: without a waker it ends with its bound.
func TestBlock(t *testing.T) {
	if why := waitq.Block(coroutine.ReasonUser,
		coroutine.Timeout(1)); why != coroutine.WakeTimeout {
		t.Error("ended with", why)
	}
}

// hook calls a function when its waiter is woken.
type hook func()

func (h hook) Woken() { h() }

// TestReleasedFirst: a waker accesses no waiter that it wakes. A wake may make
// a system call that lets the woken thread run in the waker's place.
func TestReleasedFirst(t *testing.T) {
	var w coroutine.Waiter
	woken := false
	w.SetHook(hook(func() { woken = waitq.IsReleased(&w) }))
	var g waitq.Guard
	g.Lock()
	g.Claim(&w)
	g.Unlock()
	if !woken {
		t.Error("woken before its waker had released it")
	}
}
