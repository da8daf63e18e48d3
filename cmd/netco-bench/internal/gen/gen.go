package gen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/scheduler"
)

// bufferSize is the size of the buffers that are read into.
const bufferSize = 64 << 10

// goneAfter is how long no connection may be open until the server counts as
// gone.
const goneAfter = time.Second

// Gen is one run. Its methods Live and Run may be called at the same time.
type Gen struct {
	cfg     *Config
	plans   []*plan // by server
	sched   *scheduler.Scheduler
	workers []*worker

	errTimeout error // of a request that has got no answer in time

	running context.Context // of what is no coroutine, until stop is called
	stop    context.CancelFunc

	mu      sync.Mutex
	phase   string
	start   int64 // of the window, 0 before it
	end     int64
	seconds []result.Second           // those that are over
	recent  map[int]*result.Histogram // latencies of the last seconds

	totals                   figures // of seconds
	whole                    result.Histogram
	liveRequests, liveErrors uint64 // of the current second
	downSince                int64

	before usage // when the window began, and ended
	after  usage
	peak   float64
	last   usage
}

// New makes a run from a checked configuration. It raises GOMAXPROCS where the
// threads would use it up: with a P to spare a thread that has waited in epoll
// finds one at once, where Go has taken its own away meanwhile.
func New(cfg *Config) (*Gen, error) {
	procs := max(runtime.GOMAXPROCS(0), cfg.Threads+1)
	if cfg.http2() {
		procs = cfg.Threads       // which run goroutines
		log.SetOutput(io.Discard) // where the client says what it makes of answers
	}
	runtime.GOMAXPROCS(procs)
	plans, err := newPlans(cfg)
	if err != nil {
		return nil, err
	}
	if len(plans) > cfg.Connections {
		return nil, fmt.Errorf("%d servers need as many connections, -c is %d", len(plans),
			cfg.Connections)
	}
	s, err := scheduler.New(scheduler.Options{
		Quiet:      true, // connections that hang are cut at the end
		Processors: cfg.Threads, MinActive: cfg.Threads, LockThreads: true,
		NoSpin: true, Watchdog: -1, BufferSize: bufferSize,
	})
	if err != nil {
		return nil, err
	}
	g := &Gen{cfg: cfg, plans: plans, sched: s, phase: "connecting",
		recent:     map[int]*result.Histogram{},
		errTimeout: fmt.Errorf("no answer within %v: %w", cfg.Timeout, os.ErrDeadlineExceeded)}
	g.running, g.stop = context.WithCancel(context.Background())
	for i := range cfg.Threads {
		g.workers = append(g.workers, newWorker(g, i))
	}
	return g, nil
}

