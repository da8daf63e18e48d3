package netco_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/scheduler"
)

func TestMain(m *testing.M) {
	if child := reporters.Chosen(); child != nil {
		child()
		return
	}
	// Threads that Go has made it keeps: they are made before they are counted.
	netco.Start(netco.Options{Processors: 16})
	netco.Shutdown(context.Background())
	testenv.Split(m, 2)
}

// TestDefaultComesAndGoes: the default Scheduler starts when it is needed, and
// by Start again after its Shutdown.
func TestDefaultComesAndGoes(t *testing.T) {
	testrun.Shutdown(t) // of nothing
	for range 20 {
		engine.DefaultOver = false
		h := testenv.Must(netco.Go(func() { netco.Sleep(1) }))
		testenv.Fails(t, netco.Start(netco.Options{}), netco.ErrStarted, "Start when it runs")
		one := testenv.Must(netco.Default())
		if two, _ := netco.Default(); one != two {
			t.Error("two default Schedulers")
		}
		testrun.Shutdown(t)
		if !h.Done() {
			t.Error("Shutdown has not waited")
		}
		testenv.Fails(t, netco.Start(netco.Options{Processors: 1}), nil, "Start after Shutdown")
		testrun.Shutdown(t)
		testenv.Fails(t, testenv.Err(one.Go(func() {})), netco.ErrShutdown,
			"Go of one that is over")
	}
	if err := netco.Start(netco.Options{Processors: -1}); err == nil {
		t.Error("Start takes any options")
	}
	if n := 0; netco.Run(func() { n++ }) != nil || n != 1 {
		t.Error("Run after a Start that failed")
	}
	testrun.Shutdown(t)
}

