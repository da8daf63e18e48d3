package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// soak is one run. What is not said to be otherwise belongs to the goroutine
// that runs it.
type soak struct {
	length time.Duration
	d      *daemon
	out    io.Writer
	opened atomic.Int64 // connections

	samples []sample // of the load; the watcher's until it has ended

	mu     sync.Mutex
	failed []string // under mu
}

// run makes one soak and returns what has failed, which is in out, too.
func run(ctx context.Context, length time.Duration, idle int, out io.Writer) []string {
	s := &soak{length: length, out: out}
	if err := s.run(ctx, idle); err != nil {
		s.fail("%v", err)
	}
	for _, what := range append(s.failed, []string{"passed", "FAILED"}[min(1, len(s.failed))]) {
		fmt.Fprintln(out, what)
	}
	return s.failed
}

func (s *soak) run(ctx context.Context, idle int) error {
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if s.d, err = startDaemon(dir); err != nil {
		return err
	}
	defer s.d.cmd.Process.Kill()
	// All is made that is made when it is first needed.
	for _, one := range []call{echoCall(nil), hashCall(0, nil), fanOutCall(8, 100, 1)} {
		if err := s.alone(one); err != nil {
			return err
		}
	}
	var start sample
	if err := within(patience, func() (err error) {
		err = s.d.wants("daemon_connections_open", 0)
		if err == nil {
			start, err = s.sample()
		}
		return err
	}); err != nil {
		return err
	}
	s.load(ctx, idle)
	err = errors.Join(within(patience, func() error { return s.settled(start) }), s.exact(),
		s.flat(), s.drain())
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if len(s.d.odd) > 0 {
		err = errors.Join(err, fmt.Errorf("the log has\n%s", strings.Join(s.d.odd, "\n")))
	}
	return err
}

func (s *soak) fail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failed) < 100 { // a run that fails all the time
		s.failed = append(s.failed, fmt.Sprintf(format, args...))
	}
}

func (s *soak) dial(network string, r *rand.Rand) (*conn, error) {
	c, err := net.DialTimeout(network, s.d.addrs[network], patience)
	if err != nil {
		return nil, err
	}
	s.opened.Add(1)
	return &conn{Conn: c, Rand: r}, nil
}

// load is the clients, observed and disturbed, until the time is over, and on a
// machine on which a look takes long until there were enough of them.
func (s *soak) load(ctx context.Context, idle int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	for k, one := range append(kinds, kind{"idle", idle, time.Second, talk(10, 10*time.Second)}) {
		for i := range one.clients {
			r := rand.New(rand.NewPCG(uint64(k), uint64(i)))
			all.Go(func() { s.client(ctx, one, r) })
		}
	}
	begin := time.Now()
	all.Go(func() { defer cancel(); s.watch(ctx, begin) })
	// Short enough for all of them to have their turn in a run of 20 s.
	pause := max(500*time.Millisecond, min(1500*time.Millisecond, s.length/100))
	for i := 0; sleep(ctx, pause); i++ {
		select {
		case <-s.d.exited:
			s.fail("the daemon is gone: %v\n%s", s.d.err, s.d.lastLines())
			cancel()
			continue
		default:
		}
		one := disturbances[i%len(disturbances)]
		if err := one.do(s, ctx); err != nil {
			s.fail("%s: %v", one.name, err)
		}
		if i%30 == 29 {
			fmt.Fprintln(s.out, time.Since(begin).Round(time.Second), s.opened.Load(), "conns")
		}
	}
	all.Wait()
	fmt.Fprintln(s.out, time.Since(begin).Round(time.Second), s.opened.Load(), "conns")
}

// watch looks at the process and at the metrics each second, in a short run
// more often. It returns when that is enough.
func (s *soak) watch(ctx context.Context, begin time.Time) {
	for sleep(ctx, min(time.Second, s.length/60)) {
		one, err := s.sample()
		if err != nil {
			s.fail("sampling: %v", err)
			continue
		}
		s.samples = append(s.samples, one)
		const enough = 24 // to be cut in three, see flat
		if took := time.Since(begin); took > s.length && len(s.samples) >= enough ||
			took > 5*s.length {
			return
		}
	}
}

