package processor

import (
	"slices"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/inside"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/timer"
)

// Sharing: while handlers compute, no event waits for a Processor that runs a
// handler.
//
// The Processors of a domain, up to domainSize of a group, then watch the same
// fds, each by its own epoll (epoller.RegisterShared). The kernel wakes a
// member that sleeps, the first of the domain before others; while none sleeps
// the event is there for the member that polls first, and each takes few events
// at a time. An event that wakes a member is not reported to the members after
// it. So if the member's thread does not get a core, other members find the
// event in the member's epoll before they sleep (pollOthers), and the thread
// leaves a CPU where another member is awake (keepApart). Coroutines and
// Watches that wait to read wait shared (coroutine.ParkShared): they run on the
// Processor that finds their event. The fd does not move.
//
// An event that wakes no member is in the epolls of all members, including the
// last. There the Processors of other domains find it before they sleep, and
// callOthers wakes a Processor that sleeps. So other domains help a domain that
// gets more than its share.
//
// Sharing is for runs that are long and wait for one another (policy.go). A
// wake of another thread, the registrations and a poll for each event cost a
// microsecond or two a request. Where a request takes no longer than that, one
// Processor that serves all requests without a sleep is faster. Where no run
// waits there is nothing to gain.
//
//	Group.sharing  means                     becomes
//	false          a wait is the home's      true, by the first member whose
//	                                         runs are long and wait long
//	true           a wait for an fd makes    false, by the monitor, when the
//	               it the domain's           that is not worth it any more; when
//	                                         the group leaves Running
//
// All members become active. An fd's number selects its domain: numbers are
// dense, so all domains have as many. An fd follows at its next wait, so that a
// change costs nothing by itself. Until then its home gets its events. The home
// polls many at a time while such events come, and offers the coroutines that
// they make ready to members that sleep.
//
// A shared wait has one of the group's tokens, since nothing else keeps the
// group from being quiet. The Processor where the wait began takes the wakes of
// other threads, so it does not end before the wait is over (sharedWaits). The
// deadline of the wait is a timer of that Processor, and acts on the fd; the
// thread that ends the wait returns the timer (returnTimer).
//
// When the group ends, each member wakes the waiters of the fds that it watches
// (advance), and a shared wait that begins later is refused (MayShare). So
// Executor.Stop misses no wait.
const domainSize = 8

// sharedRegs are the registrations of an fd with the members of a domain.
type sharedRegs struct {
	domain []*Processor
	writes bool // whether they report events for a writer
	regs   [domainSize]epoller.Registration
	has    [domainSize]bool // whether registering has succeeded
}

// setDomains puts the members into domains, and lets their coroutines wait
// shared. It is called before the first member has started.
func (g *Group) setDomains() {
	if len(g.members) < 2 {
		return
	}
	var executors []*coroutine.Executor
	for _, p := range g.members {
		if p.cfg.LockThread {
			return
		}
		executors = append(executors, &p.ex)
	}
	g.domains = slices.Collect(slices.Chunk(g.members, domainSize))
	var lasts []*Processor
	for _, d := range g.domains {
		lasts = append(lasts, d[len(d)-1])
		for _, p := range d {
			p.domain = d
		}
	}
	for i, p := range g.members { // each Processor begins with a different domain
		d := i / domainSize
		p.others = slices.Concat(lasts[d+1:], lasts[:d])
	}
	coroutine.Share(executors)
}

// noteRuns measures a turn, and begins sharing if both runs and waits are long.
// Owner.
func (p *Processor) noteRuns(turnNs, waitNs int64, runs int) {
	p.polled = false
	g := p.group
	may := p.domain != nil && g.balanced.Load()
	begin, batch := p.runs.note(turnNs, waitNs, runs, g.sharing.Load(), may)
	if cpu := int64(p.runs.cpuNs); cpu != p.runCPU.Load() {
		p.runCPU.Store(cpu)
	}
	if begin {
		g.Share()
	}
	if batch != 0 {
		if p.homeEvents {
			p.homeEvents, batch = false, wholeBatch
		}
		p.ep.SetBatch(batch)
	}
}

// runTimed is ex.Run, and measures CPU time. Owner.
func (p *Processor) runTimed(max int, until int64) (runs int) {
	before := sysx.ThreadCPU()
	if runs = p.ex.Run(max, until); runs == 0 {
		return 0
	}
	used := sysx.ThreadCPU() - before
	if used < 0 || used > clock.Now()-int64(p.Stats.TurnStart.Own()) {
		return runs // the loop runs on another thread
	}
	p.runs.used(used, runs)
	return runs
}

