package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
)

// settled wants all that the load has made to be gone: connections, coroutines,
// fds, goroutines.
func (s *soak) settled() {
	err := s.eventually(func() error {
		if err := s.d.wants("daemon_connections_open", 0); err != nil {
			return err
		}
		err := s.d.wants("netco_coroutines", acceptors)
		if err != nil {
			return err
		}
		if s.r.end, err = s.sample(0); err != nil {
			return err
		}
		if got, was := s.r.end.fds, s.r.start.fds; got > was {
			return fmt.Errorf("%d fds are open, %d before the load", got, was)
		}
		if got, was := s.r.end.goroutines, s.r.start.goroutines; got > was+slackGoroutines {
			return fmt.Errorf("%d goroutines other than those for coroutines, %d before the load",
				got, was)
		}
		return nil
	})
	if err != nil {
		s.r.fail("after the load: %v", err)
	}
}

// acceptors are the coroutines of a daemon without clients: one for each
// listener.
const acceptors = 2

// slackGoroutines are net/http's, of the very scrape that counts them.
const slackGoroutines = 2

// exact has some calls made while nothing else goes on, for which every byte
// must have been counted, and none twice.
func (s *soak) exact() {
	if err := s.exactly(); err != nil {
		s.r.fail("bytes of one connection alone: %v", err)
	}
}

func (s *soak) exactly() error {
	before, err := s.d.scrape()
	if err != nil {
		return err
	}
	for _, to := range []target{s.d.tcp, s.d.unix} {
		c, err := dial(s.t, to, rand.New(rand.NewPCG(5, 6)))
		if err != nil {
			return err
		}
		defer c.Close()
		was := [2]int64{s.t.sent.Load(), s.t.received.Load()}
		for range 50 {
			if err := c.do(c.small(), c.small()); err != nil {
				return err
			}
		}
		if err := c.do(echoCall(c.number(), bytesOf(c.Rand, 500_000))); err != nil {
			return err
		}
		c.Close()
		if err := s.idleNow(); err != nil {
			return err
		}
		err = s.eventually(func() error { // the last bytes are counted after they are gone
			after, err := s.d.scrape()
			if err != nil {
				return err
			}
			for i, name := range []string{"netco_received_bytes_total", "netco_sent_bytes_total"} {
				a, _ := after.sum(name)
				b, _ := before.sum(name)
				if want := [2]int64{s.t.sent.Load(), s.t.received.Load()}[i] - was[i]; int64(
					a-b) != want {
					return fmt.Errorf("%s on %s has grown by %v, want %d", name, to.network,
						a-b, want)
				}
			}
			before = after
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// bytesMeet holds what the daemon has counted against what the clients have.
// The clients are gone, but the daemon may be about to count the last of what
// it did for them.
func (s *soak) bytesMeet() {
	err := s.eventually(func() error {
		m, err := s.d.scrape()
		if err != nil {
			return err
		}
		s.r.comparisons, err = s.compare(m)
		return err
	})
	if err != nil {
		s.r.fail("%v", err)
	}
	count, first := s.t.errors.all()
	if count > 0 {
		s.r.fail("%d rounds have failed, the first ones:", count)
		for _, err := range first {
			s.r.fail("  %v", err)
		}
	}
}

// compare compares one scrape with the clients' figures. Each is exact but for
// the connections that were broken off, for which the clients know bounds only;
// see tally.
func (s *soak) compare(m *metrics) (all []comparison, err error) {
	t := s.t
	within := func(what string, least, most int64, metric string, labels ...string) {
		got, ok := m.sum(metric, labels...)
		c := comparison{what, int64(got), least, most}
		all = append(all, c)
		if !ok || !c.ok() {
			err = errors.Join(err, fmt.Errorf("%s: the daemon counts %d, the clients %d to %d",
				what, c.got, least, most))
		}
	}
	within("bytes to the daemon", t.sent.Load(), t.sent.Load()+t.looseSent.Load(),
		"netco_received_bytes_total")
	within("bytes from the daemon", t.received.Load()+t.looseReceived.Load(),
		t.received.Load()+t.looseExpected.Load(), "netco_sent_bytes_total")
	for c, name := range map[int]string{echo: "echo", compute: "compute", hash: "hash",
		stream: "stream", fanOut: "fan-out"} {
		n := t.calls[c].Load()
		within("requests: "+name, n, n+t.looseCalls.Load(), "daemon_requests_total", `command="`+
			name+`"`, `result="done"`)
	}
	within("connections accepted", t.opened.Load(), t.opened.Load(),
		"netco_connections_accepted_total")
	within("connections opened", t.opened.Load(), t.opened.Load(),
		"daemon_connections_opened_total")
	within("connections closed", t.opened.Load(), t.opened.Load(),
		"daemon_connections_closed_total")
	return all, err
}

// flatness wants memory not to grow, nor threads.
func (s *soak) flatness() {
	if s.length < shortest {
		return
	}
	f, err := flat(s.samples, func(one sample) float64 { return float64(one.rss) })
	if err != nil {
		s.r.fail("memory: %v", err)
		return
	}
	s.r.memory = f
	if !f.ok() {
		s.r.fail("memory has grown by %.1f %% (from %.1f to %.1f MiB), more than %.0f %%",
			100*f.growth, f.early/(1<<20), f.late/(1<<20), 100*f.allowed)
	}
	if f, _ = flat(s.samples, func(one sample) float64 {
		return float64(one.threads)
	}); f.late > f.early+slackThreads {
		s.r.fail("threads have grown from %v to %v", f.early, f.late)
	}
}

// slackThreads are what Go makes when system calls happen to coincide, and
// keeps: more on a machine that others use, too. A thread lost with each
// connection, or with each disturbance of a long run, is more than that.
const slackThreads = 15

// quiet checks that the log has nothing but what was provoked.
func (s *soak) quiet() {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	for _, line := range s.d.odd {
		s.r.fail("a line of the log is no JSON: %s", line)
	}
	s.r.lines = s.d.lines
	for logged, n := range s.d.logged {
		if level, msg := cutLevel(logged); level == "error" && msg != panicLine {
			s.r.fail("the log has %d times the error %q", n, msg)
		}
	}
}

// panicLine is the one error that the soak provokes.
const panicLine = "coroutine panicked"

func cutLevel(logged string) (level, msg string) {
	level, msg, _ = strings.Cut(logged, " ")
	return level, msg
}
