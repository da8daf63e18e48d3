// Package load is an echo client on raw epoll.
//
// As a closed loop it keeps a fixed number of requests in flight on each
// connection and sends the next one when the full echo of a former one is
// there. A server that stalls is then asked less, and its stall is one slow
// request.
//
// As an open loop (Config.Rate) it intends each request for a time fixed before
// the run and sends it then, whether or not former answers have come. Latency
// counts from the intended time, so a stall shows in all requests that it
// delays, and so does the generator's own lateness, which Result.Late reports.
// A request that the socket has no space for is sent when there is.
//
// It is the meter, so it must stay lighter than what it measures: no net
// package, one thread per worker, edge-triggered epoll with one registration
// per connection, no read after a short one, one clock reading per read or
// write, nothing allocated while it runs but space for backlogs. Result.Busy
// says how near to its limit it came.
//
// Every connection sends its own stretch of one fixed random stream, so an
// answer can be checked byte by byte without keeping what was sent, and bytes
// that belong to another connection are noticed.
package load

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/hist"
	"github.com/netco-go/netco/cmd/netco-bench/internal/work"
)

// DefaultStall is how long a connection that owes an answer may be silent.
const DefaultStall = 5 * time.Second

// ErrStall is in the chain of the error of a run in which a connection with
// requests in flight was silent for longer than Config.Stall.
var ErrStall = errors.New("no answer")

// Config says what load to put on whom. All fields without a default are
// required.
type Config struct {
	Addr     netip.AddrPort
	Conns    int
	Size     int // bytes per request
	Pipeline int // requests in flight per connection of a closed loop
	Threads  int // workers, each with its share of the connections; default 1
	CPUs     []int

	Rate    int    // requests per second of an open loop over all connections; 0 is a closed loop
	Poisson bool   // intended times at random; default: equally spaced on each connection
	Seed    uint64 // of the intended times

	// Plan is the server's work, with the classes that latencies are also
	// counted by; nil if there is none.
	Plan work.Plan

	Warmup   time.Duration
	Duration time.Duration
	Stall    time.Duration // default DefaultStall

	Verify    bool // compare every byte, not just lengths
	ServerPID int  // whose CPU clock to read at the window's edges
}

// Result is what one Run measured, between the end of the warm-up and the end
// of Config.Duration.
//
// Latency is from the time a request was queued, in an open loop intended, to
// the last byte of its echo, in ns. An open loop's histograms hold the requests
// intended in the window, whenever they were answered, and no others.
type Result struct {
	Requests  uint64 // answered
	Intended  uint64 // 0 for a closed loop
	Elapsed   time.Duration
	Latency   hist.Histogram
	Classes   []hist.Histogram // Latency by the class of the request, if there are several
	Late      hist.Histogram   // intended time to the first attempt to send, ns
	ServerCPU time.Duration    // user and system
	ClientCPU time.Duration    // of the workers' threads
	Threads   int
}

// Busy is the share of the window the workers' threads were running, 0 to 1.
// Near 1 the generator was the limit and the rate is a lower bound.
func (r *Result) Busy() float64 {
	return r.ClientCPU.Seconds() / (r.Elapsed.Seconds() * float64(r.Threads))
}

// Load is a set of open connections. Dial opens it, Run may be called once,
// Close closes it.
type Load struct {
	cfg     Config
	workers []*worker
	stop    atomic.Bool
	warm    chan struct{} // closed when the measured window begins
}

// Dial opens the connections. Cancelling ctx gives up between two of them.
func Dial(ctx context.Context, cfg Config) (*Load, error) {
	if cfg.Threads == 0 {
		cfg.Threads = 1
	}
	if cfg.Stall == 0 {
		cfg.Stall = DefaultStall
	}
	if cfg.Rate > 0 {
		cfg.Pipeline = openBacklog
	}
	cfg.Threads = min(cfg.Threads, cfg.Conns)
	l := &Load{cfg: cfg, warm: make(chan struct{})}
	stream := newStream()
	for i := range cfg.Threads {
		first, last := i*cfg.Conns/cfg.Threads, (i+1)*cfg.Conns/cfg.Threads
		w, err := dialWorker(ctx, l, stream, first, last)
		if err != nil {
			l.Close()
			return nil, err
		}
		l.workers = append(l.workers, w)
	}
	return l, nil
}

// Run drives the load through warm-up and window, then lets the requests in
// flight finish, however long an open loop's backlog takes, and leaves the
// connections open and idle. It returns the first error of any worker: a
// connection that ended, a wrong echo, or ErrStall.
func (l *Load) Run(ctx context.Context) (*Result, error) {
	defer context.AfterFunc(ctx, func() { l.stop.Store(true) })()
	errs := make([]error, len(l.workers))
	start := time.Now()
	var wg sync.WaitGroup
	for i, w := range l.workers {
		wg.Go(func() {
			if errs[i] = w.run(start); errs[i] != nil {
				l.stop.Store(true)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, errStopped) {
			return nil, err
		}
	}
	return l.result(), nil
}

func (l *Load) result() *Result {
	r := &Result{Threads: len(l.workers), Classes: newClasses(l.cfg.Plan)}
	if l.cfg.Rate > 0 {
		r.Intended = uint64(Intended(l.cfg.Rate, l.cfg.Duration))
	}
	for _, w := range l.workers {
		r.Requests += w.window.requests
		r.Elapsed = max(r.Elapsed, w.window.elapsed)
		r.ServerCPU += w.window.serverCPU
		r.ClientCPU += w.window.clientCPU
		r.Latency.Merge(&w.latency)
		r.Late.Merge(&w.late)
		for i := range r.Classes {
			r.Classes[i].Merge(&w.classes[i])
		}
	}
	return r
}

// Warm is closed when the warm-up ends.
func (l *Load) Warm() <-chan struct{} { return l.warm }

// Completed returns how many requests have been answered since Run began, the
// warm-up included. It may be called while Run runs.
func (l *Load) Completed() uint64 {
	var sum uint64
	for _, w := range l.workers {
		sum += w.completed.Load()
	}
	return sum
}

// Close closes all connections. It must not be called while Run runs.
func (l *Load) Close() {
	for _, w := range l.workers {
		w.close()
	}
}

// A ConnError is the failure of one connection.
type ConnError struct {
	Conn int // counted from 0 in the order of opening
	Op   string
	Err  error
}

func (e *ConnError) Error() string {
	return fmt.Sprintf("connection %d: %s: %v", e.Conn, e.Op, e.Err)
}
func (e *ConnError) Unwrap() error { return e.Err }
