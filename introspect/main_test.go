package introspect

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	cocontext "github.com/netco-go/netco/context"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/httpinfo"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

func TestMain(m *testing.M) { testenv.Split(m, 2) }

// many returns most at full length and least otherwise, which is as much as the
// test needs.
func many(least, most int) int {
	if testenv.Full() {
		return testenv.Rounds(most)
	}
	return least
}

// start makes a running Scheduler that ends, by force, with the test.
func start(t testing.TB, o scheduler.Options) *scheduler.Scheduler {
	t.Helper()
	s := testenv.Must(scheduler.New(o))
	testenv.OK(t, s.Start())
	t.Cleanup(func() { s.Shutdown(testenv.Over()) })
	return s
}

// once skips a test that has nothing to do with how contexts are switched where
// all of it is run again for that.
func once(t testing.TB) {
	t.Helper()
	if cocontext.Backend() == cocontext.BackendPortable {
		t.Skip("is the same under every backend")
	}
}

// fake is a source that a test makes up: coroutines and sockets by number.
type fake struct {
	source
	n, fds    int
	coroutine func(i int, c *seen)
	socket    func(i int, s *sockinfo.Info)
}

// newFake returns a source of two Processors, n coroutines and as many sockets,
// which differ in everything.
func newFake(n int) *fake {
	// Ages are counted from here: they must not depend on how long the tests
	// before have taken.
	made := clock.Now()
	f := &fake{n: n, fds: n, coroutine: madeUp, socket: madeUpSocket}
	f.source = source{
		processors: func() []processorJSON {
			return slices.Clone(madeUpProcessors())
		},
		phase: func() string { return "running" },
		coroutines: func(see func(*seen) bool) {
			var c seen
			for i := range f.n {
				c = seen{}
				f.coroutine(i, &c)
				if c.Since += made; !see(&c) {
					return
				}
			}
		},
		requests: func(see func(httpinfo.Request) bool) {
			see(httpinfo.Request{Method: "GET", Target: "/young", Remote: "[::1]:9",
				Proto: "HTTP/1.1", Age: time.Second})
			see(httpinfo.Request{Method: "<b>", Target: "/old?" + strings.Repeat("<", 10_000),
				Remote: "[::1]:8", Proto: "HTTP/1.0", Age: time.Hour, Goroutine: true})
		},
		sockets: func(see func(*sockinfo.Info) bool) {
			for i := range f.fds {
				var s sockinfo.Info
				if f.socket(i, &s); !see(&s) {
					return
				}
			}
		},
		stack: func(ctx context.Context, c *seen) (string, error) {
			return fmt.Sprintf("goroutine %d [running]:\nmain.serve(0x1)\n\t/src/main.go:12 +0x1\n",
				c.ID), nil
		},
		stalls:   func() []scheduler.Stall { return madeUpStalls },
		handoffs: func() []scheduler.Handoff { return madeUpHandoffs },
		refused:  func() uint64 { return 3 },
		stuck:    func() []coroutine.Info { return nil },
		circles:  func() []diagnose.Circle { return nil },
		logger:   zap.NewNop,
	}
	return f
}

// handler returns one that has as long for a walk as for a request: no machine
// is so slow that what a test has made up is cut short.
func (f *fake) handler(o Options) *handler {
	h := handlerOf(&f.source, o)
	h.coroutines.limit, h.sockets.limit = requestLimit, requestLimit
	return h
}

var madeUpNames = []string{"", "echo connection", "cache sweeper", "<script>alert(1)</script>",
	`"quoted" & 'single'`, "right\u202eleft", "metrics push"}

func madeUp(i int, c *seen) {
	c.ID = uint64(i + 1)
	c.Name = madeUpNames[i%len(madeUpNames)]
	c.File, c.Line, c.Func = "/src/daemon/serve.go", 10+i%5, "main.serve"
	c.State = coroutine.Waiting
	c.Reason = coroutine.Reason(1 + i%int(coroutine.ReasonContext))
	c.WaitsFor = "something that is waited for"
	if i%17 == 0 {
		c.State, c.Reason, c.WaitsFor = coroutine.Ready, 0, ""
	}
	c.Since = -int64(1+i*618_033%n1) * int64(time.Millisecond) // made, to be added
	c.processor = i % 2
}

