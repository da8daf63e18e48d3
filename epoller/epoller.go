package epoller

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/inside"
	"github.com/netco-go/netco/internal/sysx"
)

// Events are the bits that epoll reports for an fd.
type Events uint32

// Readable reports whether a read would not block.
func (e Events) Readable() bool {
	return e&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
}

// Writable reports whether a write would not block.
func (e Events) Writable() bool { return e&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 }

// hangup reports whether the peer will send no more, or the fd has failed.
func (e Events) hangup() bool {
	return e&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
}

// ReadOn reports whether a reader must read on after a short read: after a
// hang-up, since the end of the stream has no edge of its own, and after urgent
// data, since a read stops before it. It does not mean that there is something
// to read: urgent data alone does not wake a reader.
func (e Events) ReadOn() bool { return e.hangup() || e&unix.EPOLLPRI != 0 }

// maxEvents is how many events one epoll_pwait may return.
const maxEvents = 128

// Slot numbers of the two fds that have no entry in the slab.
const (
	slotBell = math.MaxInt32 - iota
	slotTimer
)

// Epoller is one epoll instance; an fd is registered with a *T.
type Epoller[T any] struct {
	fd, bell int
	events   [maxEvents]unix.EpollEvent // owner
	batch    int                        // owner; see SetBatch
	asleep   atomic.Bool
	slab     slab[T]

	// mu is held for reading while the epoll fd or the bell is used by a thread
	// other than the owner's, and for writing by Close.
	mu     inside.RWMutex
	closed atomic.Bool // under mu; Ended reads it without

	Stats Stats
}

// Stats are the counters of an Epoller; any thread may read them.
type Stats struct {
	Polls  counter.Counter // calls that did not wait
	Waits  counter.Counter // calls that could wait
	Events counter.Counter // delivered
	Stale  counter.Counter // dropped for an old generation
	Rings  atomic.Uint64   // of the bell
}

// Open makes an Epoller: an epoll fd and an eventfd.
func Open[T any]() (*Epoller[T], error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("netco/epoller: epoll_create1: %w", err)
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		sysx.CloseFD(epfd)
		return nil, fmt.Errorf("netco/epoller: eventfd: %w", err)
	}
	e := &Epoller[T]{fd: epfd, bell: bell, batch: maxEvents}
	if err := e.addSpecial(bell, slotBell); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// AddTimer registers a timerfd. Its expiry ends a Wait and is not delivered as
// an event.
func (e *Epoller[T]) AddTimer(fd int) error { return e.addSpecial(fd, slotTimer) }

func (e *Epoller[T]) addSpecial(fd int, slot int32) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: slot}
	if err := unix.EpollCtl(e.fd, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return fmt.Errorf("netco/epoller: epoll_ctl: %w", err)
	}
	return nil
}

// ErrClosed is returned by Register after Close or EndUnused.
var ErrClosed = errors.New("netco/epoller: closed")

// Close closes the epoll fd and the bell. The owner must not use the Epoller
// afterwards; other threads may still try to register or to ring. Close waits
// for the threads that are using one of the two fds.
func (e *Epoller[T]) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed.Store(true)
	sysx.CloseFD(e.fd)
	sysx.CloseFD(e.bell)
}

// EndUnused makes Register return ErrClosed, and wakes the owner, which is to
// Close, if nothing is registered. From any thread.
func (e *Epoller[T]) EndUnused() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.Registered() == 0 && !e.closed.Swap(true) {
		sysx.Ring(e.bell)
	}
}

// Ended reports whether EndUnused has found nothing registered.
func (e *Epoller[T]) Ended() bool { return e.closed.Load() }

// Registration identifies one Register to Release. The zero Registration is
// none.
type Registration struct {
	slot int32
	gen  uint32
}

// Register adds fd until it is closed; its events return v. From any thread.
// The error is epoll_ctl's: EPERM for a file that cannot be polled, ENOSPC or
// ENOMEM; or it is ErrClosed.
func (e *Epoller[T]) Register(fd int, v *T) (Registration, error) {
	// EPOLLPRI is included because a read stops short in front of urgent data.
	return e.register(fd, v, unix.EPOLLOUT|unix.EPOLLPRI|unix.EPOLLRDHUP)
}

// RegisterShared is Register of an fd that other Epollers watch too, each by
// RegisterShared. An event wakes one of their owners if any is blocked in Wait,
// in the order in which they registered the fd; otherwise the owner that polls
// first gets it. Events do not say whether ReadOn holds.
//
// There are events for writers only if writes is set. A later poll by another
// owner then returns each event once more: epoll drops an event that no longer
// holds, and a socket is mostly writable.
func (e *Epoller[T]) RegisterShared(fd int, v *T, writes bool) (Registration, error) {
	events := uint32(unix.EPOLLEXCLUSIVE) // since Linux 4.5
	if writes {
		events |= unix.EPOLLOUT
	}
	return e.register(fd, v, events)
}

func (e *Epoller[T]) register(fd int, v *T, events uint32) (Registration, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed.Load() {
		return Registration{}, ErrClosed // e.fd may be another file's number by now
	}
	r := e.slab.alloc(v)
	if err := sysx.Add(e.fd, fd, events, r.slot, int32(r.gen)); err != nil {
		e.slab.release(r)
		return Registration{}, err
	}
	return r, nil
}