// Run opens the connections, sends the load and returns what was measured. An
// error beside a result says why the run could not be finished; without a
// result it could not begin. Cancelling ctx ends the run early; that is no
// error once connections are open.
func (g *Gen) Run(ctx context.Context) (*result.Result, error) {
	if err := g.sched.Start(); err != nil {
		return nil, err
	}
	err := g.connect(ctx)
	if err == nil {
		err = g.load(ctx)
	}
	if err == nil && g.cfg.After != nil {
		err = g.cfg.After()
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_ = g.sched.Shutdown(over) // what still runs is not needed
	g.closeAll()
	if g.start == 0 {
		return nil, err
	}
	r := g.result()
	r.Interrupted = ctx.Err() != nil
	if err == nil && r.Totals.Requests == 0 && !r.Interrupted {
		err = g.noAnswers()
	}
	if err != nil {
		r.Failure = err.Error()
	}
	return r, err
}

func (g *Gen) noAnswers() error {
	for _, w := range g.workers {
		if w.lastErr != nil {
			return fmt.Errorf("no request was answered: %w", w.lastErr)
		}
	}
	err := errors.New("no request was answered")
	if g.cfg.Duration > 0 && g.cfg.Duration < g.cfg.Timeout {
		err = fmt.Errorf("%w within %v; none had timed out by then, since -timeout is %v", err,
			g.cfg.Duration, g.cfg.Timeout)
	}
	return err
}

// each runs f on each worker's Processor and waits until each has called done.
func (g *Gen) each(ctx context.Context, poll func() error, f func(w *worker, done func())) error {
	finished := make(chan struct{}, len(g.workers))
	for i, w := range g.workers {
		done := func() { finished <- struct{}{} } // does not block
		if _, err := g.sched.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(i), Fn: func() {
			f(w, done)
		}}); err != nil {
			return err
		}
	}
	ticker := time.NewTicker(publishEvery)
	defer ticker.Stop()
	for waiting := len(g.workers); waiting > 0; {
		select {
		case <-finished:
			waiting--
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := poll(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *Gen) connect(ctx context.Context) error {
	err := g.each(ctx, func() error { return nil }, func(w *worker, done func()) {
		w.dialAll(done)
	})
	if err == nil {
		err = ctx.Err()
	}
	for _, w := range g.workers {
		if err == nil {
			err = w.dialErr
		}
	}
	return err
}

func (p *plan) connectError(err error) error {
	return fmt.Errorf("cannot connect to %s: %w", p.target.URL, explain(err))
}

// explain adds to an error what to do about it, where that is known.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return fmt.Errorf(
			"%w (all local ports to it are in use: fewer connections, or less -churn)", err)
	case errors.Is(err, unix.EMFILE):
		return fmt.Errorf("%w (raise it with ulimit -n)", err)
	}
	return err
}

func (g *Gen) load(ctx context.Context) error {
	start := clock.Now()
	windowStart, windowEnd := start+int64(g.cfg.Warmup), int64(math.MaxInt64)
	if g.cfg.Duration > 0 {
		windowEnd = windowStart + int64(g.cfg.Duration)
	}
	g.mu.Lock()
	g.phase, g.start, g.end = "warm-up", windowStart, windowEnd
	if g.cfg.Warmup == 0 {
		g.openLocked()
	}
	g.mu.Unlock()
	err := g.each(ctx, g.pollLoad, func(w *worker, done func()) {
		w.start, w.windowStart, w.windowEnd = start, windowStart, windowEnd
		w.run(done)
	})
	if errors.Is(err, errOver) {
		err = nil
	}
	if err == nil {
		g.awaitEnd(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shutLocked()
	return err
}

// awaitEnd lets the window of an open loop be as long as was asked for: there
// may be nothing to send in its last part.
func (g *Gen) awaitEnd(ctx context.Context) {
	if !g.cfg.open() || g.cfg.Duration == 0 || g.cfg.Requests > 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(g.end - clock.Now())):
	}
}

// errOver ends a run whose connections still wait for answers.
var errOver = errors.New("over")

// lastAnswers is how long a closed loop waits for answers after its window.
// They count no more, but a server that is quick need not see its connections
// end in front of them.
const lastAnswers = 200 * time.Millisecond

// pollLoad is poll, and ends a closed loop that has waited long enough. An open
// loop waits for all the answers it intended to get, up to their time-outs.
func (g *Gen) pollLoad() error {
	if err := g.poll(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.cfg.open() && clock.Now()-g.end > int64(lastAnswers) {
		return errOver
	}
	return nil
}

// openLocked begins the window.
func (g *Gen) openLocked() {
	g.phase, g.before = "measuring", readUsage()
	g.last = g.before
	if g.cfg.Probe != nil {
		g.cfg.Probe(false)
	}
}

// shutLocked ends the window, if that has not been done.
func (g *Gen) shutLocked() {
	if g.phase != "measuring" {
		return
	}
	g.phase, g.after = "finishing", readUsage()
	if g.cfg.Probe != nil {
		g.cfg.Probe(true)
	}
}

// poll is called each 100 ms of the run.
func (g *Gen) poll() error {
	now := clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.phase == "warm-up" && now >= g.start:
		g.openLocked()
	case now >= g.end:
		g.shutLocked()
	}
	if d := now - g.last.at; d >= int64(time.Second) {
		u := readUsage()
		g.peak = max(g.peak, u.share(g.last, g.cfg.Threads))
		g.last = u
	}
	return g.collectLocked(now)
}

