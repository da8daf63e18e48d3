package introspect

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/socket"
)

func spawn(name string, fn func()) scheduler.Spawn {
	return scheduler.Spawn{Name: name, Fn: fn}
}

func spawnOn(i int, name string, fn func()) scheduler.Spawn {
	return scheduler.Spawn{On: scheduler.OnProcessor(i), Name: name, Fn: fn}
}

// TestNotStarted: pages of a Scheduler that has not begun, runs, and has ended.
func TestNotStarted(t *testing.T) {
	s := testenv.Must(scheduler.New(scheduler.Options{Processors: 2}))
	h := New(s, Options{})
	all := func(phase string) {
		for _, page := range []string{"", "coroutines", "coroutines?group=name", "sockets",
			"stalls"} {
			text, _ := get(t, h, "/"+page, 200)
			wellFormed(t, page, text)
		}
		if o := overview(t, h); o.Phase != phase || o.Deadlock != nil || o.Coroutines.Live != 0 {
			t.Errorf("%+v, want phase %s", o, phase)
		}
	}
	all("new")
	testenv.OK(t, s.Start())
	all("running")
	text, _ := get(t, h, "/", 200)
	if p := overview(t, h).Processors; !p[0].Active ||
		p[1].Active == strings.Contains(text, ">not active<") {
		t.Errorf("active are %v and %v, which the page does not tell", p[0].Active, p[1].Active)
	}
	testenv.OK(t, s.Shutdown(context.Background()))
	all("stopped")
}

// TestLive: what real coroutines and sockets do is shown as it is.
func TestLive(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 2})
	other := start(t, scheduler.Options{Processors: 1})
	h := New(s, Options{})
	addresses := make(chan string, 1)
	c := channel.Make[int](0)
	s.GoWith(spawnOn(1, "listener", func() {
		ln, err := new(socket.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Error(err)
			close(addresses)
			return
		}
		defer ln.Close()
		addresses <- ln.Addr().String()
		ln.Accept()
	}))
	s.GoWith(spawnOn(0, "receiver", func() { c.Recv() }))
	s.GoWith(spawnOn(0, "sleeper", func() { processor.Sleep(time.Hour) }))
	other.GoWith(spawn("another Scheduler's", func() { processor.Sleep(time.Hour) }))
	address := <-addresses
	var list *coroutinesJSON
	testenv.Until(t, "three wait", func() bool {
		list = getJSON[coroutinesJSON](t, h, "/coroutines.json?state=waiting&sort=name")
		return len(list.Coroutines) == 3
	})
	checkLive(t, h, list)
	sockets := getJSON[socketsJSON](t, h, "/sockets.json")
	if len(sockets.Sockets) != 1 || sockets.Sockets[0].Local != address ||
		sockets.Sockets[0].Kind != "listener" ||
		sockets.Sockets[0].ReadWaiter != list.Coroutines[0].ID {
		t.Errorf("sockets: %+v, want one at %s for which %d waits", sockets, address,
			list.Coroutines[0].ID)
	}
	checkStack(t, h, list.Coroutines[1].ID)
	checkOverview(t, h)
}

