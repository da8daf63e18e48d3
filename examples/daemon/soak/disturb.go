package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
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
var disturbances = []disturbance{
	{"stall: computation", stalls(0)},
	{"page of coroutines", pages("/debug/netco/", "/debug/netco/coroutines",
		"/debug/netco/coroutines.json?group=reason")},
	{"panic", (*soak).panicked},
	{"CPU profile", pages("/debug/pprof/profile?seconds=1")},
	{"block: time.Sleep", blocks(1)},
	{"SIGHUP", signals(syscall.SIGHUP)},
	{"execution trace", pages("/debug/pprof/trace?seconds=0.3")},
	{"block: Go channel", blocks(2)},
	{"debug lines by PUT", (*soak).debugLines},
	{"heap profile", pages("/debug/pprof/heap?gc=1", "/debug/pprof/allocs")},
	{"block: sync.Mutex", blocks(3)},
	{"stacks", (*soak).stacks},
	{"SIGSTOP and SIGCONT", (*soak).stopped},
	{"block: system call", blocks(4)},
	{"SIGUSR1 twice", signals(syscall.SIGUSR1, syscall.SIGUSR1)},
	{"sockets and stalls", pages("/debug/netco/sockets", "/debug/netco/timers",
		"/debug/netco/stalls")},
}

// stallTime is how long a forced fault lasts: several times the watchdog's
// limit, also for a watchdog that the machine keeps waiting.
const stallTime = 500 * time.Millisecond

// apart is a connection for disturbances, whose calls are not counted.
func (s *soak) apart() (*conn, error) {
	c, err := dial(s.t, s.d.tcp, rand.New(rand.NewPCG(1, 2)))
	if err == nil {
		c.loose = true
	}
	return c, err
}

// stalls holds up a Processor, which the watchdog must count. That its line
// names the cause is wanted at the end, see watchdogReports.
func stalls(kind byte) func(*soak, context.Context) error {
	return func(s *soak, _ context.Context) error {
		s.forced[kind]++
		return s.raises("netco_stalls_total", kind)
	}
}

// blocks has a coroutine block outside netco: its Processor must go on without
// it, or be held up where it cannot.
func blocks(kind byte) func(*soak, context.Context) error {
	return func(s *soak, ctx context.Context) error {
		if s.d.heldUp() {
			return stalls(kind)(s, ctx)
		}
		return s.raises("netco_handoffs_total", kind)
	}
}

// raises wants a fault to raise a counter. On a machine that keeps the one that
// counts waiting as well it takes a longer fault.
func (s *soak) raises(counter string, kind byte) error {
	counted, err := s.d.value(counter)
	if err != nil {
		return err
	}
	for long := stallTime; ; long *= 2 {
		if err := s.force(kind, long); err != nil {
			return err
		}
		err := within(2*time.Second, func() error {
			n, err := s.d.value(counter)
			if err == nil && n <= counted {
				err = fmt.Errorf("%s is %v as before", counter, n)
			}
			return err
		})
		if err == nil || long >= 16*stallTime {
			return err
		}
	}
}

// force has the daemon make a fault of so long.
func (s *soak) force(kind byte, long time.Duration) error {
	c, err := s.apart()
	if err != nil {
		return err
	}
	defer c.Close()
	return c.do(faultCall(c.number(), kind, uint32(long/time.Millisecond)))
}

// stallCauses are the causes that the log may name, by the kind of fault. A
// computation on a machine that is busy with something else may be logged as
// the want of a CPU that it is.
var stallCauses = [...][]string{{"computation", "not scheduled"}, {"sleep"}, {"channel"}, {"mutex"},
	{"syscall"}}

