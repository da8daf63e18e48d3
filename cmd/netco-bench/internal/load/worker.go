package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/cmd/netco-bench/internal/cpulist"
	"github.com/netco-go/netco/cmd/netco-bench/internal/hist"
	"github.com/netco-go/netco/cmd/netco-bench/internal/work"
)

const (
	eventBatch = 256
	// pollMillis bounds one wait, so that a stop and a stall are seen.
	pollMillis = 50
	// stallScan is how often the connections are looked over for a stall.
	stallScan = int64(250 * time.Millisecond)
	// openBacklog is how many requests in flight an open loop's connection has
	// space for before it allocates more.
	openBacklog = 16
	// sendBatch bounds what is sent before answers are looked for again.
	sendBatch = 64
)

// errStopped ends a worker because another one failed or the run was cancelled.
var errStopped = errors.New("stopped")

// worker drives its share of the connections from one thread. Its phases, all
// changed by the worker itself:
//
//	warm-up -> window -> drain -> done
//
// In the drain a closed loop sends nothing, an open loop only what is overdue;
// it ends when nothing is in flight. Fields are the worker's own unless marked.
type worker struct {
	load   *Load
	epfd   int
	conns  []conn
	first  int // number of conns[0] in the whole load
	size   int
	verify bool
	stream []byte // read only, shared
	buf    []byte

	open     bool      // constant
	intended []arrival // of an open loop, those not yet sent

	start      time.Time
	latency    hist.Histogram
	classes    []hist.Histogram // latency by class, none if there is but one
	late       hist.Histogram
	recordFrom int64  // requests queued or intended earlier are not recorded
	done       uint64 // answered since the start
	draining   bool
	window     window

	completed atomic.Uint64 // done, published once per batch
}

// window is the measured part of a run, its fields first the clocks at its
// beginning, then the differences.
type window struct {
	requests  uint64
	elapsed   time.Duration
	serverCPU time.Duration
	clientCPU time.Duration
}

func dialWorker(ctx context.Context, l *Load, stream []byte, first, last int) (_ *worker,
	err error) {
	cfg := &l.cfg
	w := &worker{
		load: l, epfd: -1, first: first, size: cfg.Size, verify: cfg.Verify,
		stream: stream, buf: make([]byte, maxChunk), conns: make([]conn, 0, last-first),
		open: cfg.Rate > 0, classes: newClasses(cfg.Plan),
	}
	if w.open {
		w.intended, w.recordFrom = arrivals(cfg, first, last), int64(cfg.Warmup)
	}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.epfd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	stamps := make([]int64, (last-first)*cfg.Pipeline)
	for i := first; i < last; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fd, err := dial(cfg.Addr)
		if err != nil {
			return nil, &ConnError{i, "connect to " + cfg.Addr.String(), err}
		}
		n := len(w.conns)
		w.conns = append(w.conns, conn{
			fd: fd, left: cfg.Size, sendPos: streamStart(i), recvPos: streamStart(i),
			begins: streamStart(i), stamps: stamps[n*cfg.Pipeline : (n+1)*cfg.Pipeline],
		})
		ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET,
			Fd: int32(n)}
		if err := unix.EpollCtl(w.epfd, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
			return nil, &ConnError{i, "epoll_ctl", err}
		}
	}
	return w, nil
}

// newClasses returns a histogram for each class, none if there is but one.
func newClasses(p work.Plan) []hist.Histogram {
	if len(p) < 2 {
		return nil
	}
	return make([]hist.Histogram, len(p))
}

func (w *worker) close() {
	for i := range w.conns {
		unix.Close(w.conns[i].fd)
	}
	w.conns = nil
	if w.epfd >= 0 {
		unix.Close(w.epfd)
		w.epfd = -1
	}
}

// now is nanoseconds since the start. time.Since is a vDSO call, 25 ns where
// unix.ClockGettime, a real system call, takes 300.
func (w *worker) now() int64 { return int64(time.Since(w.start)) }

// run goes through all phases on a thread of its own.
func (w *worker) run(start time.Time) error {
	release, err := cpulist.Bind(w.load.cfg.CPUs)
	if err != nil {
		return err
	}
	defer release()
	w.start = start
	if w.open {
		restore, err := preciseTimers()
		if err != nil {
			return err
		}
		defer restore()
	} else if err := w.fill(); err != nil {
		return err
	}
	warmEnd := int64(w.load.cfg.Warmup)
	if err := w.loop(warmEnd); err != nil {
		return err
	}
	w.openWindow()
	if err := w.loop(warmEnd + int64(w.load.cfg.Duration)); err != nil {
		return err
	}
	w.closeWindow()
	kept, keptClasses := w.latency, slices.Clone(w.classes)
	w.draining = true
	if err := w.loop(math.MaxInt64); err != nil {
		return err
	}
	if !w.open {
		// What the drain adds to a closed loop's histogram would weigh in too
		// late.
		w.latency, w.classes = kept, keptClasses
	}
	return nil
}

