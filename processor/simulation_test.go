package processor

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// A simulation of Processors that serve requests, in which the clock jumps from
// event to event. How many Processors are active, and whether they share, is
// decided by the functions that the monitor and the Processors call. It is the
// same in each run.
//
// Each Processor has a core. It polls for up to its batch of events, runs the
// coroutines that are ready, one at a time, until none is or the turn is over,
// and sleeps when it has found nothing. An event of a shared fd is there for
// each member of the domain, and wakes the first that sleeps.
//
// What takes how long, in ns. The figures are of docs/bench and of loops in C
// on a virtual machine.
const (
	simTurn    = 150    // a turn, without what follows
	simPoll    = 300    // epoll_wait without waiting
	simResume  = 50     // a switch to a coroutine and back
	simEcho    = 5_000  // recv and send
	simSleep   = 4_000  // CPU time of going to sleep and waking
	simWake    = 20_000 // from a wake until the thread runs
	simRing    = 7_000  // what it costs a Processor to wake another
	simMove    = 2_000  // registering an fd, and a coroutine that moves
	simThink   = 20_000 // of a peer in a closed loop
	simSlice   = 3_000_000
	simQuota   = 100_000_000 // the period of a CPU quota
	simBalance = int64(balanceEvery)
)

// load is the work to be served.
type load struct {
	conns  int
	closed bool                              // each connection waits for its answer
	rate   func(now int64) float64           // requests per second, of an open loop
	most   float64                           // the highest rate
	work   func(*rand.Rand) int64            // of the handler, ns
	conn   func(r *rand.Rand, conns int) int // that gets the next request
	busy   int                               // cores with a busy loop
	quota  float64                           // cores' time for all; 0: any
	warm   int64                             // ns before what is measured
	steady int64                             // the same for a fixed number of Processors
	ramp   int64                             // the load of an open loop rises for so long at first
	length int64                             // ns measured
	judged func(work int64) bool             // of which requests the latency counts; nil: all
}

// result is what a simulation has measured.
type result struct {
	p50, p90, p99, cpu float64 // µs; cpu: for each request
	served             int
	intended           int
}

type simConn struct {
	home    int // a Processor
	shared  bool
	to      int // where it is to move at its next wait; -1: nowhere
	waits   bool
	raised  bool // an epoll has it, and nothing has taken it
	pending []simRequest
}

type simRequest struct{ at, work int64 }

type simState int8

const (
	simAsleep simState = iota
	simWoken           // and its thread does not run yet
	simAwake
	simRuns // a coroutine
)

type simProc struct {
	state   simState
	active  bool
	events  []int32 // connections, whose events this one alone polls
	ready   []int32
	began   int64 // of the turn
	before  int64 // length of the last turn; 0: it slept since
	waits   int64 // of noted runs, since the last measurement
	noted   int64
	ran     int
	slept   int64 // when its sleep began
	idle    int64 // time asleep
	cpu     int64
	used    int64 // cpu, when the turn began
	slice   int64 // CPU time since the busy loop of its core ran
	current int32
	batch   int
	meter   runMeter
	home    bool // an event of a connection that is not shared has come
	move    *move
}

type simEvent struct {
	at   int64
	proc int32 // -1: a request in a closed loop
	conn int32
}

type simulation struct {
	load
	fixed    bool // a queue for all, and as many Processors all the time
	domain   int
	now      int64
	next     int64 // time of the next request in an open loop
	balanced int64
	heap     []simEvent
	procs    []simProc
	conn     []simConn
	events   [][]int32 // of each domain
	sharing  bool
	policy   policy
	busyNs   []int64
	runs     uint64
	period   int64 // of the quota
	used     int64 // in it
	arrivals *rand.Rand
	works    *rand.Rand

	latencies [4096]int
	result
}

// simulate serves a load with up to n Processors, or with n that share one
// queue.
func simulate(l load, n int, fixed bool) result {
	s := &simulation{load: l, fixed: fixed, domain: domainSize,
		arrivals: rand.New(rand.NewPCG(1, 2)), works: rand.New(rand.NewPCG(3, 4))}
	s.procs = make([]simProc, n)
	s.busyNs = make([]int64, n)
	s.conn = make([]simConn, l.conns)
	if fixed {
		s.domain, s.sharing = n, true
		s.warm = min(s.warm, l.steady)
	}
	s.events = make([][]int32, (n+s.domain-1)/s.domain)
	for i := range s.procs {
		p := &s.procs[i]
		p.active, p.batch = fixed || i == 0, wholeBatch
		if fixed {
			p.batch = 1
		}
	}
	for i := range s.conn {
		s.conn[i] = simConn{waits: true, to: -1, shared: fixed}
		if l.closed {
			s.at(int64(i)*100, -1, int32(i))
		}
	}
	s.next, s.balanced = math.MaxInt64, simBalance
	if !l.closed {
		s.next = s.gap(0)
	}
	s.loop()
	s.sum()
	return s.result
}