// Release ends a registration, from any thread: Event returns no further event
// for it. Call it before closing the fd; closing removes the fd from epoll.
func (e *Epoller[T]) Release(r Registration) { e.slab.release(r) }

// Remove removes fd from epoll, before Release and from any thread. It is for
// an fd that has duplicates: epoll keeps an open file until the last of its fds
// is closed, and until then goes on reporting its events and refuses to
// register it anew under the same number.
func (e *Epoller[T]) Remove(fd int) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if !e.closed.Load() {
		unix.EpollCtl(e.fd, unix.EPOLL_CTL_DEL, fd, nil) // fails only if fd is not registered
	}
}

// Registered returns how many fds are registered.
func (e *Epoller[T]) Registered() int { return int(e.slab.used.Load()) }

// Each calls f for every registered object, from any thread. It may miss
// objects registered or released during the call.
func (e *Epoller[T]) Each(f func(*T)) { e.slab.each(f) }

// SetBatch sets how many events Poll and Wait collect at most, from 1 to
// maxEvents; it is maxEvents at first. Owner only.
func (e *Epoller[T]) SetBatch(n int) { e.batch = min(max(n, 1), maxEvents) }

// Poll collects events without waiting and returns how many there are for
// Event.
func (e *Epoller[T]) Poll() int {
	e.Stats.Polls.Inc()
	n, errno := sysx.Poll(e.fd, e.events[:e.batch])
	return e.check(n, errno)
}

// More reports whether a Poll that collected n events left some. Owner only.
func (e *Epoller[T]) More(n int) bool {
	if n < e.batch {
		return false
	}
	fds := [1]unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLIN}}
	n, errno := sysx.TryPoll(fds[:])
	return n > 0 && errno == 0
}

// Wait waits until there is an event, the timer's expiry or a ring. It may also
// return 0 without any of them.
func (e *Epoller[T]) Wait() int {
	e.Stats.Waits.Inc()
	n, errno := sysx.Wait(e.fd, e.events[:e.batch])
	return e.check(n, errno)
}

// WaitLong is Wait, and gives the caller's P to other goroutines at once.
func (e *Epoller[T]) WaitLong() int {
	e.Stats.Waits.Inc()
	n, errno := sysx.WaitLong(e.fd, e.events[:e.batch])
	return e.check(n, errno)
}

func (e *Epoller[T]) check(n int, errno syscall.Errno) int {
	if errno != 0 && errno != unix.EINTR {
		panic("netco/epoller: epoll_pwait: " + errno.Error())
	}
	return n
}

// Event returns the object and the bits of the i-th event of the last Poll or
// Wait; nil for the timer, the bell and stale events.
func (e *Epoller[T]) Event(i int) (*T, Events) {
	ev := &e.events[i]
	if ev.Fd >= slotTimer {
		return nil, 0
	}
	v := e.slab.lookup(ev.Fd, uint32(ev.Pad))
	if v == nil {
		e.Stats.Stale.Inc()
		return nil, 0
	}
	e.Stats.Events.Inc()
	return v, Events(ev.Events)
}

// PollOf polls another Epoller, calls f for each event that its owner has not
// collected, and returns their number. The owner gets a ring in place of its
// bell's and its timer's events. Owner of e only.
func (e *Epoller[T]) PollOf(other *Epoller[T], f func(*T, Events)) (n int) {
	other.mu.RLock()
	defer other.mu.RUnlock()
	if other.closed.Load() {
		return 0
	}
	got, errno := sysx.Poll(other.fd, e.events[:e.batch])
	for i := range e.check(got, errno) {
		ev := &e.events[i]
		if ev.Fd >= slotTimer {
			sysx.Ring(other.bell)
		} else if v := other.slab.lookup(ev.Fd, uint32(ev.Pad)); v != nil {
			f(v, Events(ev.Events))
			n++
		}
	}
	return n
}

// PrefetchTarget returns the object of the i-th event without checking its
// generation, for a prefetch or a comparison: the event may be stale.
func (e *Epoller[T]) PrefetchTarget(i int) *T {
	if slot := e.events[i].Fd; slot < slotTimer {
		return e.slab.entry(slot).v.Load()
	}
	return nil
}

// Asleep announces that the owner is about to Wait. The owner must check for
// work once more between Asleep and Wait.
func (e *Epoller[T]) Asleep() { e.asleep.Store(true) }

// Awake withdraws the announcement of Asleep.
func (e *Epoller[T]) Awake() { e.asleep.Store(false) }

// Sleeping reports whether the owner is blocked in Wait, or about to be.
func (e *Epoller[T]) Sleeping() bool { return e.asleep.Load() }

// Ring wakes the owner if it is asleep and has not been woken yet; it reports
// whether it did. From any thread, after publishing the work for the owner.
func (e *Epoller[T]) Ring() bool {
	return e.asleep.Load() && e.ring()
}

// ring is Ring for an owner that was asleep a moment ago: it may wake by itself
// and Close before the bell is written.
func (e *Epoller[T]) ring() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed.Load() || !e.asleep.CompareAndSwap(true, false) {
		return false
	}
	e.Stats.Rings.Add(1)
	if betweenRing != nil {
		betweenRing()
	}
	sysx.Ring(e.bell)
	return true
}

// betweenRing, if set by a test, is called between the decision to ring and the
// write.
var betweenRing func()