// collectLocked takes over what the workers have published.
func (g *Gen) collectLocked(now int64) error {
	down, lastErr := 0, error(nil)
	g.liveRequests, g.liveErrors = 0, 0
	for _, w := range g.workers {
		w.mu.Lock()
		finished := w.finished
		w.finished = nil
		p := w.published
		w.mu.Unlock()
		for _, f := range finished {
			g.addLocked(f)
		}
		g.liveRequests += p.requests
		g.liveErrors += p.errors
		if down += p.down; p.lastErr != nil {
			lastErr = p.lastErr
		}
	}
	if down < g.cfg.Connections {
		g.downSince = 0
	} else if g.downSince == 0 {
		g.downSince = now
	} else if now-g.downSince > int64(goneAfter) && g.phase != "finishing" {
		return fmt.Errorf("the server is gone: %w", lastErr)
	}
	return nil
}

// recentSeconds is how many seconds may be added to.
const recentSeconds = 5

// addLocked adds a worker's second to the run's. The workers finish a second at
// nearly the same time, so only the last few have histograms.
func (g *Gen) addLocked(f *figures) {
	i, found := slices.BinarySearchFunc(g.seconds, f.at, func(s result.Second, at int) int {
		return s.At - at
	})
	if !found {
		g.seconds = slices.Insert(g.seconds, i,
			result.Second{At: f.at, Length: result.Duration(time.Second)})
		g.recent[f.at] = new(result.Histogram)
		delete(g.recent, f.at-recentSeconds)
	}
	s := &g.seconds[i]
	s.Requests += f.requests
	s.Errors += f.errors.Sum()
	s.BytesIn += f.bytesIn
	s.BytesOut += f.bytesOut
	if h := g.recent[f.at]; h != nil {
		h.Merge(&f.response)
		s.P50, s.P99, s.P999, s.Max = h.At(50), h.At(99), h.At(99.9), h.Max()
	}
	g.totals.requests += f.requests
	g.totals.bytesIn += f.bytesIn
	g.totals.bytesOut += f.bytesOut
	g.totals.errors.Add(&f.errors)
	g.whole.Merge(&f.response)
}

func (g *Gen) closeAll() {
	g.stop()
	for _, w := range g.workers {
		w.streams.Wait()
		for _, c := range w.conns {
			if c.d != nil {
				c.d.raw.Close()
			}
		}
		for _, c := range w.idle {
			if c != nil {
				c.raw.Close()
			}
		}
	}
}

