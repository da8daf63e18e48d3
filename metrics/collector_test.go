package metrics

import (
	"context"
	"io"
	"math"
	stdhttp "net/http"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/netco-go/netco/blocking"
	cocontext "github.com/netco-go/netco/context"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/net"
	"github.com/netco-go/netco/net/http"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
)

// run runs fn as a coroutine of Processor 0 and waits for its end.
func run(t testing.TB, s *scheduler.Scheduler, fn func()) {
	t.Helper()
	h := testenv.Must(s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0), Fn: fn}))
	testenv.OK(t, h.Join())
}

// TestCoroutines counts coroutines through their lives.
func TestCoroutines(t *testing.T) {
	s, r := running(t, scheduler.Options{Processors: 1})
	var gate sync.WaitGroup
	gate.Add(1)
	for range 7 {
		testenv.Must(s.Go(func() { gate.Wait() }))
	}
	eventuallyParked(t, r, 7)
	eventuallyAre(t, r, map[string]float64{
		"netco_coroutines{processor=0,state=waiting}":       7,
		"netco_coroutines{processor=0,state=ready}":         0,
		"netco_coroutines{processor=0,state=running}":       0,
		"netco_coroutines_not_started{processor=0}":         0,
		"netco_coroutines_started_total{processor=0}":       7,
		"netco_coroutines_ended_total{processor=0}":         0,
		"netco_coroutines_reused_total{processor=0}":        0,
		"netco_goroutines{processor=0}":                     7,
		"netco_goroutines_created_total{processor=0}":       7,
		"netco_scheduler_phase{phase=running}":              1,
		"netco_scheduler_phase{phase=not_started}":          0,
		"netco_coroutine_panics_total{processor=0}":         0,
		"netco_connections_accepted_total{processor=0}":     0,
		"netco_run_queue_length{processor=0}":               0,
		"netco_inbox_depth{processor=0}":                    0,
		"netco_coroutines_stolen_total{processor=0}":        0,
		"netco_accept_errors_total{kind=files,processor=0}": 0,
	})
	gate.Done()
	eventuallyAre(t, r, map[string]float64{"netco_coroutines_ended_total{processor=0}": 7})
	run(t, s, func() {})
	var got scrape
	eventually(t, "the eighth's end", func() bool {
		got = gather(t, r)
		return got.of("netco_coroutines_ended_total{processor=0}") == 8 &&
			got.sum("netco_coroutines") == 0
	})
	// The eighth coroutine was started on a goroutine that was there.
	got.are(t, map[string]float64{"netco_coroutines_reused_total{processor=0}": 1,
		"netco_goroutines_created_total{processor=0}": 7})
	eventually(t, "the remote wakes", func() bool {
		return gather(t, r).of("netco_remote_wakes_total{processor=0}") >= 7
	})
}

// TestScrapeOfAProcessorThatIsHeldUp: a coroutine blocks its thread; a scrape
// does not wait for it, and shows it.
func TestScrapeOfAProcessorThatIsHeldUp(t *testing.T) {
	s, r := running(t, scheduler.Options{Processors: 1, LockThreads: true})
	running, release := make(chan bool), make(chan bool)
	h := testenv.Must(s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0), Fn: func() {
		spawnHere(func() {}) // stays in the run queue meanwhile
		running <- true
		<-release
	}}))
	<-running
	testenv.Must(s.Go(func() {}))
	got := gather(t, r)
	got.are(t, map[string]float64{
		"netco_coroutines{processor=0,state=running}":    1,
		"netco_coroutines_not_started{processor=0}":      1,
		"netco_coroutines_started_total{processor=0}":    2,
		"netco_turn_duration_seconds_count{processor=0}": 0,
	})
	testenv.Equal(t, got.sum("netco_coroutines"), 2, "coroutines live")
	if age := got.of("netco_turn_age_seconds{processor=0}"); age <= 0 {
		t.Errorf("the turn has lasted for %v s", age)
	}
	busy := got.of("netco_processor_seconds_total{processor=0,state=busy}")
	eventually(t, "busy seconds to grow in the middle of a turn", func() bool {
		return gather(t, r).of("netco_processor_seconds_total{processor=0,state=busy}") > busy
	})
	close(release)
	testenv.OK(t, h.Join())
	eventually(t, "the turn's length", func() bool {
		return gather(t, r).of("netco_turn_duration_seconds_count{processor=0}") >= 1
	})
}