func (s *simulation) loop() {
	before := int64(0)
	for end := s.warm + s.length; ; {
		at := min(s.next, s.balanced)
		if len(s.heap) > 0 {
			at = min(at, s.heap[0].at)
		}
		if before == 0 && at >= s.warm {
			before = s.cpuNs() + 1
		}
		if s.now = at; at >= end {
			s.cpu = float64(s.cpuNs()-before) / float64(max(s.served, 1)) / 1e3
			return
		}
		switch {
		case at == s.balanced:
			s.balanced += simBalance
			s.balance()
		case at == s.next:
			s.arrive(int32(s.load.conn(s.arrivals, s.conns)))
			s.next = s.gap(s.now)
		default:
			if e := s.pop(); e.proc < 0 {
				s.arrive(e.conn)
			} else {
				s.step(int(e.proc))
			}
		}
	}
}

// gap returns when the request after now comes, of a Poisson process.
func (s *simulation) gap(now int64) int64 {
	for {
		now += int64(s.arrivals.ExpFloat64()/s.most*1e9) + 1
		rate := s.rate(now)
		if !s.fixed && now < s.ramp {
			rate *= float64(now) / float64(s.ramp)
		}
		if s.arrivals.Float64()*s.most <= rate {
			return now
		}
	}
}

// arrive has a request come on a connection.
func (s *simulation) arrive(c int32) {
	x := &s.conn[c]
	x.pending = append(x.pending, simRequest{s.now, s.work(s.works)})
	if s.now >= s.warm {
		s.intended++
	}
	if x.waits {
		x.waits = false
		s.raise(c)
	}
}

// raise has epoll know that a connection is readable.
func (s *simulation) raise(c int32) {
	x := &s.conn[c]
	x.raised = true
	if !x.shared {
		p := &s.procs[x.home]
		p.events = append(p.events, c)
		s.wake(x.home)
		return
	}
	d := x.home / s.domain
	s.events[d] = append(s.events[d], c)
	for i := d * s.domain; i < min((d+1)*s.domain, len(s.procs)); i++ {
		if s.procs[i].state == simAsleep {
			s.wake(i)
			return
		}
	}
}

func (s *simulation) wake(i int) {
	if p := &s.procs[i]; p.state == simAsleep {
		p.state = simWoken
		p.cpu += simSleep
		s.used += simSleep
		s.at(s.now+simWake, int32(i), 0)
	}
}

// spend is how long it takes a Processor to use so much CPU time from now on.
func (s *simulation) spend(i int, cpu int64) int64 {
	p := &s.procs[i]
	p.cpu += cpu
	end := s.now + cpu
	if i < s.busy {
		if p.slice += cpu; p.slice > simSlice {
			p.slice = 0
			end += simSlice
		}
	}
	if s.quota > 0 {
		if period := s.now / simQuota; period != s.period {
			s.period, s.used = period, 0
		}
		if s.used += cpu; float64(s.used) > s.quota*simQuota {
			end = max(end, (s.period+1)*simQuota)
		}
	}
	return end - s.now
}

// step has a Processor go on.
func (s *simulation) step(i int) {
	p := &s.procs[i]
	switch p.state {
	case simRuns:
		s.ran(i, p.current)
	case simWoken:
		p.state = simAwake
		p.idle += s.now - p.slept
	}
	if len(p.ready) > 0 && p.ran > 0 && p.ran < turnResumes && s.now-p.began < turnNs {
		s.run(i, 0)
		return
	}
	cost := int64(simTurn + simPoll)
	if p.ran > 0 {
		s.noted(i, s.now-p.began)
		p.ran = 0
	}
	p.began, p.used = s.now, p.cpu
	if m := p.move; m != nil {
		p.move = nil
		s.moveWork(*m)
	}
	full := s.poll(i)
	if s.sharing && !s.fixed {
		if len(p.ready) > 1 {
			cost += s.offer(i)
		} else if full && len(s.events) > 1 && s.full(i/s.domain) {
			cost += simPoll
			if s.more(i / s.domain) {
				cost += s.callOther(i)
			}
		} else if len(p.ready) == 0 {
			cost += s.pollOther(i)
		}
	}
	if len(p.ready) > 0 {
		p.state = simAwake
		s.run(i, cost)
		return
	}
	s.spend(i, cost)
	p.state, p.slept, p.before = simAsleep, s.now, 0
}

