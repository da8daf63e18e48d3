package epoller

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/inside"
	"github.com/netco-go/netco/internal/sysx"
)

// Events are what happened to an fd, as epoll tells it.
type Events uint32

// Readable reports whether a read would not block.
func (e Events) Readable() bool {
	return e&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
}

// Writable reports whether a write would not block.
func (e Events) Writable() bool { return e&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 }

// Hangup reports whether the peer will send no more, or the fd has failed.
func (e Events) Hangup() bool {
	return e&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
}

// ReadOn reports whether a short read no longer means that the fd is empty:
// after a hang-up, because the end of the stream comes without an edge of its
// own, and after urgent data, in front of which a read stops. It does not mean
// that there is something to read: urgent data alone is no reason to wake a
// reader.
func (e Events) ReadOn() bool { return e.Hangup() || e&unix.EPOLLPRI != 0 }

// maxEvents is how many events one call takes from the kernel.
const maxEvents = 128

// Slots that are not in the slab.
const (
	slotBell = math.MaxInt32 - iota
	slotTimer
)

// Epoller is one epoll instance; T is what fds are registered with.
type Epoller[T any] struct {
	fd, bell int
	events   [maxEvents]unix.EpollEvent // owner
	asleep   atomic.Bool
	slab     slab[T]

	life   inside.RWMutex // held for reading while an fd is registered or the bell is written, for writing by Close
	closed bool           // under life

	Stats Stats
}

// Stats are the counters of an Epoller; any thread may read them.
type Stats struct {
	Polls  counter.Counter // calls that did not wait
	Waits  counter.Counter // calls that could
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
	e := &Epoller[T]{fd: epfd, bell: bell}
	if err := e.addSpecial(bell, slotBell); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// AddTimer registers a timerfd. Its expiry ends a Wait and is not delivered as an event.
func (e *Epoller[T]) AddTimer(fd int) error { return e.addSpecial(fd, slotTimer) }

func (e *Epoller[T]) addSpecial(fd int, slot int32) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: slot}
	if err := unix.EpollCtl(e.fd, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return fmt.Errorf("netco/epoller: epoll_ctl: %w", err)
	}
	return nil
}

// ErrClosed is returned by Register after Close.
var ErrClosed = errors.New("netco/epoller: closed")

// Close closes the epoll fd and the bell. The owner uses the Epoller no more;
// others may still try to register or to ring. It waits for those that are
// about to write one of the two.
func (e *Epoller[T]) Close() {
	e.life.Lock()
	defer e.life.Unlock()
	e.closeLocked()
}

// CloseUnused is Close if nothing is registered, and reports whether that is
// so.
func (e *Epoller[T]) CloseUnused() bool {
	e.life.Lock()
	defer e.life.Unlock()
	if e.Registered() > 0 {
		return false
	}
	e.closeLocked()
	return true
}

func (e *Epoller[T]) closeLocked() {
	e.closed = true
	sysx.CloseFD(e.fd)
	sysx.CloseFD(e.bell)
}

// Registration is what Release takes. The zero Registration is none.
type Registration struct {
	slot int32
	gen  uint32
}

// Register adds fd for life; events for it deliver v. From any thread. The error is epoll_ctl's: EPERM for a file that
// cannot be polled, ENOSPC or ENOMEM; or it is ErrClosed.
func (e *Epoller[T]) Register(fd int, v *T) (Registration, error) {
	e.life.RLock()
	defer e.life.RUnlock()
	if e.closed {
		return Registration{}, ErrClosed // its fd's number may be another's by now
	}
	r := e.slab.take(v)
	if err := sysx.Add(e.fd, fd, r.slot, int32(r.gen)); err != nil {
		e.slab.release(r)
		return Registration{}, err
	}
	return r, nil
}

// Release forgets a registration, from any thread: no event is delivered for it from now on, except one being
// delivered right now. To be called before the fd is closed; closing it takes it out of the kernel's list.
func (e *Epoller[T]) Release(r Registration) { e.slab.release(r) }

// Registered returns how many fds are registered.
func (e *Epoller[T]) Registered() int { return int(e.slab.used.Load()) }

// Each calls f for every registered object, from any thread. It may miss those that come or go meanwhile.
func (e *Epoller[T]) Each(f func(*T)) { e.slab.each(f) }

// Poll looks for events without waiting and returns how many there are for Event.
func (e *Epoller[T]) Poll() int {
	e.Stats.Polls.Inc()
	n, errno := sysx.Poll(e.fd, e.events[:])
	return e.check(n, errno)
}

// Wait waits until there is an event, the timer's expiry or a ring. It may also return 0 for no reason.
func (e *Epoller[T]) Wait() int {
	e.Stats.Waits.Inc()
	n, errno := sysx.Wait(e.fd, e.events[:])
	return e.check(n, errno)
}

// WaitFor is Wait that gives up after d.
func (e *Epoller[T]) WaitFor(d time.Duration) int {
	e.Stats.Waits.Inc()
	n, errno := sysx.WaitFor(e.fd, e.events[:], int(d.Milliseconds()))
	return e.check(n, errno)
}

func (e *Epoller[T]) check(n int, errno syscall.Errno) int {
	if errno != 0 && errno != unix.EINTR {
		panic("netco/epoller: epoll_pwait: " + errno.Error())
	}
	return n
}

// Event returns the object and what happened to it for the i-th event of the last Poll or Wait; nil for one that is not
// to be delivered.
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

// Ahead returns the object of the i-th event without looking at it, for a prefetch: nil if there is none, and perhaps one
// that will not be delivered.
func (e *Epoller[T]) Ahead(i int) *T {
	if slot := e.events[i].Fd; slot < slotTimer {
		return e.slab.entry(slot).v.Load()
	}
	return nil
}

// Asleep announces that the owner is about to Wait. It must look for work once more before it does.
func (e *Epoller[T]) Asleep() { e.asleep.Store(true) }

// Awake takes the announcement back.
func (e *Epoller[T]) Awake() { e.asleep.Store(false) }

// Sleeping reports whether the owner is blocked in Wait, or about to be.
func (e *Epoller[T]) Sleeping() bool { return e.asleep.Load() }

// Ring wakes the owner if it is asleep and has not been woken yet; it reports whether it did. From any thread, after
// the work that it is to find has been published.
func (e *Epoller[T]) Ring() bool {
	return e.asleep.Load() && e.ring()
}

// ring is Ring for an owner that sleeps, or did just now: it may wake by itself
// and Close before the bell is written.
func (e *Epoller[T]) ring() bool {
	e.life.RLock()
	defer e.life.RUnlock()
	if e.closed || !e.asleep.CompareAndSwap(true, false) {
		return false
	}
	e.Stats.Rings.Add(1)
	if betweenRing != nil {
		betweenRing()
	}
	sysx.Ring(e.bell)
	return true
}

// betweenRing is called where a ringer may be held up; for tests.
var betweenRing func()