// result sums up, after all coroutines have ended.
func (g *Gen) result() *result.Result {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := result.New()
	end, firstAt := int64(0), int64(0)
	for _, w := range g.workers {
		w.mu.Lock()
		w.endSecondLocked(0)
		w.mu.Unlock()
		end = max(end, w.lastDone)
		r.Service.Merge(&w.service)
		r.Lateness.Merge(&w.lateness)
		r.Connect.Merge(&w.connect)
		r.TLS.Merge(&w.tls)
		r.AddClasses(w.classes)
		r.Totals.Intended += w.intended
		g.addStatuses(r, w)
		if w.firstErr != "" && (r.Totals.FirstError == "" || w.firstAt < firstAt) {
			r.Totals.FirstError, firstAt = w.firstErr, w.firstAt
		}
	}
	now := clock.Now()
	_ = g.collectLocked(now)
	elapsed := g.elapsedLocked(now, end)
	r.Target, r.Elapsed = g.cfg.targetText(), result.Duration(elapsed)
	r.Start = time.Now().Add(time.Duration(g.start - now)).Round(time.Millisecond)
	r.Totals.Requests, r.Totals.Errors = g.totals.requests, g.totals.errors
	r.Totals.BytesIn, r.Totals.BytesOut = g.totals.bytesIn, g.totals.bytesOut
	r.Totals.Connects, r.Totals.Handshake = r.Connect.Count(), r.TLS.Count()
	r.Response.Merge(&g.whole)
	if !g.cfg.open() {
		r.Service.Merge(&g.whole)
	}
	r.Series = g.seconds
	if n := len(r.Series); n > 0 {
		s := &r.Series[n-1]
		if rest := elapsed - int64(s.At)*int64(time.Second); rest > 0 && rest < int64(time.Second) {
			s.Length = result.Duration(rest)
		}
		if s.Requests == 0 && s.Errors == 0 && s.At > 0 &&
			int64(s.At)*int64(time.Second) >= elapsed {
			r.Series = r.Series[:n-1]
		}
	}
	r.Environment, r.Options = result.ThisMachine(), g.options()
	share := g.after.share(g.before, g.cfg.Threads)
	r.Generator = result.Generator{CPU: result.Duration(g.after.cpu - g.before.cpu), Share: share,
		Peak: max(g.peak, share)}
	return r
}

// elapsedLocked is the length of the window: as long as was asked for, or until
// the last answer if that came later, or if there was no time given; less if
// the run was ended early.
func (g *Gen) elapsedLocked(now, lastDone int64) int64 {
	end := min(g.end, now)
	if lastDone > 0 && (g.cfg.Duration == 0 || lastDone > g.end) {
		end = lastDone
	}
	return max(end-g.start, 0)
}

func (g *Gen) addStatuses(r *result.Result, w *worker) {
	for status, n := range w.statuses {
		if n == 0 || status == 0 {
			continue
		}
		if r.Totals.Status == nil {
			r.Totals.Status = map[string]uint64{}
		}
		r.Totals.Status[strconv.Itoa(status)] += n
	}
}

func (g *Gen) options() result.Options {
	c := g.cfg
	o := result.Options{
		Protocol: c.protocol(), Connections: c.Connections, Idle: c.Idle, Threads: c.Threads,
		Rate: c.Rate, Pipeline: c.Pipeline, Size: c.Mix.String(), Requests: c.Requests,
		Duration: result.Duration(c.Duration), Warmup: result.Duration(c.Warmup),
		Timeout: result.Duration(c.Timeout),
		Churn:   c.Churn, Verify: c.Verify, Work: c.Classes.String(),
	}
	if c.open() {
		o.Arrival = "uniform"
		if c.Poisson {
			o.Arrival = "poisson"
		}
	}
	if c.Ramp > 0 {
		o.Ramp = fmt.Sprintf("%g:%v", c.RampFrom, c.Ramp)
	}
	switch c.protocol() {
	case "http", "https", "h2":
		o.Method = c.http(c.Targets).method
	}
	return o
}

// Live returns how many requests are answered at this moment, and the last
// seconds that are over.
func (g *Gen) Live() (requests uint64, seconds []result.Second) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.totals.requests + g.liveRequests,
		slices.Clone(g.seconds[max(0, len(g.seconds)-recentSeconds):])
}

// usage is the CPU time of this process at a time.
type usage struct {
	at  int64
	cpu time.Duration
}

func readUsage() usage {
	var r unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &r) // fails only for a bad argument
	return usage{clock.Now(), time.Duration(r.Utime.Nano() + r.Stime.Nano())}
}

// share is what part of the threads' time since o was used.
func (u usage) share(o usage, threads int) float64 {
	if u.at <= o.at {
		return 0
	}
	cores := min(threads, runtime.NumCPU())
	return float64(u.cpu-o.cpu) / (float64(u.at-o.at) * float64(cores))
}