const n1 = 1_000_003

func madeUpSocket(i int, s *sockinfo.Info) {
	*s = sockinfo.Info{FD: i + 5, Network: "tcp", Processor: i % 2, Listener: i%100 == 0,
		Idle: i%3 == 1}
	s.Local = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7000}
	if !s.Listener {
		s.Remote = &net.TCPAddr{IP: net.IPv4(10, byte(i>>16), byte(i>>8), byte(i)),
			Port: 1024 + i%60000}
	}
	if !s.Idle {
		s.ReadWaiter = uint64(i + 1)
	}
}

var madeUpProcessors = sync.OnceValue(func() []processorJSON {
	return []processorJSON{madeUpProcessor(0), madeUpProcessor(1)}
})

// madeUpProcessor has a history like that of a Processor with some load, and
// one bad minute.
func madeUpProcessor(index int) processorJSON {
	random := rand.New(rand.NewPCG(1, uint64(index)))
	now := clock.Now()
	p := processorJSON{
		Index: index, Tid: 4000 + index, State: []string{"asleep", "busy"}[index],
		Active: index == 1, Moved: 12_345, Current: uint64(index * 12),
		Live: 51234, Queued: 3, Inbox: 1, FDs: 51300, Timers: 210, Spawned: 9_912_345,
		Turns: 1_234_567, Sleeps: 99_123,
		BytesIn: 12_345_678_901, BytesOut: 2_345_678,
		SinceNs: int64(50 * time.Hour), BusyNs: int64(11 * time.Hour),
		IdleNs: int64(38 * time.Hour), SpinNs: int64(time.Hour), CPUNs: int64(10 * time.Hour),
		Stalls: uint64(2 * index),
	}
	var history []processor.Slice
	for i := range int64(48) {
		if index == 1 && i > 20 && i < 26 {
			continue
		}
		s := processor.Slice{Start: now - (48-i)*sliceSpan, Turns: 1_000}
		for range s.Turns {
			ns := uint64(8000 * random.ExpFloat64())
			if random.IntN(200) == 0 {
				ns *= 40
			}
			if index == 1 && i > 30 && i < 38 && random.IntN(30) == 0 {
				ns = 3_000_000 + uint64(random.Int64N(400_000_000))
			}
			s.BusyNs += ns + 100_000
			s.MaxNs = max(s.MaxNs, ns)
			s.Lengths[min(lengthOf(ns), len(s.Lengths)-1)]++
		}
		history = append(history, s)
	}
	remember(&p, history, now)
	return p
}

func lengthOf(ns uint64) (n int) {
	for ns >>= 10; ns > 0; ns >>= 1 {
		n++
	}
	return n
}

var madeUpHandoffs = []scheduler.Handoff{
	{Cause: "syscall", BlockedAt: "daemon/log.go:34 main.(*journal).write", Count: 12_345,
		Detail: "syscall.write", Coroutine: 7, Name: "<i>journal</i>"},
	{Cause: "channel", BlockedAt: "daemon/serve.go:20 main.serve", Count: 3,
		Detail: "runtime.chanrecv", Coroutine: 1 << 40},
	{Cause: "unknown", Count: 1, Coroutine: 12},
}

var madeUpStalls = []scheduler.Stall{
	{Processor: 1, Began: time.Date(2001, 2, 3, 4, 5, 6, 7e6, time.UTC),
		Length: 312 * time.Millisecond, Over: true, Coroutine: 7, Name: "echo connection",
		Site: "daemon/serve.go:12 main.serve", Cause: "channel", Detail: "chan receive",
		Stack: "goroutine 7 [chan receive]:\nmain.serve(...)\n\t/src/serve.go:99\n"},
	{Processor: 1, Began: time.Date(2001, 2, 3, 4, 6, 6, 7e6, time.UTC), Length: 5 * time.Second,
		Coroutine: 12, Name: "<b>bold</b>", Cause: "syscall", Detail: "read",
		Stack: "goroutine 12 [syscall]:\nos.(*File).Read(...)\n"},
}