// checkLive checks the list of TestLive's coroutines, by name, and two choices
// from it.
func checkLive(t *testing.T, h http.Handler, list *coroutinesJSON) {
	t.Helper()
	for i, want := range []coroutineJSON{
		{Name: "listener", Reason: "accept", Processor: 1}, {Name: "receiver", Reason: "channel"},
		{Name: "sleeper", Reason: "sleep"},
	} {
		got := list.Coroutines[i]
		if got.Name != want.Name || got.Reason != want.Reason || got.Processor != want.Processor ||
			got.State != "waiting" || got.WaitsFor == "" || !strings.HasSuffix(got.File,
			"live_test.go") || got.Line == 0 || got.SinceNs > int64(time.Minute) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	testenv.Equal(t, list.Seen, 3, "seen: another Scheduler's are among them")
	if got := getJSON[coroutinesJSON](t, h,
		"/coroutines.json?site=live_test.go&reason=sleep"); got.Matched != 1 {
		t.Errorf("of this file, asleep: %d", got.Matched)
	}
	if g := getJSON[groupsJSON](t, h, "/coroutines.json?group=site"); len(g.Groups) != 3 ||
		!strings.HasPrefix(g.Groups[0].Key, "introspect/live_test.go:") {
		t.Errorf("by site: %+v", g.Groups)
	}
}

// checkStack checks the stack of TestLive's receiver.
func checkStack(t *testing.T, h http.Handler, id uint64) {
	t.Helper()
	var one *coroutineJSON
	testenv.Until(t, "the receiver's thread tells its stack in time", func() bool {
		one = getJSON[coroutineJSON](t, h, fmt.Sprintf("/coroutine.json?id=%d&stack=1", id))
		return !strings.HasPrefix(one.StackError, "busy")
	})
	if !strings.Contains(one.Stack, "channel.") || one.StackError != "" {
		t.Errorf("the receiver's stack: %q, %s", one.Stack, one.StackError)
	}
}

// checkOverview checks the front page as TestLive leaves it.
func checkOverview(t *testing.T, h http.Handler) {
	t.Helper()
	var o *overviewJSON
	testenv.Until(t, "the sleeper's timer is counted, which is when the next turn begins",
		func() bool {
			o = getJSON[overviewJSON](t, h, "/.json")
			return o.Processors[0].Timers > 0
		})
	if o.Coroutines.Live != 3 || o.Coroutines.Reasons["sleep"] != 1 || o.Deadlock != nil ||
		len(o.Processors) != 2 || o.UptimeNs <= 0 ||
		o.Processors[0].Live != 2 || o.Processors[0].Timers != 1 || o.Processors[1].FDs != 1 {
		t.Errorf("overview: %+v", o)
	}
}

// TestStalledProcessors: while every Processor is held up each page answers,
// and says that a stack cannot be had.
func TestStalledProcessors(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 2, LockThreads: true})
	h := New(s, Options{})
	parked := testenv.Must(s.GoWith(spawnOn(0, "parked", func() { processor.Sleep(time.Hour) })))
	testenv.Until(t, "it is parked", func() bool {
		return getJSON[coroutinesJSON](t, h, "/coroutines.json?reason=sleep").Matched == 1
	})
	held := make(chan bool)
	var holding sync.WaitGroup
	for i := range 2 {
		holding.Add(1)
		// As no coroutine may.
		s.GoWith(spawnOn(i, "holds its thread", func() { holding.Done(); <-held }))
	}
	holding.Wait()
	defer close(held)
	for _, page := range []string{"", "coroutines", "coroutines?group=name", "sockets",
		"stalls"} {
		get(t, h, "/"+page, 200)
	}
	o := overview(t, h)
	for _, p := range o.Processors {
		if p.State == "asleep" || p.Current == 0 {
			t.Errorf("processor %d is %s, coroutine %d runs", p.Index, p.State, p.Current)
		}
	}
	if o.Coroutines.Running != 2 || o.Coroutines.Waiting != 1 || o.Deadlock != nil {
		t.Errorf("%+v", o.Coroutines)
	}
	one := getJSON[coroutineJSON](t, h, fmt.Sprintf("/coroutine.json?id=%d&stack=1", parked.ID()))
	if one.Stack == "" && !strings.HasPrefix(one.StackError, "busy") {
		t.Errorf("its stack: %+v", one)
	}
	if text, _ := get(t, h, fmt.Sprintf("/coroutine?id=%d&stack=1", parked.ID()),
		200); one.Stack == "" && !strings.Contains(text, "has kept running for") {
		t.Error("the page does not say that its Processor is busy")
	}
	// And not of what a slow machine has held up before.
	testenv.Until(t, "the watchdog has told of it", func() bool {
		p := overview(t, h).Processors
		return p[0].State == "stalled" || p[1].State == "stalled"
	})
	if len(getJSON[stallsJSON](t, h, "/stalls.json").Stalls) == 0 {
		t.Error("no stall on its page")
	}
}

// TestLeftBehind: a Processor that goes on without a blocked coroutine is as
// idle as any, and the coroutine's page has its stack.
func TestLeftBehind(t *testing.T) {
	if err := coroutine.CanLeave(); err != nil {
		t.Skip(err)
	}
	s := start(t, scheduler.Options{Processors: 1})
	h := New(s, Options{})
	held := make(chan bool)
	defer close(held)
	left := testenv.Must(s.GoWith(spawnOn(0, "blocked", func() { <-held })))
	var p processorJSON
	testenv.Until(t, "its Processor goes on", func() bool {
		p = overview(t, h).Processors[0]
		return p.State == "asleep" && p.Live == 1
	})
	testenv.Equal(t, p.Current, 0, p)
	one := getJSON[coroutineJSON](t, h, fmt.Sprintf("/coroutine.json?id=%d&stack=1", left.ID()))
	if one.State != "outside" || !strings.Contains(one.Stack, "TestLeftBehind.func1") {
		t.Errorf("%+v", one)
	}
	if o := overview(t, h); o.Coroutines.Outside != 1 || o.Coroutines.Running != 0 {
		t.Errorf("%+v", o.Coroutines)
	}
	if list := getJSON[coroutinesJSON](t, h, "/coroutines.json?state=outside"); len(
		list.Coroutines) != 1 {
		t.Errorf("%+v", list)
	}
	if list := getJSON[groupsJSON](t, h, "/coroutines.json?group=name"); len(list.Groups) != 1 ||
		list.Groups[0].Outside != 1 {
		t.Errorf("%+v", list)
	}
	testenv.Until(t, "its line", func() bool {
		list := getJSON[stallsJSON](t, h, "/stalls.json").Handoffs
		return len(list) == 1 && list[0].Cause == "channel" && list[0].Name == "blocked" &&
			list[0].Coroutine == left.ID() && strings.Contains(list[0].BlockedAt, "live_test.go:")
	})
}