// fill puts the first requests in flight.
func (w *worker) fill() error {
	for i := range w.conns {
		c := &w.conns[i]
		now := w.now()
		for j := range c.stamps {
			c.stamps[j] = now
		}
		c.inFlight = len(c.stamps)
		c.unsent = c.inFlight * w.size
		if err := w.flush(c); err != nil {
			return &ConnError{w.first + i, "write", err}
		}
	}
	return nil
}

// loop handles events until the clock reads until or, in the drain, until
// nothing is in flight. It checks once per batch.
func (w *worker) loop(until int64) error {
	var events [eventBatch]unix.EpollEvent
	nextScan := w.now() + stallScan
	for {
		if w.load.stop.Load() {
			return errStopped
		}
		now := w.now()
		if now >= until || w.draining && w.idle() {
			return nil
		}
		if now >= nextScan {
			if err := w.scan(now); err != nil {
				return err
			}
			nextScan = now + stallScan
		}
		n, err := w.sendAndWait(events[:], now, until)
		if err != nil {
			return err
		}
		for i := range events[:n] {
			if err := w.event(int(events[i].Fd), events[i].Events); err != nil {
				return err
			}
		}
		w.completed.Store(w.done)
	}
}

// sendAndWait waits for events. An open loop first sends what is due, and waits
// no longer than until the next request is, or the phase ends.
func (w *worker) sendAndWait(events []unix.EpollEvent, now, until int64) (int, error) {
	if !w.open {
		return wait(w.epfd, events, pollMillis)
	}
	for range sendBatch {
		if len(w.intended) == 0 || w.intended[0].at > now {
			break
		}
		if err := w.send(w.intended[0], now); err != nil {
			return 0, err
		}
		w.intended = w.intended[1:]
		now = w.now()
	}
	next := min(until, now+pollMillis*int64(time.Millisecond))
	if len(w.intended) > 0 {
		next = min(next, w.intended[0].at)
	}
	return waitNs(w.epfd, events, max(next-now, 0))
}

// send puts one request in flight.
func (w *worker) send(a arrival, now int64) error {
	if a.at >= w.recordFrom {
		w.late.Record(now - a.at)
	}
	c := &w.conns[a.conn-w.first]
	c.push(a.at)
	c.unsent += w.size
	if c.unsent > w.size {
		return nil // the socket is full, EPOLLOUT continues
	}
	if err := w.flush(c); err != nil {
		return &ConnError{a.conn, "write", err}
	}
	return nil
}

// scan returns ErrStall when a connection with requests in flight has been
// silent for too long.
func (w *worker) scan(now int64) error {
	waiting := 0
	for i := range w.conns {
		c := &w.conns[i]
		if c.inFlight > 0 && now-max(c.stamps[c.oldest], c.heard) > int64(w.load.cfg.Stall) {
			waiting++
		}
	}
	if waiting == 0 {
		return nil
	}
	return fmt.Errorf("%w for %v on %d of %d connections (%d requests answered so far)",
		ErrStall, w.load.cfg.Stall, waiting, len(w.conns), w.done)
}

// idle says whether nothing is in flight or overdue.
func (w *worker) idle() bool {
	if len(w.intended) > 0 {
		return false
	}
	for i := range w.conns {
		if w.conns[i].inFlight > 0 {
			return false
		}
	}
	return true
}

// openWindow starts the measurement. The first worker reads the server's clock
// for all: their windows begin and end within a batch of each other.
func (w *worker) openWindow() {
	if !w.open {
		w.latency.Reset()
		clear(w.classes)
	}
	w.window = window{w.done, time.Duration(w.now()), w.serverCPU(), threadCPU()}
	if w.first == 0 {
		close(w.load.warm)
	}
}

func (w *worker) closeWindow() {
	o := w.window
	w.window = window{w.done - o.requests, time.Duration(w.now()) - o.elapsed,
		w.serverCPU() - o.serverCPU, threadCPU() - o.clientCPU}
}

func (w *worker) serverCPU() time.Duration {
	if w.first != 0 || w.load.cfg.ServerPID == 0 {
		return 0
	}
	return processCPU(w.load.cfg.ServerPID)
}
