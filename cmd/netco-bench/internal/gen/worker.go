package gen

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// publishEvery is how often a worker publishes its figures.
const publishEvery = 100 * time.Millisecond

// figures are counts of one second.
type figures struct {
	at                int // seconds since the window's start
	requests          uint64
	bytesIn, bytesOut uint64
	errors            result.Errors
	response          result.Histogram
}

// worker is the share of one Processor. Its coroutines own it, up to what is
// under mu: with HTTP/2, all that is not constant.
type worker struct {
	g     *Gen
	index int
	rng   *rand.Rand
	conns []*conn
	idle  []*dialed

	h2      []*h2Conn      // in place of conns and idle
	due     chan int64     // intended times that have come, for h2
	streams sync.WaitGroup // of h2

	// Times are clock.Now's.
	start, windowStart, windowEnd int64

	schedule *schedule // of an open loop
	quota    uint64    // requests still to be sent in the window; MaxUint64: any number
	stopping bool      // nothing more is to be sent
	alive    int       // connections that still run
	down     int       // connections that have no socket and cannot get one
	lastErr  error
	firstErr string // of a request that counts, and firstAt when
	firstAt  int64
	lastDone int64 // when the last counted answer came

	now      *figures
	service  result.Histogram // of an open loop
	lateness result.Histogram
	connect  result.Histogram
	tls      result.Histogram
	classes  []result.Class // if there are several
	statuses [1000]uint64
	intended uint64

	dialAt, dialing int // of the connections opened before the start
	dialErr         error

	mu        sync.Mutex
	finished  []*figures // seconds that are over, for Gen.collect
	published published
}

// published is what the live view shows of a worker.
type published struct {
	requests, errors uint64
	down             int
	lastErr          error
}

func newWorker(g *Gen, index int) *worker {
	cfg := g.cfg
	w := &worker{g: g, index: index, quota: math.MaxUint64, now: new(figures)}
	w.rng = rand.New(rand.NewPCG(cfg.Seed+1, uint64(index)))
	share := func(n int) int { return (index+1)*n/cfg.Threads - index*n/cfg.Threads }
	first := index * cfg.Connections / cfg.Threads
	for i := range share(cfg.Connections) {
		p := g.plans[(first+i)%len(g.plans)]
		if p.h2 != nil {
			w.h2 = append(w.h2, newH2Conn(w, p))
			continue
		}
		c := &conn{w: w, plan: p, codec: p.codec(w), pipeline: cfg.Pipeline, big: p.big,
			udp: p.target.Network == "udp", next: none}
		c.ws, _ = c.codec.(*wsCodec)
		c.inFlight.items = make([]entry, cfg.Pipeline)
		if p.target.Network == "tcp" && (p.target.TLS || share(cfg.Connections) <= ownBuffers) {
			c.buf = make([]byte, ownBuffer)
		}
		w.conns = append(w.conns, c)
	}
	w.idle = make([]*dialed, share(cfg.Idle))
	for i := 0; i < len(w.idle) && w.h2 != nil; i++ {
		w.h2 = append(w.h2, newH2Conn(w, g.plans[i%len(g.plans)]))
	}
	for _, c := range cfg.Classes {
		w.classes = append(w.classes, result.Class{Name: c.Name()})
	}
	if cfg.Requests > 0 {
		w.quota = uint64(share(int(cfg.Requests)))
	}
	if cfg.open() {
		from := cfg.Rate
		if cfg.Ramp > 0 {
			from = cfg.RampFrom
		}
		w.schedule = newSchedule(from, cfg.Rate, float64(cfg.Ramp), cfg.Poisson, cfg.Seed, index,
			cfg.Threads)
	}
	return w
}

// dialers is how many connections of a worker are opened at a time before the
// start: some, for round trips; few, for the server's backlog.
const dialers = 16

// dialAll opens the connections and calls done when it is over.
func (w *worker) dialAll(done func()) {
	if w.h2 != nil {
		go w.dialH2(done)
		return
	}
	n := min(dialers, len(w.conns)+len(w.idle))
	w.dialing = n
	for range n {
		w.fork(func() {
			w.dialSome()
			if w.dialing--; w.dialing == 0 {
				done()
			}
		})
	}
}

func (w *worker) dialSome() {
	for w.dialErr == nil && w.dialAt < len(w.conns)+len(w.idle) {
		i := w.dialAt
		w.dialAt++
		var err error
		if i < len(w.conns) {
			if err = w.conns[i].dial(); err != nil {
				err = w.conns[i].plan.connectError(err)
			}
		} else {
			p := w.g.plans[i%len(w.g.plans)]
			if w.idle[i-len(w.conns)], err = p.dial(); err != nil {
				err = p.connectError(err)
			}
		}
		if err != nil && w.dialErr == nil {
			w.dialErr = err
		}
	}
}

// fork starts a coroutine on w's Processor, on which the caller is. It fails
// only when all is about to end.
func (w *worker) fork(f func()) bool {
	_, err := w.g.sched.GoWith(scheduler.Spawn{Local: true, Fn: f})
	return err == nil
}

