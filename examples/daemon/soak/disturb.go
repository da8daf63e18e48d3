package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"syscall"
	"time"
)

// A disturbance is something that is done to the daemon while it is under load,
// and that must not disturb it.
type disturbance struct {
	name string
	do   func(s *soak, ctx context.Context) error
}

// disturbances come one after another, with a pause in between, over and over.
// The faults are those of ../faults.go. A coroutine that blocks outside netco
// is handed on, or a stall where it cannot be.
var disturbances = []disturbance{
	{"stall: computation", faults(0, "netco_stalls_total")},
	{"live pages", pages("/debug/netco/", "/debug/netco/coroutines", "/debug/netco/sockets",
		"/debug/netco/stalls", "/debug/netco/coroutines.json?group=reason")},
	{"panic", faults(5, "daemon_panics_total")},
	{"CPU profile", pages("/debug/pprof/profile?seconds=1")},
	{"block: time.Sleep", faults(1, "netco_handoffs_total", "netco_stalls_total")},
	{"SIGHUP", signals(syscall.SIGHUP)},
	{"execution trace", pages("/debug/pprof/trace?seconds=0.3")},
	{"block: Go channel", faults(2, "netco_handoffs_total", "netco_stalls_total")},
	{"heap profile", pages("/debug/pprof/heap?gc=1", "/debug/pprof/goroutine?debug=1")},
	{"block: sync.Mutex", faults(3, "netco_handoffs_total", "netco_stalls_total")},
	{"SIGSTOP and SIGCONT", signals(syscall.SIGSTOP, syscall.SIGCONT)},
	{"block: system call", faults(4, "netco_handoffs_total", "netco_stalls_total")},
}

// faults has the daemon make a fault, which must raise counters. On a machine
// that keeps the one that counts waiting as well it takes a longer fault. A
// panic costs its own connection and nothing else.
func faults(kind byte, counters ...string) func(*soak, context.Context) error {
	return func(s *soak, _ context.Context) error {
		counted := func() (all float64, err error) {
			for _, name := range counters {
				n, e := s.d.value(name)
				all, err = all+n, errors.Join(err, e)
			}
			return all, err
		}
		was, err := counted()
		if err != nil {
			return err
		}
		for long := 500 * time.Millisecond; ; long *= 2 {
			err := s.alone(faultCall(kind, uint32(long/time.Millisecond)))
			lost := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
			if err != nil && !(lost && kind == 5) {
				return err
			}
			err = within(2*time.Second, func() error {
				is, err := counted()
				if err == nil && is <= was {
					err = fmt.Errorf("%v is %v as before", counters, is)
				}
				return err
			})
			if err == nil || long > 5*time.Second {
				return err
			}
		}
	}
}

// alone makes one call on a connection of its own.
func (s *soak) alone(one call) error {
	c, err := s.dial("tcp", rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		return err
	}
	defer c.Close()
	return c.do(one)
}

// pages fetches pages, which must be there and not be empty.
func pages(paths ...string) func(*soak, context.Context) error {
	return func(s *soak, _ context.Context) (err error) {
		for _, p := range paths {
			_, e := s.d.page(p)
			err = errors.Join(err, e)
		}
		return err
	}
}

func signals(all ...syscall.Signal) func(*soak, context.Context) error {
	return func(s *soak, ctx context.Context) (err error) {
		for _, sig := range all {
			err = errors.Join(err, s.d.cmd.Process.Signal(sig))
			sleep(ctx, 200*time.Millisecond)
		}
		return err
	}
}

// drain ends the daemon by SIGTERM while one connection is busy and another is
// idle. The busy one must get all that it asked for, the idle one its end; the
// daemon must say meanwhile that it is not ready, and exit with 0.
func (s *soak) drain() error {
	r := rand.New(rand.NewPCG(3, 4))
	idle, err := s.dial("tcp", r)
	if err != nil {
		return err
	}
	defer idle.Close()
	busy, err := s.dial("unix", r)
	if err != nil {
		return err
	}
	defer busy.Close()
	// More than a unix socket holds: it is busy until its client reads on.
	last := streamCall(16, 256<<10, 10, 5)
	first, rest := last, last
	first.answer, first.status, rest.answer = last.answer[:1], more, last.answer[1:]
	err = errors.Join(idle.do(echoCall([]byte("hello"))), busy.send(last), first.read(busy, 1),
		s.d.cmd.Process.Signal(syscall.SIGTERM), idle.wantEnd(),
		within(patience, func() error {
			_, err := s.d.ask("GET", "/readyz", "", http.StatusServiceUnavailable)
			return err
		}),
		rest.read(busy, 1), busy.wantEnd())
	select {
	case <-s.d.exited:
		return errors.Join(err, s.d.err)
	case <-time.After(patience):
		return errors.Join(err, errors.New("the daemon does not end"))
	}
}

// within repeats ask until it is content.
func within(limit time.Duration, ask func() error) error {
	for end := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		err := ask()
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
