package processor

import (
	"errors"
	"runtime"
	"sync"

	"github.com/netco-go/netco/epoller"
)

// lookout watches the fds that ordinary goroutines wait for. Each group has one, beside its Processors: a goroutine's wait must not
// depend on a thread that a coroutine may hold up, perhaps by waiting in a Go channel for that very goroutine, as libraries do
// that connect or read on goroutines of their own.
//
// An fd that coroutines and goroutines wait for is in two epolls. Each edge then comes twice; the second leaves a mark at most, which
// costs a try that finds nothing.
//
//	open      fds may be registered; the goroutine starts with the first
//	closed    the group has stopped: registering orphans the fd
type lookout struct {
	group *Group
	ep    *epoller.Epoller[PollDesc]
	ended chan struct{} // closed when the fds are

	mu      sync.Mutex
	started bool // under mu
	closed  bool // under mu

	phase Phase // owner: the goroutine
}

func openLookout(g *Group) (*lookout, error) {
	ep, err := epoller.Open[PollDesc]()
	if err != nil {
		return nil, err
	}
	return &lookout{group: g, ep: ep, ended: make(chan struct{})}, nil
}

// start makes the goroutine run. It returns false when the group has stopped.
func (l *lookout) start() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if !l.started {
		l.started = true
		go l.loop()
	}
	return true
}

// stop ends it. Group.phase is Stopped, or nothing ever ran.
func (l *lookout) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed && !l.started {
		l.ep.Close()
		close(l.ended)
	}
	l.closed = true
	l.ep.Ring()
}

func (l *lookout) loop() {
	defer close(l.ended)
	for !l.advance() {
		n := l.ep.Poll()
		if n == 0 {
			l.ep.Asleep()
			if l.group.Phase() == l.phase {
				n = l.ep.Wait()
			}
			l.ep.Awake()
		}
		for i := range n {
			if pd, events := l.ep.Event(i); pd != nil {
				pd.happened(nil, events)
			}
		}
		runtime.Gosched() // the goroutines that were woken run here and now, instead of after the wake of another thread
	}
	l.ep.Each(func(pd *PollDesc) { pd.Orphan() })
	l.ep.Close()
}

// advance follows the group into its next phase; true means that it is over.
func (l *lookout) advance() (over bool) {
	to := l.group.Phase()
	if l.phase < Draining && to >= Draining {
		l.ep.Each(func(pd *PollDesc) {
			if pd.Listener {
				pd.kick()
			}
		})
	}
	l.phase = to
	return to >= Stopped
}

// outerBinding is an fd's registration with a lookout.
type outerBinding struct {
	at  *lookout
	reg epoller.Registration
}

// bindOuter registers fd with the lookout of its home's group, or of any.
func (pd *PollDesc) bindOuter(fd int) error {
	p := pd.home.Load()
	if p == nil {
		var err error
		if p, err = anywhere(); err != nil {
			return err
		}
	}
	l := p.group.lookout
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.outer.Load() != nil || pd.flags.Load()&flagClosing != 0 {
		return nil
	}
	if !l.start() {
		pd.flags.Or(flagOrphan)
		return nil
	}
	reg, err := l.ep.Register(fd, pd)
	if errors.Is(err, epoller.ErrClosed) {
		pd.flags.Or(flagOrphan)
		return nil
	}
	if err != nil {
		return err
	}
	pd.outer.Store(&outerBinding{l, reg})
	if l.group.Phase() >= Stopped {
		pd.flags.Or(flagOrphan) // it may have ended without seeing this fd
	}
	return nil
}