// sample is the daemon's process at one time.
type sample struct {
	rss                      float64 // KiB
	threads, fds, goroutines float64 // goroutines but for those of coroutines
}

// sample looks once.
func (s *soak) sample() (one sample, err error) {
	m, err := s.d.scrape()
	if err != nil {
		return one, err
	}
	one.goroutines, err = m.sum("go_goroutines")
	for _, name := range []string{"netco_goroutines", "netco_blocking_calls"} {
		n, e := m.sum(name)
		one.goroutines, err = one.goroutines-n, errors.Join(err, e)
	}
	dir := fmt.Sprintf("/proc/%d/", s.d.cmd.Process.Pid)
	status, e := os.ReadFile(dir + "status")
	for line := range strings.Lines(string(status)) {
		fmt.Sscanf(line, "VmRSS: %g", &one.rss)
		fmt.Sscanf(line, "Threads: %g", &one.threads)
	}
	fds, e2 := os.ReadDir(dir + "fd")
	one.fds = float64(len(fds))
	return one, errors.Join(err, e, e2)
}

// settled wants all that the load has made to be gone, and the daemon to have
// counted each connection.
func (s *soak) settled(start sample) error {
	opened := float64(s.opened.Load())
	err := errors.Join(s.d.wants("daemon_connections_open", 0),
		s.d.wants("netco_coroutines", 2), // one for each listener
		s.d.wants("netco_connections_accepted_total", opened),
		s.d.wants("daemon_connections_opened_total", opened),
		s.d.wants("daemon_connections_closed_total", opened))
	if err != nil {
		return err
	}
	now, err := s.sample()
	// Two goroutines are net/http's, of the scrape that counts them. Go makes
	// some threads when system calls happen to coincide, and keeps them.
	if err == nil && (now.fds > start.fds || now.goroutines > start.goroutines+2 ||
		now.threads > start.threads+50) {
		err = fmt.Errorf("after the load: %+v, before it %+v", now, start)
	}
	return err
}

// exact has some calls made while nothing else goes on, for which every byte
// must have been counted, and none twice.
func (s *soak) exact() error {
	for _, network := range []string{"tcp", "unix"} {
		before, err := s.d.scrape()
		if err != nil {
			return err
		}
		c, err := s.dial(network, rand.New(rand.NewPCG(5, 6)))
		if err != nil {
			return err
		}
		defer c.Close()
		err = errors.Join(talk(100, 0)(c, context.Background()), c.do(echoCall(c.bytes(500_000))))
		for name, want := range map[string]int64{"netco_received_bytes_total": c.sent,
			"netco_sent_bytes_total": c.received} {
			was, _ := before.sum(name)
			err = errors.Join(err, within(patience, func() error {
				return s.d.wants(name, was+float64(want))
			}))
		}
		if err != nil {
			return fmt.Errorf("on %s: %w", network, err)
		}
	}
	return nil
}

// flat wants memory not to grow under load. The first minute is
// left out, or the first third of a shorter run: pools and the heap find their
// sizes. What is left is cut in three, and the median of the last part is held
// against that of the first: medians, because a profile makes a hump of a
// second or two. In a short run, in which the collector's rhythm alone makes
// more than 5 %, memory is allowed more.
func (s *soak) flat() error {
	if s.length < shortest {
		return nil
	}
	rest := s.samples[min(len(s.samples)/3, 60):]
	third := len(rest) / 3
	if third < 3 {
		return fmt.Errorf("%d samples are too few to tell anything", len(rest))
	}
	median := func(part []sample) float64 {
		slices.SortFunc(part, func(a, b sample) int { return cmp.Compare(a.rss, b.rss) })
		return part[len(part)/2].rss
	}
	allowed := 1.25
	if s.length > 2*time.Minute {
		allowed = 1.05
	}
	early, late := median(rest[:third]), median(rest[len(rest)-third:])
	fmt.Fprintf(s.out, "memory under load %.1f MiB, %.1f at the end, %+.1f %%\n", early/1024,
		late/1024, 100*(late/early-1))
	if late > early*allowed {
		return fmt.Errorf("memory has grown from %.0f to %.0f KiB", early, late)
	}
	return nil
}