// Share begins sharing, unless the group is at its end. All members become
// active. Any thread.
func (g *Group) Share() {
	g.sharing.Store(true)
	for _, p := range g.members {
		p.active.Store(true)
	}
	if g.Phase() != Running { // Advance may have missed the change
		g.EndSharing()
	}
}

// EndSharing ends sharing. Any thread.
func (g *Group) EndSharing() { g.sharing.Store(false) }

// Sharing reports whether domains share their fds. Any thread.
func (g *Group) Sharing() bool { return g.sharing.Load() }

// sharedWaits counts the shared waits that began on a Processor.
type sharedWaits struct{ coroutines, watches atomic.Int32 }

func (s *sharedWaits) any() bool { return s.coroutines.Load() != 0 || s.watches.Load() != 0 }

// BeginShared implements coroutine.Host.
func (p *Processor) BeginShared() { p.beginShared(&p.shared.coroutines) }

// beginShared begins a shared wait, counted by n. Owner.
func (p *Processor) beginShared(n *atomic.Int32) {
	p.group.takeToken()
	n.Add(1)
}

// MayShare implements coroutine.Host.
func (p *Processor) MayShare() bool { return p.group.Phase() == Running }

// EndShared implements coroutine.Host.
func (p *Processor) EndShared(from coroutine.Host) {
	q := from.(*Processor)
	p.endShared(q, &q.shared.coroutines)
}

// endShared ends a shared wait that q counts by n. Owner.
func (p *Processor) endShared(q *Processor, n *atomic.Int32) {
	p.takeOverToken()
	if n.Add(-1) == 0 && p != q && p.group.Phase() >= Stopping {
		q.Wake() // q's end may have waited for this wait
	}
}

// register registers fd with p or its domain, for a reader on p. It returns
// true for the domain: the reader may then wait shared. The caller owns the
// reading direction.
func (pd *PollDesc) register(fd int, p *Processor, co *coroutine.Coroutine) (bool, error) {
	home, regs := pd.home.Load(), pd.shared.Load()
	on := p.group.sharing.Load()
	switch {
	case on && co.CanShare():
		if home != nil && home.group != p.group {
			return false, nil
		}
		if regs != nil {
			return true, nil
		}
		return true, pd.share(fd, p.group.domains[fd%len(p.group.domains)])
	case home == nil:
		return false, pd.bind(fd)
	case regs != nil && !on && home.group == p.group:
		return false, pd.move(fd, p)
	case regs == nil && home != p && co.Moved():
		pd.fetch(fd, home)
	}
	return false, nil
}

// share registers fd with a domain, in place of its home.
func (pd *PollDesc) share(fd int, domain []*Processor) error {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.shared.Load() != nil {
		return nil
	}
	return pd.shareLocked(fd, domain)
}

// registerWriter registers fd for the caller, a coroutine on p that has
// published itself as the waiter to write.
//
// A domain's registrations have no events for writers until one waits. Then
// epoll drops the event of a member that was computing when another member took
// it; with write events epoll would report it for nothing, since most sockets
// are writable at any time. A writer, and share, which checks for a writer,
// take the lock in turn.
func (pd *PollDesc) registerWriter(fd int, p *Processor) error {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	s := pd.shared.Load()
	if s == nil {
		return pd.bindLocked(fd, p)
	}
	if s.writes {
		return nil
	}
	err := pd.shareLocked(fd, s.domain)
	if err != nil || pd.draining() {
		pd.read.unblock() // its registration is gone, or advance may have missed it
	}
	return err
}

// shareLocked registers fd with the members of a domain, again if they have it.
func (pd *PollDesc) shareLocked(fd int, domain []*Processor) error {
	if pd.flags.Load()&(flagClosing|flagDetached) != 0 {
		return nil
	}
	old := pd.shared.Load()
	if old == nil {
		pd.unregisterLocked(fd)
	}
	s := &sharedRegs{domain: domain, writes: pd.write.hasWaiter()}
	var failed error
	done := 0
	for i, q := range domain {
		if old != nil && old.has[i] {
			q.ep.Remove(fd)
			q.ep.Release(old.regs[i])
		}
		reg, err := q.ep.RegisterShared(fd, pd, s.writes)
		if err != nil {
			failed = err
			continue
		}
		s.regs[i], s.has[i] = reg, true
		done++
	}
	if done == 0 {
		pd.shared.Store(nil)
		pd.home.Store(nil)
		return failed
	}
	pd.shared.Store(s)
	pd.home.Store(domain[fd/len(domain)%len(domain)])
	return nil
}

