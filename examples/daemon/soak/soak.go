package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// options are what is asked of a soak.
type options struct {
	length time.Duration
	idle   int
	locked bool // the daemon's Processors have threads of their own
	daemon string
	log    io.Writer // gets the daemon's log
	out    io.Writer // gets a line now and then
}

// soak is one run. What is not said to be otherwise belongs to the goroutine
// that runs it.
type soak struct {
	options
	d *daemon
	t *tally
	r report

	forced    [len(stallCauses)]int // stalls, by kind
	disturbed map[string]int

	samples []sample // the watcher's until it has ended, like before
	before  *metrics // the last scrape
}

// run makes one soak. The error says that it could not be made; what has failed
// in it is in the report.
func run(ctx context.Context, o options) (*report, error) {
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if o.daemon == "" {
		if o.daemon, err = build(dir); err != nil {
			return nil, err
		}
	}
	s := &soak{options: o, t: &tally{}, disturbed: map[string]int{}}
	if s.d, err = startDaemon(o.daemon, dir, o.locked, o.log); err != nil {
		return nil, err
	}
	defer func() {
		select {
		case <-s.d.exited:
		default:
			s.d.kill()
		}
	}()
	if err := s.baseline(); err != nil {
		return nil, err
	}
	s.loaded(ctx)
	s.watchdogReports()
	s.settled()
	s.exact()
	s.bytesMeet()
	s.flatness()
	s.drained()
	s.quiet()
	return &s.r, nil
}

// baseline has everything made that is made when it is first needed, and
// remembers how much there is of it.
func (s *soak) baseline() error {
	c, err := s.apart()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.do(echoCall(c.number(), []byte("hello")), hashCall(c.number(), 0, nil),
		fanOutCall(c.number(), 8, 100, 1)); err != nil {
		return err
	}
	c.Close()
	if err := s.idleNow(); err != nil {
		return err
	}
	s.r.start, err = s.sample(0)
	return err
}

// idleNow waits until the daemon has no connections.
func (s *soak) idleNow() error {
	return s.eventually(func() error { return s.d.wants("daemon_connections_open", 0) })
}

// between is the pause between two disturbances: short enough for all of them
// to have their turn in a run of 20 s, and in a long one so long that the
// watchdog's budget is enough for most stalls.
func (o *options) between() time.Duration {
	return max(500*time.Millisecond, min(1500*time.Millisecond, o.length/100))
}

// loaded is the load, observed and disturbed, until the time is over, and on a
// machine on which a look takes long until there were enough of them.
func (s *soak) loaded(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := time.Now()
	l := &load{t: s.t, tcp: s.d.tcp, unix: s.d.unix, idles: s.idle}
	l.start(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { defer cancel(); s.watch(ctx, begin) })
	for i := 0; sleep(ctx, s.between()); i++ {
		select {
		case <-s.d.exited:
			s.r.fail("the daemon is gone: %v\n%s", s.d.err, s.d.lastLines())
			cancel()
			continue
		default:
		}
		one := disturbances[i%len(disturbances)]
		if err := one.do(s, ctx); err != nil {
			s.r.fail("%s: %v", one.name, err)
		}
		s.disturbed[one.name]++
		if i%30 == 29 {
			fmt.Fprintf(s.out, "%v: %d MiB received\n", time.Since(begin).Round(time.Second),
				s.t.received.Load()>>20)
		}
	}
	watching.Wait()
	l.wg.Wait()
	s.r.took = time.Since(begin)
	s.r.disturbed = s.disturbed
	s.r.count(s.t)
}

// enoughSamples are as many as make meaningful thirds, see flat.
const enoughSamples = 24

// watch looks at the process and at the metrics each second, in a short run
// more often. It returns when that is enough.
func (s *soak) watch(ctx context.Context, begin time.Time) {
	over := func() bool {
		took := time.Since(begin)
		return took > s.length && len(s.samples) >= enoughSamples || took > 5*s.length
	}
	for !over() && sleep(ctx, min(time.Second, s.length/60)) {
		one, err := s.sample(time.Since(begin))
		if err != nil {
			s.r.fail("sampling: %v", err)
			continue
		}
		s.samples = append(s.samples, one)
	}
}

// sample looks once, and wants no counter to have fallen since the last time.
func (s *soak) sample(at time.Duration) (sample, error) {
	m, err := s.d.scrape()
	if err != nil {
		return sample{}, err
	}
	if s.before != nil {
		for _, w := range m.fallen(s.before) {
			s.r.fail("a counter has fallen: %s", w)
		}
	}
	s.before = m
	s.r.scrapes++
	one, err := sampleProcess(s.d.cmd.Process.Pid)
	if err != nil {
		return sample{}, err
	}
	one.at = at
	goroutines, _ := m.sum("go_goroutines")
	kept, _ := m.sum("netco_goroutines")
	// Its end does not wait until idle goroutines of package blocking have
	// ended.
	if s.length < shortest {
		blocking, _ := m.sum("netco_blocking_goroutines")
		kept += blocking
	}
	one.goroutines = int(goroutines - kept)
	return one, nil
}