// TestOwnThreads: a Processor's thread and its CPU time are shown if it has one
// of its own.
func TestOwnThreads(t *testing.T) {
	for _, locked := range []bool{false, true} {
		h := New(start(t, scheduler.Options{Processors: 1, LockThreads: locked}), Options{})
		testenv.Until(t, "the start", func() bool {
			return overview(t, h).Processors[0].State != "not started"
		})
		if p := overview(t, h).Processors[0]; (p.Tid != 0) != locked || (p.CPUNs >= 0) != locked {
			t.Errorf("locked %v: thread %d, CPU time %d ns", locked, p.Tid, p.CPUNs)
		}
		if text, _ := get(t, h, "/", 200); strings.Contains(text,
			`<td data-label="CPU" class="num">–</td>`) == locked {
			t.Errorf("locked %v: the CPU time on the page is wrong", locked)
		}
	}
}

// churn has coroutines start others that dial addr, and wait for their ends,
// until stop is true.
func churn(s *scheduler.Scheduler, addr string, stop *atomic.Bool) *sync.WaitGroup {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		s.GoWith(spawnOn(i%2, "churn", func() {
			defer wg.Done()
			for !stop.Load() {
				h, err := s.GoWith(spawn("short life", func() {
					processor.Sleep(50 * time.Microsecond)
					if c, err := new(socket.Dialer).Dial("tcp", addr); err == nil {
						c.Read(make([]byte, 1))
						c.Close()
					}
				}))
				if err != nil {
					return
				}
				h.Join()
			}
		}))
	}
	return &wg
}

// closer returns the address of a listener that closes what it accepts.
func closer(t *testing.T) string {
	ln := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return ln.Addr().String()
}

// TestChurn: pages are asked for while coroutines and sockets come and go; each
// row is whole, and nothing is held on to.
func TestChurn(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 2})
	server := httptest.NewServer(http.StripPrefix("/netco", New(s, Options{})))
	defer server.Close()
	var stop atomic.Bool
	churns := churn(s, closer(t), &stop)
	pages := []string{"", "coroutines?sort=-age", "coroutines?group=name", "sockets?sort=remote",
		"stalls", "coroutine.json?id=1&stack=1", "overview.json"}
	var asking sync.WaitGroup
	for i := range 4 {
		asking.Go(func() {
			for n := range testenv.Rounds(100) {
				page := pages[(i+n)%len(pages)]
				r, err := server.Client().Get(server.URL + "/netco/" + page)
				if err != nil {
					t.Error(err)
					return
				}
				text, _ := io.ReadAll(r.Body)
				r.Body.Close()
				if r.StatusCode != 200 && !strings.HasPrefix(page, "coroutine.json") {
					t.Errorf("%s: %s: %.200s", page, r.Status, text)
				}
				if strings.Contains(page, "json") {
					continue
				}
				if !strings.Contains(string(text), "</html>") {
					t.Errorf("%s is not whole", page)
				}
			}
		})
	}
	asking.Wait()
	stop.Store(true)
	churns.Wait()
}

// TestHundredThousand: as many, at full length, real coroutines, parked, are
// listed in bounded memory, each once.
func TestHundredThousand(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("the race detector has room for 8,128 goroutines, and these are 100,000")
	}
	once(t)
	n := many(5000, 100_000)
	s := start(t, scheduler.Options{Processors: 2, PoolCap: -1})
	h := New(s, Options{})
	var all sync.WaitGroup
	end := channel.Make[int](0)
	for range n {
		all.Add(1)
		if _, err := s.GoWith(spawn("one of many", func() {
			defer all.Done()
			end.Recv()
		})); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Until(t, "they all wait", func() bool {
		return getJSON[coroutinesJSON](t, h,
			"/coroutines.json?reason=channel&rows=1").Matched == uint64(n)
	})
	seenOnce := map[uint64]bool{}
	place := ""
	for pages := 0; ; pages++ {
		c := getJSON[coroutinesJSON](t, h, "/coroutines.json?rows=1000&sort=age"+place)
		for _, id := range ids(c) {
			if seenOnce[id] {
				t.Fatalf("coroutine %d twice", id)
			}
			seenOnce[id] = true
		}
		if c.Next == "" || pages == 3 {
			break
		}
		place = "&after=" + c.Next
	}
	testenv.Equal(t, len(seenOnce), 4000, "four pages of 1,000 hold")
	if g := getJSON[groupsJSON](t, h, "/coroutines.json?group=site"); len(g.Groups) != 1 ||
		g.Groups[0].Count != uint64(n) {
		t.Errorf("by site: %+v", g.Groups)
	}
	end.Close()
	all.Wait()
}