// TestStartedOnceByMany: whoever needs it first starts it, once.
func TestStartedOnceByMany(t *testing.T) {
	for range testenv.Rounds(100) {
		engine.DefaultOver = false
		var wg sync.WaitGroup
		var ran atomic.Int32
		for range 8 {
			wg.Go(func() {
				if h, err := netco.Go(func() { ran.Add(1) }); err != nil || h.Join() != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if ran.Load() != 8 {
			t.Errorf("%d of 8 ran", ran.Load())
		}
		testrun.Shutdown(t)
	}
}

// TestSites: a coroutine knows where it was started: the caller's file and
// line, for each function that starts one.
func TestSites(t *testing.T) {
	testrun.StartWith(t, netco.Options{Processors: 2})
	here := func() string {
		_, file, line, _ := runtime.Caller(1)
		return fmt.Sprintf("%s:%d", file, line)
	}
	var got string
	site := func() {
		file, line := self().Place()
		got = fmt.Sprintf("%s:%d", file, line)
	}
	check := func(name, want string, h netco.Handle, err error) {
		t.Helper()
		if err != nil || h.Join() != nil {
			t.Errorf("%s: %v", name, err)
		}
		testenv.Equal(t, got, want, name, "started at")
		got = ""
	}
	all := func() {
		want := here()
		h, err := netco.Go(site)
		check("Go", after(want, 1), h, err)
		want = here()
		h, err = netco.GoWith(netco.Spawn{Fn: site})
		check("GoWith", after(want, 1), h, err)
		fired := channel.Make[int](0)
		want = here()
		netco.AfterFunc(0, func() { site(); fired.Close() })
		fired.Recv()
		check("AfterFunc", after(want, 1), netco.Handle{}, nil)
	}
	all() // from a goroutine
	want := here()
	err := netco.Run(site)
	check("Run", after(want, 1), netco.Handle{}, err)
	netco.Run(all) // from a coroutine
	// From where there is no line of the user's: no crash.
	done := make(chan struct{})
	go netco.Go(func() { site(); close(done) })
	<-done
	func() {
		ended := make(chan struct{})
		defer func() { <-ended }()
		defer netco.Go(func() { site(); close(ended) })
	}()
	if filepath.Base(strings.Split(got, ":")[0]) != "api_test.go" {
		t.Logf("a deferred Go is told as of %s", got)
	}
}

// after returns the place n lines behind.
func after(place string, n int) string {
	var line int
	i := strings.LastIndexByte(place, ':')
	fmt.Sscan(place[i+1:], &line)
	return fmt.Sprintf("%s:%d", place[:i], line+n)
}

// self is the Info of the calling coroutine.
func self() netco.Info {
	info, ok := netco.Self().Info()
	if !ok {
		panic("a coroutine knows nothing of itself")
	}
	return info
}

func TestCurrentProcessor(t *testing.T) {
	const processors = 3
	testrun.Start(t, processors)
	testenv.Equal(t, netco.CurrentProcessor(), -1, "on a goroutine")
	for want := range processors {
		testrun.In(t, want, func() {
			before := netco.CurrentProcessor()
			netco.Yield()
			child := -1
			h := testenv.Must(netco.GoWith(netco.Spawn{Local: true, Fn: func() {
				child = netco.CurrentProcessor()
			}}))
			h.Join()
			if after := netco.CurrentProcessor(); before != want || after != want || child != want {
				t.Errorf("on Processor %d: %d, %d, its Local %d", want, before, after, child)
			}
		})
	}
}

// TestOutside: what the functions do on an ordinary goroutine.
func TestOutside(t *testing.T) {
	testenv.Equal(t, netco.Self().ID(), 0, "Self is a coroutine's")
	netco.Yield()
	began := time.Now()
	netco.Sleep(2 * time.Millisecond)
	netco.Sleep(-1)
	netco.Sleep(0)
	if took := time.Since(began); took < 2*time.Millisecond {
		t.Errorf("Sleep took %v", took)
	}
	testenv.Fails(t, (netco.Handle{}).Join(), nil, "Join of the zero Handle")
	testrun.StartWith(t, netco.Options{Processors: 2})
	done := make(chan bool)
	h, err := netco.GoWith(netco.Spawn{Local: true, Fn: func() { // is Go
		go func() { done <- netco.Self().ID() == 0 }() // of a goroutine started inside one
		netco.Sleep(time.Millisecond)
	}})
	if err != nil || !<-done || h.Join() != nil {
		t.Errorf("Local outside: %v", err)
	}
}

// TestCoroutinesOfAnotherScheduler: inside one, the functions here are of its
// own Scheduler, not of the default one.
func TestCoroutinesOfAnotherScheduler(t *testing.T) {
	testrun.StartWith(t, netco.Options{Processors: 1})
	other, err := scheduler.New(scheduler.Options{Processors: 3})
	if err != nil || other.Start() != nil {
		t.Fatal(err)
	}
	other.Run(scheduler.Spawn{Fn: func() {
		// The default one has no Processor 2.
		h, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(2), Fn: func() {}})
		if err != nil || h.Join() != nil {
			t.Error(err)
		}
	}})
	testenv.NoError(t, other.Shutdown(context.Background()))
}

// TestAllocs: none of these allocates in a steady state.
func TestAllocs(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	// Which allocates when others have the CPUs.
	testrun.StartWith(t, netco.Options{Processors: 1, Watchdog: -1})
	netco.Run(func() {
		nop := func() {}
		local := netco.Spawn{Local: true, Fn: nop}
		for name, f := range map[string]func(){
			"Yield":       netco.Yield,
			"Sleep":       func() { netco.Sleep(1) },
			"Self":        func() { netco.Self() },
			"Local+end":   func() { netco.GoWith(local); netco.Yield() },
			"Local, Join": func() { h, _ := netco.GoWith(local); h.Join() },
			"Go, Join":    func() { h, _ := netco.Go(nop); h.Join() },
		} {
			for range 200 {
				f()
			}
			testenv.Equal(t, testing.AllocsPerRun(1000, f), 0, name, "allocations")
		}
	})
}

// TestDefaultEventLoop serves a client from a loop on the test's goroutine,
// which is the default Scheduler meanwhile.
func TestDefaultEventLoop(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	served, ended := 0, make(chan struct{})
	var over atomic.Bool
	var ln net.Listener
	first := true
	err := netco.EventLoop(netco.Options{Processors: 4}, func() bool {
		if !first {
			return !over.Load()
		}
		first = false
		s, err := netco.Default()
		if err != nil || s.Processors() != 1 {
			t.Errorf("the default Scheduler: %v", err)
		}
		testenv.Fails(t, netco.Start(netco.Options{}), netco.ErrStarted, "Start")
		testenv.Fails(t, netco.EventLoop(netco.Options{}, nil), netco.ErrStarted, "EventLoop")
		if ln, err = netco.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Error(err)
			return false
		}
		netco.Go(func() {
			testenv.Fails(t, netco.Serve(ln, func(c net.Conn) { served++; echoAll(c) }),
				netco.ErrShutdown, "Serve")
		})
		go func() { // an ordinary client on another thread
			defer close(ended)
			for range 20 {
				testenv.Equal(t, ask(t, ln.Addr()), "word")
			}
			over.Store(true)
			s, _ := netco.Default()
			s.Wake()
		}()
		return true
	})
	<-ended
	if err != nil || served != 20 {
		t.Errorf("%v, %d served", err, served)
	}
	if ln != nil {
		ln.Close()
	}
}