// TestSockets: what coroutines do on sockets is their Processor's, and what
// goroutines do is no Processor's.
func TestSockets(t *testing.T) {
	s, r := running(t, scheduler.Options{Processors: 1})
	before := gather(t, r)
	ln := testenv.Closing(t, testenv.Must(new(socket.ListenConfig).Listen(context.Background(),
		"tcp", "127.0.0.1:0")))
	h := testenv.Must(s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0), Fn: func() {
		c, err := ln.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		io.Copy(io.Discard, io.LimitReader(c, 5))
		c.Write([]byte("seven!!"))
		c.Read(make([]byte, 1)) // the end
	}}))
	// It waits before there is anything to accept, or the Processor would never
	// have to ask for events.
	eventually(t, "the accept", func() bool {
		return gather(t, r).of("netco_registered_fds{processor=0}") >= 1
	})
	eventuallyParked(t, r, 1)
	c := testenv.Must(new(socket.Dialer).Dial("tcp", ln.Addr().String()))
	open := gather(t, r)
	if n := open.of("netco_sockets_open{}") - before.of("netco_sockets_open{}"); n < 2 {
		t.Errorf("%v sockets are open, want a listener and a connection at least", n)
	}
	c.Write([]byte("five!"))
	testenv.Must(io.ReadFull(c, make([]byte, 7)))
	c.Close()
	testenv.OK(t, h.Join())
	got := gather(t, r)
	for key, want := range map[string]float64{
		"netco_received_bytes_total{processor=0}":       5,
		"netco_sent_bytes_total{processor=0}":           7,
		"netco_received_bytes_total{processor=none}":    7,
		"netco_sent_bytes_total{processor=none}":        5,
		"netco_connections_accepted_total{processor=0}": 1,
		"netco_syscalls_total{op=write,processor=0}":    1,
	} {
		testenv.Equal(t, got.of(key)-before.of(key), want, key, "rose by")
	}
	for _, key := range []string{
		"netco_syscalls_total{op=accept,processor=0}", "netco_syscalls_total{op=read,processor=0}",
		"netco_syscalls_total{op=epoll_wait,processor=0}",
		"netco_syscalls_total{op=read,processor=none}", "netco_io_events_total{processor=0}",
	} {
		if !(got.of(key) > before.of(key)) {
			t.Errorf("%s is %v after %v", key, got.of(key), before.of(key))
		}
	}
	if !math.IsNaN(got.of("netco_syscalls_total{op=epoll_wait,processor=none}")) {
		t.Error("goroutines have no epoll_wait of their own")
	}
}

func TestTimers(t *testing.T) {
	s, r := running(t, scheduler.Options{Processors: 1})
	run(t, s, func() { processor.Sleep(2 * time.Millisecond) })
	got := gather(t, r)
	got.are(t, map[string]float64{"netco_timers_fired_total{processor=0}": 1,
		"netco_timer_lateness_seconds_count{processor=0}": 1})
	if late := got.of("netco_timer_lateness_seconds_sum{processor=0}"); late < 0 ||
		late > testenv.Limit.Seconds() {
		t.Errorf("%v s late", late)
	}
	eventually(t, "idle seconds", func() bool {
		return gather(t, r).of("netco_processor_seconds_total{processor=0,state=idle}") > 0
	})
}

// TestBlocking: the default pool's figures.
func TestBlocking(t *testing.T) {
	s, r := running(t, scheduler.Options{Processors: 1})
	before := gather(t, r)
	running, release := make(chan bool), make(chan bool)
	h := testenv.Must(s.Go(func() {
		blocking.Do(context.Background(), func() {
			running <- true
			<-release
		})
	}))
	<-running
	eventuallyAre(t, r, map[string]float64{
		"netco_blocking_calls{state=running}": 1, "netco_blocking_calls{state=queued}": 0,
		"netco_blocking_goroutines_max{}": float64(blocking.Default().Stats().Limit)})
	close(release)
	h.Join()
	const calls = "netco_blocking_calls_done_total{}"
	eventuallyAre(t, r, map[string]float64{calls: before.of(calls) + 1,
		"netco_blocking_calls{state=running}": 0})
}