// unshareLocked registers a shared fd with one Processor only.
func (pd *PollDesc) unshareLocked(fd int, to *Processor) error {
	pd.unregisterLocked(fd)            // first: to may be in the domain
	reg, err := to.ep.Register(fd, pd) // its first event says whether to read on
	if err != nil {
		return err // the next wait registers it
	}
	pd.reg = reg
	pd.home.Store(to)
	return nil
}

// unregisterLocked takes the fd out of all epolls of Processors. Until it is
// registered again it has no home.
func (pd *PollDesc) unregisterLocked(fd int) {
	pd.eachRegLocked(func(p *Processor, reg epoller.Registration) {
		p.ep.Remove(fd)
		p.ep.Release(reg)
	})
	pd.shared.Store(nil)
	pd.home.Store(nil)
}

// eachRegLocked calls f for each Processor's registration.
func (pd *PollDesc) eachRegLocked(f func(*Processor, epoller.Registration)) {
	if s := pd.shared.Load(); s != nil {
		for i, p := range s.domain {
			if s.has[i] {
				f(p, s.regs[i])
			}
		}
	} else if p := pd.home.Load(); p != nil {
		f(p, pd.reg)
	}
}

// parkShared is ParkShared of the calling coroutine until deadline, 0 for none.
// Owner of p.
func (pd *PollDesc) parkShared(
	p *Processor, co *coroutine.Coroutine, reason coroutine.Reason, deadline int64,
) coroutine.Wake {
	if deadline == 0 {
		return co.ParkShared(reason)
	}
	t := p.setTimer(readExpired, pd, deadline)
	wake := co.ParkShared(reason)
	p.returnTimer(t)
	return wake
}

// readExpired is the function of the timers of shared waits.
func readExpired(arg any, _ int64) { arg.(*PollDesc).read.unblock() }

// returnedTimers are the timers of shared waits that ended on another
// Processor.
type returnedTimers struct {
	mu   inside.Mutex
	list []*timer.Timer // under mu
	any  atomic.Bool
}

// returnTimer cancels one of p's timers. Any thread of the group.
func (p *Processor) returnTimer(t *timer.Timer) {
	if goruntime.RaceEnabled {
		defer coroutine.Own()()
	}
	if p.ex.OnThread() {
		p.dropTimer(t)
		return
	}
	p.returned.mu.Lock()
	p.returned.list = append(p.returned.list, t)
	p.returned.any.Store(true)
	p.returned.mu.Unlock()
}

// takeReturned cancels the timers that returnTimer has queued. Owner.
func (p *Processor) takeReturned() {
	p.returned.mu.Lock()
	defer p.returned.mu.Unlock()
	for i, t := range p.returned.list {
		p.dropTimer(t)
		p.returned.list[i] = nil
	}
	p.returned.list = p.returned.list[:0]
	p.returned.any.Store(false)
}

// offer makes up to half of the ready coroutines move to a member that sleeps,
// which becomes active. Owner.
func (p *Processor) offer() {
	for _, q := range p.domain {
		if q != p && q.ep.Sleeping() {
			q.active.Store(true)
			p.lend(q, p.ex.Queued())
			return
		}
	}
}

// pollOthers acts on events that other Processors have not collected, and
// reports whether there were any. It polls the domain's members before p, which
// the kernel may have woken for an event, and then the last member of each
// other domain, which has the events that found all members awake, until it
// finds one. It is called once between two runs: a spurious wake, such as a
// signal's, must not cost more than a wake. Owner.
func (p *Processor) pollOthers() bool {
	n := 0
	poll := func(q *Processor) {
		n += p.ep.PollOf(q.ep, func(pd *PollDesc, events epoller.Events) { pd.onEvent(p, events) })
	}
	for _, q := range p.domain {
		if q == p {
			break // its own epoll has the events of the members behind it
		}
		if q.ep.Sleeping() {
			poll(q)
		}
	}
	for i := 0; n == 0 && i < len(p.others); i++ {
		if q := p.others[i]; !q.ep.Sleeping() {
			poll(q)
		}
	}
	p.polled = n == 0
	return n > 0
}

// callOthers wakes a sleeping Processor of another domain if no member of this
// domain sleeps and the poll that found n events may have left some. Owner.
func (p *Processor) callOthers(n int) {
	if len(p.others) > 0 && !p.domain[len(p.domain)-1].ep.Sleeping() && p.ep.More(n) {
		p.wakeStealer()
	}
}