// TestEventLoopOrStart: of several calls that make the default Scheduler at
// once, one succeeds and the others return the error.
func TestEventLoopOrStart(t *testing.T) {
	before := testenv.Snapshot()
	for i := range testenv.Rounds(200) {
		const n = 4
		results := make(chan error, n)
		for k := range n {
			go func() {
				if (i+k)%2 == 0 {
					results <- netco.EventLoop(netco.Options{}, nil)
				} else {
					results <- netco.Start(netco.Options{Processors: 1})
				}
			}()
		}
		for range n - 1 { // all but a loop that runs
			select {
			case err := <-results:
				if err != nil && !errors.Is(err, netco.ErrStarted) {
					t.Error(err)
				}
			case <-time.After(testenv.Limit):
				t.Fatal("two loops run, or something hangs")
			}
		}
		s := testenv.Must(netco.Default())
		if err := netco.Shutdown(context.Background()); err != nil || !s.Ended() {
			t.Errorf("Shutdown: %v", err)
		}
		for over := false; !over; { // the last may have come after that, and be the default one now
			select {
			case err := <-results:
				if over = true; err != nil && !errors.Is(err, netco.ErrStarted) {
					t.Error(err)
				}
			default:
				testrun.Shutdown(t)
				runtime.Gosched()
			}
		}
		testrun.Shutdown(t)
	}
	testenv.NoError(t, before.Leaks())
}

// TestErrShutdownIsClosed: what libraries check for, to know that a server was
// ended, holds for the end of a Scheduler.
func TestErrShutdownIsClosed(t *testing.T) {
	in := &net.OpError{Op: "accept", Net: "tcp", Err: netco.ErrShutdown}
	for _, c := range []struct {
		err, target error
		want        bool
	}{
		{netco.ErrShutdown, net.ErrClosed, true},
		{in, net.ErrClosed, true},
		{in, netco.ErrShutdown, true},
		{netco.ErrShutdown, os.ErrClosed, false},
		{netco.ErrShutdown, os.ErrDeadlineExceeded, false},
		{net.ErrClosed, netco.ErrShutdown, false},
	} {
		testenv.Equal(t, errors.Is(c.err, c.target), c.want, c.err, c.target)
	}
}

// TestHTTPServerEnds: an http.Server on a listener of netco is ended by
// Shutdown as by a Close of its listener, and has nothing to say about it.
func TestHTTPServerEnds(t *testing.T) {
	testrun.Start(t, 1)
	ln := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	var text bytes.Buffer
	server := &http.Server{ErrorLog: log.New(&text, "", 0)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://" + ln.Addr().String()) // its connection stays open
	testenv.OK(t, err)
	answer.Body.Close()
	testrun.Shutdown(t)
	err = testenv.Await(t, ended, "Serve")
	testenv.Fails(t, err, net.ErrClosed, "Serve")
	testenv.Fails(t, err, netco.ErrShutdown, "Serve")
	server.Close()
	if text.Len() > 0 {
		t.Errorf("it has logged %s", &text)
	}
}

// TestAfterShutdown: nothing that starts the default Scheduler by the way does
// so after its Shutdown: a goroutine that was late started threads that nothing
// would end. Start and Run, which ask for it, do.
func TestAfterShutdown(t *testing.T) {
	mustNot := func() { t.Error("it has run") }
	calls := map[string]func() error{
		"Go":      func() error { _, err := netco.Go(mustNot); return err },
		"GoWith":  func() error { _, err := netco.GoWith(netco.Spawn{Fn: mustNot}); return err },
		"Default": func() error { _, err := netco.Default(); return err },
		"coroutine.Start": func() error {
			_, err := coroutine.Start(coroutine.Spawn{Fn: mustNot})
			return err
		},
	}
	ends := map[string]func(){
		"Shutdown alone": func() { engine.DefaultOver = false; testrun.Shutdown(t) },
		"Start and Shutdown": func() {
			testenv.OK(t, netco.Start(netco.Options{Processors: 1}))
			testrun.Shutdown(t)
		},
		"Run and Shutdown": func() {
			testenv.OK(t, netco.Run(func() {}))
			testrun.Shutdown(t)
		},
		"EventLoop": func() {
			testenv.OK(t, netco.EventLoop(netco.Options{}, func() bool { return false }))
		},
	}
	for end, f := range ends {
		f()
		for name, call := range calls {
			testenv.Fails(t, call(), netco.ErrShutdown, name, "after", end)
		}
		fired := make(chan bool)
		netco.AfterFunc(0, func() { fired <- netco.Self().ID() != 0 })
		if <-fired {
			t.Errorf("AfterFunc after %s: called in a coroutine", end)
		}
		if s, err := netco.Default(); err == nil {
			t.Fatalf("after %s: %d Processors run", end, s.Processors())
		}
	}
	engine.DefaultOver = false // the other tests start where they find it
}