// TestNotStartedAndEnded: of a Scheduler that does not run, the series that
// have values are reported.
func TestNotStartedAndEnded(t *testing.T) {
	s := fresh(t)
	r := registered(t, s)
	got := gather(t, r)
	got.are(t, map[string]float64{"netco_processors{}": 0,
		"netco_scheduler_phase{phase=not_started}": 1})
	if got.sum("netco_scheduler_phase") != 1 || got.sum("netco_turns_total") != 0 ||
		math.IsNaN(got.of("netco_syscalls_total{op=read,processor=none}")) {
		t.Errorf("before the start: %v", got.values)
	}
	testenv.OK(t, s.Start())
	run(t, s, func() { spawnHere(func() { processor.Sleep(time.Millisecond) }) })
	end(t, s)
	got = gather(t, r)
	testenv.Equal(t, got.sum("netco_scheduler_phase"), 1, "phases after the end")
	got.are(t, map[string]float64{"netco_scheduler_phase{phase=stopped}": 1,
		"netco_coroutines_started_total{processor=0}": 2,
		"netco_coroutines_ended_total{processor=0}":   2})
	for _, gone := range []string{"netco_coroutines", "netco_goroutines", "netco_run_queue_length",
		"netco_registered_fds", "netco_timers_pending",
		"netco_turn_age_seconds", "netco_buffer_bytes", "netco_inbox_depth",
		"netco_coroutines_not_started", "netco_idle_connections", "netco_processors_active"} {
		testenv.Equal(t, got.sum(gone), 0, "after the end", gone)
	}
	idle := got.of("netco_processor_seconds_total{processor=0,state=busy}")
	testenv.Equal(t, gather(t, r).of("netco_processor_seconds_total{processor=0,state=busy}"), idle,
		"busy seconds after the end, again")
}

// TestCPUSeconds: a Processor's CPU time is reported while it has a thread of
// its own.
func TestCPUSeconds(t *testing.T) {
	const cpu = "netco_processor_cpu_seconds_total{processor=0}"
	for _, locked := range []bool{false, true} {
		s := testenv.Must(scheduler.New(scheduler.Options{Processors: 1, LockThreads: locked}))
		r := registered(t, s)
		has := func(want bool, when string) {
			t.Helper()
			if v := gather(t, r).of(cpu); math.IsNaN(v) == want {
				t.Errorf("locked %v, %s: the CPU time is %v", locked, when, v)
			}
		}
		has(false, "before the start")
		testenv.OK(t, s.Start())
		run(t, s, func() {})
		has(locked, "while it runs")
		end(t, s)
		has(false, "after the end")
	}
}

// TestLeftBehind: a Processor that goes on without a blocked coroutine counts
// that, and the coroutine as one that is outside.
func TestLeftBehind(t *testing.T) {
	if err := coroutine.CanLeave(); err != nil {
		t.Skip(err)
	}
	s, r := running(t, scheduler.Options{Processors: 1})
	release := make(chan bool)
	h := testenv.Must(s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0),
		Fn: func() { <-release }}))
	eventuallyAre(t, r, map[string]float64{
		"netco_handoffs_total{processor=0}":              1,
		"netco_standbys_total{processor=0}":              1,
		"netco_turn_age_seconds{processor=0}":            0,
		"netco_coroutines{processor=0,state=ready}":      0,
		"netco_coroutines{processor=0,state=running}":    0,
		"netco_coroutines{processor=0,state=waiting}":    0,
		"netco_coroutines{processor=0,state=outside}":    1,
		"netco_turn_duration_seconds_count{processor=0}": 1,
	})
	eventually(t, "where it is blocked", func() bool {
		return gather(t, r).sum("netco_handoffs_by_site_total", "cause=channel",
			"/metrics/collector_test.go:", "metrics.TestLeftBehind") == 1
	})
	close(release)
	testenv.OK(t, h.Join())
	eventuallyAre(t, r, map[string]float64{"netco_coroutines_ended_total{processor=0}": 1,
		"netco_coroutines{processor=0,state=outside}": 0})
}

// TestMoved: what moves is counted where it arrives, and active Processors are
// reported.
func TestMoved(t *testing.T) {
	s, r := running(t, scheduler.Options{Processors: 3, MinActive: 2})
	h := testenv.Must(s.Go(func() {
		for _, p := range engine.Of(s).Processors() {
			if p != processor.Current() {
				coroutine.Current().MoveTo(p.Executor())
				break
			}
		}
	}))
	testenv.NoError(t, h.Join())
	active, coroutines := 2.0, 1.0
	if !cocontext.Direct() {
		active, coroutines = 3, 0
	}
	got := gather(t, r)
	testenv.Equal(t, got.of("netco_processors_active{}"), active, "are active")
	testenv.Equal(t, got.sum("netco_moved_total"), coroutines, "have moved")
}