// noted has what measures runs note a turn.
func (s *simulation) noted(i int, ns int64) {
	p := &s.procs[i]
	if s.fixed {
		return
	}
	n := int64(p.ran)
	waits := p.before/2*n + ns*(n-1+2*int64(len(p.ready)))/2 // as noteWaits
	p.before = ns
	p.waits, p.noted = p.waits+waits, p.noted+n
	if p.meter.readsCPU {
		p.meter.used(p.cpu-p.used, p.ran)
	}
	begin, batch := p.meter.note(ns, waits, p.ran, s.sharing, true)
	if batch != 0 {
		if p.home {
			batch = wholeBatch
		}
		p.home, p.batch = false, batch
	}
	if begin {
		s.sharing = true
		for j := range s.procs {
			s.procs[j].active = true
		}
	}
}

// full reports whether no member of a domain sleeps.
func (s *simulation) full(d int) bool {
	last := min((d+1)*s.domain, len(s.procs)) - 1
	return s.procs[last].state >= simAwake
}

// more reports whether a domain has events.
func (s *simulation) more(d int) bool {
	return slices.ContainsFunc(s.events[d], func(c int32) bool {
		x := &s.conn[c]
		return x.raised && x.shared && x.home/s.domain == d
	})
}

// callOther wakes a member of another domain.
func (s *simulation) callOther(i int) int64 {
	for j := range s.procs {
		if s.procs[j].state == simAsleep {
			s.wake(j)
			return simRing
		}
	}
	return 0
}

// pollOther takes an event of another domain, whose members are all busy.
func (s *simulation) pollOther(i int) (cost int64) {
	p := &s.procs[i]
	for k := 1; k < len(s.events); k++ {
		d := (i/s.domain + k) % len(s.events)
		if !s.full(d) {
			continue
		}
		cost += simPoll
		for q := &s.events[d]; len(*q) > 0; {
			c := (*q)[0]
			*q = shift(*q, 1)
			x := &s.conn[c]
			if x.raised && x.shared && x.home/s.domain == d {
				x.raised = false
				p.ready = append(p.ready, c)
				return cost
			}
		}
	}
	return cost
}

// poll makes ready what up to a batch of events is for, and reports whether
// there may be more.
func (s *simulation) poll(i int) (full bool) {
	p := &s.procs[i]
	defer func() { full = len(p.ready) >= min(p.batch, 128) }()
	for _, q := range []*[]int32{&p.events, &s.events[i/s.domain]} {
		for len(*q) > 0 && len(p.ready) < min(p.batch, 128) {
			c := (*q)[0]
			*q = shift(*q, 1)
			x := &s.conn[c]
			if x.raised && (x.home == i || x.shared && x.home/s.domain == i/s.domain) {
				p.home = p.home || s.sharing && !s.fixed && !x.shared
				x.raised = false
				p.ready = append(p.ready, c)
			}
		}
	}
	return
}

// shift takes the first k off a queue.
func shift[T any](q []T, k int) []T {
	if k == len(q) {
		return q[:0]
	}
	return q[k:]
}

// offer moves half of the ready coroutines to a member that sleeps.
func (s *simulation) offer(i int) int64 {
	p := &s.procs[i]
	for j := i / s.domain * s.domain; j < min((i/s.domain+1)*s.domain, len(s.procs)); j++ {
		if q := &s.procs[j]; q.state == simAsleep {
			n := len(p.ready) / 2
			q.ready = append(q.ready, p.ready[:n]...)
			p.ready = shift(p.ready, n)
			s.wake(j)
			return simRing + int64(n)*simMove/2
		}
	}
	return 0
}

// run has a Processor serve the next request of the first connection that is
// ready.
func (s *simulation) run(i int, cost int64) {
	p := &s.procs[i]
	p.current = p.ready[0]
	p.ready = shift(p.ready, 1)
	p.ran++
	p.state = simRuns
	s.runs++
	x := &s.conn[p.current]
	cost += simResume + simEcho + x.pending[0].work
	if x.shared != s.sharing && !s.fixed {
		cost += int64(s.domain) * simMove / 2
	}
	s.at(s.now+s.spend(i, cost), int32(i), 0)
}

