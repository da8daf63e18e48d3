package metrics

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/socket"
)

// watch scrapes r from two goroutines until it is ended, and checks that no
// counter falls.
func watch(t *testing.T, r *prometheus.Registry) (scrapes *atomic.Int64, end func()) {
	var stop atomic.Bool
	var watchers sync.WaitGroup
	scrapes = new(atomic.Int64)
	for range 2 {
		watchers.Go(func() {
			var last scrape
			for over := false; !over; scrapes.Add(1) {
				over = stop.Load()
				now := gather(t, r)
				neverDown(t, last, now)
				last = now
			}
		})
	}
	return scrapes, func() { stop.Store(true); watchers.Wait() }
}

// TestCountersNeverGoDown scrapes while coroutines and connections come and go,
// and through the Scheduler's end.
func TestCountersNeverGoDown(t *testing.T) {
	s := testenv.Must(scheduler.New(scheduler.Options{Processors: 2}))
	r := registered(t, s) // before its start: that is to be seen as well
	scrapes, unwatch := watch(t, r)
	defer unwatch()
	testenv.OK(t, s.Start())
	ln := testenv.Must(new(socket.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0"))
	var load sync.WaitGroup
	var over atomic.Bool
	testenv.Must(s.Go(func() { serve(ln) }))
	for range 2 {
		testenv.Must(s.Go(func() { busy(ln.Addr().String(), &over) }))
		load.Go(func() { busy(ln.Addr().String(), &over) })
	}
	at := scrapes.Load()
	enough := at + int64(testenv.Rounds(200))
	eventually(t, "scrapes under load", func() bool { return scrapes.Load() >= enough })
	for _, name := range []string{
		"netco_coroutines_ended_total", "netco_coroutines_reused_total", "netco_resumes_total",
		"netco_turns_total", "netco_remote_wakes_total",
		"netco_timers_fired_total", "netco_io_events_total", "netco_received_bytes_total",
		"netco_sent_bytes_total",
		"netco_connections_accepted_total", "netco_blocking_calls_done_total",
		"netco_turn_duration_seconds_count",
		"netco_timer_lateness_seconds_count", "netco_processor_seconds_total",
	} {
		eventually(t, name+" to rise: the load is none", func() bool {
			return gather(t, r).sum(name) > 0
		})
	}
	over.Store(true)
	load.Wait()
	ln.Close()
	end(t, s)
	at = scrapes.Load()
	eventually(t, "scrapes after the end", func() bool { return scrapes.Load() >= at+4 })
	unwatch()

	got := gather(t, r)
	if a, b := got.sum("netco_coroutines_started_total"), got.sum(
		"netco_coroutines_ended_total"); a != b {
		t.Errorf("%v coroutines started and %v ended", a, b)
	}
}

func neverDown(t *testing.T, last, now scrape) {
	for key := range last.counters {
		v, ok := now.values[key]
		switch {
		case ok && v < last.values[key]:
			t.Errorf("%s went down from %v to %v", key, last.values[key], v)
		// Gone with the thread.
		case !ok && key[:len("netco_processor_cpu")] != "netco_processor_cpu":
			t.Errorf("%s is gone", key)
		}
	}
	for key, v := range now.values {
		if v < 0 {
			t.Errorf("%s is %v", key, v)
		}
	}
}

func serve(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		spawnHere(func() {
			defer c.Close()
			io.Copy(c, c)
		})
	}
}

// spawnHere starts a coroutine on the caller's Processor.
func spawnHere(fn func()) {
	p := processor.Current()
	sp := coroutine.Spawn{Fn: fn}
	sp.Pinned = true
	p.Group().Go(p, p, &sp)
}

// busy opens connections, one after the other, and talks through each;
// coroutines also sleep, start others, and have something run elsewhere.
func busy(addr string, over *atomic.Bool) {
	for i := 0; !over.Load(); i++ {
		c, err := new(socket.Dialer).Dial("tcp", addr)
		if err != nil {
			return
		}
		b := make([]byte, 100)
		for range 10 {
			c.Write(b)
			io.ReadFull(c, b)
		}
		c.Close()
		if p := processor.Current(); p != nil {
			for range 20 {
				spawnHere(func() {})
			}
			processor.Sleep(time.Millisecond)
			if i%10 == 0 {
				blocking.Do(context.Background(), func() {})
			}
		}
	}
}