// watchdogReports wants a line for at least half of the stalls of each kind,
// and one for each if they were few: the watchdog's budget is ten lines at once
// and then one in six seconds, and the machine's own stalls use it as well. So
// where some are missing it gets more chances now that there is no load any
// more.
func (s *soak) watchdogReports() {
	end := time.Now().Add(2 * time.Minute)
	for kind, causes := range stallCauses {
		for {
			logged, forced := s.d.stallsLogged(causes), s.forced[kind]
			if logged >= (forced+1)/2 {
				break
			}
			if time.Now().After(end) {
				s.r.fail("the log has %d stalls with the cause %q, of %d that were forced", logged,
					causes, forced)
				break
			}
			if err := s.force(byte(kind), 2*stallTime); err != nil {
				s.r.fail("a stall after the load: %v", err)
				return
			}
			within(budgetEvery, func() error {
				if s.d.stallsLogged(causes) == logged {
					return errors.New("no line yet")
				}
				return nil
			})
		}
	}
}

// budgetEvery is how often the watchdog reports a stall at least.
const budgetEvery = 6 * time.Second

// panicked wants a panic to cost its own connection and nothing else.
func (s *soak) panicked(context.Context) error {
	was, err := s.d.value("daemon_panics_total")
	if err != nil {
		return err
	}
	c, err := s.apart()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.do(faultCall(c.number(), 5, 0)); !errors.Is(err, io.EOF) && !isReset(err) {
		return fmt.Errorf("a request that panics ends with %v, want the connection's end", err)
	}
	// The connection is closed first.
	return s.eventually(func() error { return s.d.wants("daemon_panics_total", was+1) })
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

// stacks asks for the stacks of coroutines that wait and of some that may be
// gone by then.
func (s *soak) stacks(context.Context) error {
	body, err := s.d.page("/debug/netco/coroutines.json?rows=20")
	if err != nil {
		return err
	}
	var list struct {
		Coroutines []struct {
			ID   uint64
			Name string
		}
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return err
	}
	logged := 0
	for _, c := range list.Coroutines {
		status, body, err := s.d.get(fmt.Sprintf("/debug/netco/coroutine.json?stack=1&id=%d", c.ID))
		if err != nil {
			return err
		}
		var one struct{ Stack string }
		json.Unmarshal(body, &one)
		if status == http.StatusOK && strings.Contains(one.Stack, "main.") {
			logged++
		}
	}
	if logged == 0 { // the accepting ones are always there
		return fmt.Errorf("of %d coroutines none has a stack", len(list.Coroutines))
	}
	_, err = s.d.page("/debug/pprof/goroutine?debug=1")
	return err
}

func signals(all ...syscall.Signal) func(*soak, context.Context) error {
	return func(s *soak, ctx context.Context) error {
		for i, sig := range all {
			if i > 0 {
				sleep(ctx, 200*time.Millisecond)
			}
			if err := s.d.signal(sig); err != nil {
				return err
			}
		}
		return nil
	}
}

// stopped has the process stand still for a moment.
func (s *soak) stopped(ctx context.Context) error {
	defer s.d.signal(syscall.SIGCONT)
	if err := s.d.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	sleep(ctx, 200*time.Millisecond)
	return nil
}

// debugLines lowers the log's level for a moment and checks that it is
// reported.
func (s *soak) debugLines(ctx context.Context) (err error) {
	if err := s.d.setLevel("debug"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.d.setLevel("info")) }()
	body, err := s.d.page("/debug/loglevel")
	if err != nil {
		return err
	}
	var level struct{ Level string }
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&level); err != nil ||
		level.Level != "debug" {
		return fmt.Errorf("the log level is reported as %q, %v", level.Level, err)
	}
	sleep(ctx, 300*time.Millisecond)
	return nil
}

// settleTime is longer than the goroutines of package blocking wait for work,
// which is ten seconds.
const settleTime = time.Minute

// eventually repeats ask until it is content.
func (s *soak) eventually(ask func() error) error { return within(settleTime, ask) }

func within(limit time.Duration, ask func() error) error {
	for end := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		err := ask()
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