// ran ends a request.
func (s *simulation) ran(i int, c int32) {
	p, x := &s.procs[i], &s.conn[c]
	p.state = simAwake
	r := x.pending[0]
	x.pending = shift(x.pending, 1)
	if s.now >= s.warm {
		s.served++
		if s.judged == nil || s.judged(r.work) {
			s.latencies[bucket(s.now-r.at)]++
		}
	}
	if s.closed {
		s.at(s.now+simThink, -1, c)
	}
	if !s.fixed {
		if s.sharing && !x.shared {
			x.home = int(c) % len(s.events) * s.domain
		}
		x.shared = s.sharing
		if !x.shared && x.home != i {
			x.home = i // it has moved
		}
		if x.to >= 0 && s.procs[x.to].active && !s.sharing {
			x.home = x.to
			p.cpu += simMove
		}
		x.to = -1
	}
	if x.waits = len(x.pending) == 0; !x.waits {
		s.raise(c) // what has come meanwhile
	}
}

// balance is the monitor's part.
func (s *simulation) balance() {
	if s.fixed {
		return
	}
	m := interval{minActive: 1, sharing: s.sharing, runs: s.runs,
		seconds: float64(simBalance) / 1e9}
	s.runs = 0
	homes := make([]int, len(s.procs))
	for i := range s.conn {
		homes[s.conn[i].home]++
	}
	for i := range s.procs {
		p := &s.procs[i]
		ns := s.now - p.idle
		if p.state <= simWoken {
			ns -= s.now - p.slept
		}
		m.members = append(m.members, measured{
			busy:   float64(ns-s.busyNs[i]) / float64(simBalance),
			waitNs: float64(p.waits) / float64(max(p.noted, 1)),
			active: p.active, shares: max(homes[i], len(p.ready)), cpuNs: int(p.meter.cpuNs)})
		s.busyNs[i] = ns
		p.waits, p.noted = 0, 0
	}
	var d decision
	s.policy, d = s.policy.decide(m)
	s.sharing = s.sharing && !d.endSharing
	for _, m := range d.moves {
		p := &s.procs[m.from]
		s.procs[m.to].active = true
		if p.move == nil || p.active {
			p.move = &m
		}
		if p.active {
			s.wake(m.from)
		}
		p.active = m.part < 1
	}
}

// moveWork has connections move at their next wait.
func (s *simulation) moveWork(m move) {
	n := 0
	for i := range s.conn {
		if s.conn[i].home == m.from {
			n++
		}
	}
	n = int(m.part * float64(n))
	for i := range s.conn {
		if x := &s.conn[i]; n > 0 && x.home == m.from {
			x.to = m.to
			n--
		}
	}
}

func (s *simulation) cpuNs() (ns int64) {
	for i := range s.procs {
		ns += s.procs[i].cpu
	}
	return ns
}

// bucket returns the bucket of a latency: 32 for each doubling.
func bucket(ns int64) int {
	e := bits.Len64(uint64(ns))
	if e <= 6 {
		return int(ns)
	}
	return e<<5 + int(ns>>(e-6))&31
}

// sum computes quantiles, each as the middle of its bucket in µs.
func (s *simulation) sum() {
	all := 0
	for _, n := range s.latencies {
		all += n
	}
	for _, q := range []struct {
		part float64
		at   *float64
	}{{0.5, &s.p50}, {0.9, &s.p90}, {0.99, &s.p99}} {
		left := int(q.part * float64(all))
		for b, n := range s.latencies {
			if left -= n; left < 0 {
				*q.at = float64(int64(65+2*(b&31))<<(b>>5)) / 128 / 1e3
				break
			}
		}
	}
}

// at adds an event.
func (s *simulation) at(at int64, proc, conn int32) {
	h := append(s.heap, simEvent{at, proc, conn})
	i := len(h) - 1
	for i > 0 && h[(i-1)/2].at > at {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = simEvent{at, proc, conn}
	s.heap = h
}

// pop takes the first event.
func (s *simulation) pop() simEvent {
	h := s.heap
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for 2*i+1 < len(h) {
		c := 2*i + 1
		if c+1 < len(h) && h[c+1].at < h[c].at {
			c++
		}
		if h[c].at >= last.at {
			break
		}
		h[i] = h[c]
		i = c
	}
	if len(h) > 0 {
		h[i] = last
	}
	s.heap = h
	return first
}