// TestEndedByForce: what a Processor's last turn has left behind is not
// reported as if it were still there.
func TestEndedByForce(t *testing.T) {
	s := fresh(t)
	r := registered(t, s)
	testenv.OK(t, s.Start())
	testenv.Must(s.Go(func() { processor.Sleep(time.Hour) }))
	eventually(t, "the timer", func() bool {
		engine.Of(s).Processors()[0].Wake() // it is counted when a turn begins
		return gather(t, r).of("netco_timers_pending{processor=0}") == 1
	})
	s.Shutdown(testenv.Over())
	// Which Shutdown does not await for ever.
	testenv.Await(t, engine.Of(s).Processors()[0].Ended(), "the Processor's end")
	got := gather(t, r)
	for _, gone := range []string{"netco_coroutines", "netco_timers_pending",
		"netco_run_queue_length", "netco_goroutines"} {
		testenv.Equal(t, got.sum(gone), 0, "after the end", gone)
	}
}

func TestDiscardedBeforeItsStart(t *testing.T) {
	s := fresh(t)
	end(t, s)
	if got := gather(t, registered(t, s)); got.of("netco_processors{}") != 0 {
		t.Errorf("%v", got.values)
	}
}

func TestInfo(t *testing.T) {
	got := gather(t, registered(t, fresh(t)))
	testenv.Equal(t, got.sum("netco_info", "backend="+cocontext.Backend(), "goversion="+
		runtime.Version()), 1, got.values)
}

// TestCostDoesNotGrow: what a scrape allocates, and how many series it gives,
// does not depend on how much there is to report.
func TestCostDoesNotGrow(t *testing.T) {
	s := started(t, scheduler.Options{Processors: 1})
	c := NewCollector(s)
	ch := make(chan prometheus.Metric, 1000)
	cost := func() (allocs float64, series int) {
		return testing.AllocsPerRun(20, func() {
			c.Collect(ch)
			for series = 0; len(ch) > 0; series++ {
				<-ch
			}
		}), series
	}
	few, n := cost()
	var gate sync.WaitGroup
	gate.Add(1)
	const many = 3000
	for range many {
		if _, err := s.Go(func() { gate.Wait() }); err != nil {
			t.Fatal(err)
		}
	}
	eventuallyParked(t, registered(t, s), many) // what is still to begin would allocate meanwhile
	// Histograms have more buckets with something in them.
	if more, m := cost(); more > 1.25*few || m != n {
		t.Errorf("%v allocations and %d series with %d coroutines, %v and %d with none", more, m,
			many, few, n)
	}
	gate.Done()
}

// TestDeadlocked: coroutines that wait for each other's locks are counted,
// until one is stopped.
func TestDeadlocked(t *testing.T) {
	s, r := running(t, scheduler.Options{Processors: 1, Quiet: true})
	const none = "netco_deadlocked_coroutines{circle=}"
	if got := gather(t, r); got.of(none) != 0 || got.sum("netco_deadlocked_coroutines") != 0 {
		t.Errorf("%v", got.values)
	}
	var locks [2]sync.Mutex
	var held sync.WaitGroup
	held.Add(2)
	var all [2]coroutine.Handle
	for i := range all {
		all[i] = testenv.Must(s.Go(func() {
			locks[i].Lock()
			defer locks[i].Unlock()
			held.Done()
			held.Wait()
			locks[1-i].Lock()
			defer locks[1-i].Unlock()
		}))
	}
	eventually(t, "the circle", func() bool {
		return gather(t, r).sum("netco_deadlocked_coroutines") == 2
	})
	all[0].Stop()
	eventually(t, "its end", func() bool {
		return gather(t, r).sum("netco_deadlocked_coroutines") == 0
	})
}

// TestHTTP: requests are counted by their status, those under way too, and how
// long they took.
func TestHTTP(t *testing.T) {
	s, r := running(t, scheduler.Options{Processors: 1})
	before := gather(t, r)
	leave := make(chan bool)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-leave
		w.WriteHeader(http.StatusTeapot)
	})}
	l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
	testenv.Must(s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0), Fn: func() {
		server.Serve(l)
	}}))
	defer server.Close()
	client := &stdhttp.Client{Transport: &stdhttp.Transport{DisableKeepAlives: true}}
	go client.Get("http://" + l.Addr().String())
	change := func(key string) float64 { return gather(t, r).of(key) - before.of(key) }
	eventually(t, "a request in flight", func() bool {
		return change("netco_http_requests_in_flight{}") == 1
	})
	leave <- true
	eventually(t, "it is counted", func() bool {
		return change("netco_http_requests_in_flight{}") == 0 &&
			change("netco_http_requests_total{code=4xx}") == 1 &&
			change("netco_http_request_duration_seconds_count{}") == 1
	})
}