// run starts all coroutines and calls done when the connections are through.
func (w *worker) run(done func()) {
	if w.h2 != nil {
		w.alive = 1 // until the end of the run
		w.fork(w.tick)
		go w.runH2(done)
		return
	}
	w.alive = len(w.conns)
	for _, c := range w.conns {
		w.fork(func() {
			defer func() {
				if w.alive--; w.alive == 0 {
					done()
				}
			}()
			c.run()
		})
	}
	w.fork(w.tick)
	w.fork(w.sweep)
}

// more reports whether a closed loop is to send another request, and accounts
// for it.
func (w *worker) more(now int64) bool {
	if w.stopping || now >= w.windowEnd || w.quota == 0 {
		return false
	}
	w.spend(now)
	return true
}

func (w *worker) spend(at int64) {
	if w.quota != math.MaxUint64 && at >= w.windowStart {
		w.quota--
	}
}

// nextTime returns the next intended time of an open loop, if there is one.
// When the time-out has passed since the end of the window, the requests that
// could not be sent have failed.
func (w *worker) nextTime(now int64) (at int64, ok bool) {
	for !w.stopping && w.quota != 0 {
		at = w.start + w.schedule.next()
		if at >= w.windowEnd {
			w.stopping = true
			break
		}
		w.spend(at)
		if at >= w.windowStart {
			w.intended++
		}
		if now <= w.windowEnd || now-w.windowEnd <= int64(w.g.cfg.Timeout) {
			return at, true
		}
		w.now.errors.Timeout++
	}
	return 0, false
}

// counts reports whether a request belongs to the window.
func (w *worker) counts(e entry, now int64) bool {
	if w.schedule != nil {
		now = e.intended
	}
	return now >= w.windowStart && now < w.windowEnd
}

// setDown accounts for a connection that has no socket and cannot get one.
func (w *worker) setDown(was *bool, down bool) {
	if down != *was {
		if *was = down; down {
			w.down++
		} else {
			w.down--
		}
	}
}

// answered accounts for one answer.
func (w *worker) answered(c codec, e entry, now int64, v verdict) {
	if !w.counts(e, now) {
		return
	}
	f := w.now
	f.requests++
	w.lastDone = now
	f.response.Record(now - e.intended)
	if w.schedule != nil {
		w.service.Record(now - e.sent)
	}
	if w.classes != nil {
		w.classes[v.class()].Response.Record(now - e.intended)
	}
	if v != complete {
		w.statuses[v.status()%len(w.statuses)]++
		if v&failed != 0 {
			f.errors.Status++
			if w.firstErr == "" {
				w.firstErr, w.firstAt = c.failure(v), now
			}
		}
	}
}

// failed accounts for a request that has got no answer.
func (w *worker) failed(e entry, now int64, err error) {
	if w.schedule != nil || now < w.windowEnd {
		w.lastErr = err // else the run's end may be the cause
	}
	if w.counts(e, now) {
		count(&w.now.errors, err, 1)
		if w.firstErr == "" && err != nil {
			w.firstErr, w.firstAt = err.Error(), now
		}
	}
}

// tick publishes the figures and ends seconds.
func (w *worker) tick() {
	at := w.windowStart
	for at < clock.Now() {
		at += int64(publishEvery)
	}
	for w.alive > 0 {
		sleepUntil(at)
		w.publish(at)
		for at += int64(publishEvery); at < clock.Now(); {
			at += int64(publishEvery)
		}
	}
}

func (w *worker) publish(now int64) {
	second := max(0, int((now-w.windowStart)/int64(time.Second)))
	w.mu.Lock()
	defer w.mu.Unlock()
	if now == w.windowStart {
		w.now.bytesIn, w.now.bytesOut = 0, 0 // those of the warm-up
	}
	if second != w.now.at {
		w.endSecondLocked(second)
	}
	w.published.down, w.published.lastErr = w.down, w.lastErr
	w.published.requests, w.published.errors = w.now.requests, w.now.errors.Sum()
}

// endSecondLocked hands the current second to Gen.collect.
func (w *worker) endSecondLocked(next int) {
	w.finished = append(w.finished, w.now)
	w.now = &figures{at: next}
	w.published.requests, w.published.errors = 0, 0
}

// sweep finds requests that have timed out, and wakes their connections.
func (w *worker) sweep() {
	timeout := int64(w.g.cfg.Timeout)
	every := time.Duration(min(max(timeout/16, int64(time.Millisecond)), int64(publishEvery)))
	past := time.Unix(1, 0)
	for w.alive > 0 {
		processor.Sleep(every)
		now := clock.Now()
		for _, c := range w.conns {
			if c.d != nil && !c.expired && c.inFlight.count > 0 &&
				(now-c.inFlight.first().sent > timeout || w.timeUp()) {
				c.expired = true
				_ = c.d.raw.SetDeadline(past) // or it is closed, which its owner finds out
			}
		}
	}
}

// timeUp reports whether the time-out has passed since the end of the window.
// What is still in flight then has failed.
func (w *worker) timeUp() bool {
	return clock.Now()-w.windowEnd > int64(w.g.cfg.Timeout)
}

func sleepUntil(at int64) {
	if d := at - clock.Now(); d > 0 {
		processor.Sleep(time.Duration(d))
	}
}
