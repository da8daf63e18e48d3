package netco_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// alarm is a Timer or Ticker of either kind, ours or package time's, as
// TestTimersAsPackageTime sees it.
type alarm struct {
	stop  func() bool
	reset func(time.Duration) bool
	try   func() bool // receives without a wait
	recv  func()
	calls *atomic.Int64
	shape func() string
}

// The kinds, each as netco's and as package time's.
var alarmKinds = map[string][2]func(d time.Duration) alarm{
	"Timer": {
		func(d time.Duration) alarm { t := netco.NewTimer(d); return ours(t.C, t.Stop, t.Reset) },
		func(d time.Duration) alarm { t := time.NewTimer(d); return theirs(t.C, t.Stop, t.Reset) },
	},
	"Ticker": {
		func(d time.Duration) alarm {
			t := netco.NewTicker(d)
			return ours(t.C, func() bool { t.Stop(); return false },
				func(d time.Duration) bool { t.Reset(d); return false })
		},
		func(d time.Duration) alarm {
			t := time.NewTicker(d)
			return theirs(t.C, func() bool { t.Stop(); return false },
				func(d time.Duration) bool { t.Reset(d); return false })
		},
	},
	"AfterFunc": {
		func(d time.Duration) alarm {
			n := new(atomic.Int64)
			t := netco.AfterFunc(d, func() { n.Add(1) })
			return alarm{stop: t.Stop, reset: t.Reset, calls: n,
				shape: func() string { return fmt.Sprint(t.C == nil) }}
		},
		func(d time.Duration) alarm {
			n := new(atomic.Int64)
			t := time.AfterFunc(d, func() { n.Add(1) })
			return alarm{stop: t.Stop, reset: t.Reset, calls: n,
				shape: func() string { return fmt.Sprint(t.C == nil) }}
		},
	},
}

// ours is an alarm that sends on a channel of netco's, theirs one of Go's.
func ours(c *channel.Chan[time.Time], stop func() bool, reset func(time.Duration) bool) alarm {
	return alarm{stop, reset, func() bool { _, ok, _ := c.TryRecv(); return ok },
		func() { c.Recv() }, nil, func() string { return fmt.Sprint(c.Len(), " of ", c.Cap()) }}
}

func theirs(c <-chan time.Time, stop func() bool, reset func(time.Duration) bool) alarm {
	try := func() bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	return alarm{stop, reset, try, func() { <-c }, nil,
		func() string { return fmt.Sprint(len(c), " of ", cap(c)) }}
}

// Times of which one has always come once it has been waited for, and the other
// never comes.
const (
	soon = time.Nanosecond
	far  = time.Hour
)

// script is what is done to an alarm, one letter for each step.
//
//	s  stop
//	n  reset to soon, and let it come
//	t  receive without a wait
//	f  reset to far
//	r  reset to soon, and receive (or wait until the function has been called)
func (a alarm) play(script string) (log string) {
	var b strings.Builder
	called := int64(0)
	await := func() {
		called++
		for end := time.Now().Add(testenv.Limit); a.calls.Load() < called &&
			time.Now().Before(end); {
			netco.Sleep(time.Microsecond)
		}
	}
	for _, step := range script {
		fmt.Fprintf(&b, "%c", step)
		switch step {
		case 's':
			fmt.Fprint(&b, a.stop())
		case 'f':
			fmt.Fprint(&b, a.reset(far))
		case 'n':
			fmt.Fprint(&b, a.reset(soon))
			if a.calls != nil {
				await()
			}
			for began := time.Now(); time.Since(began) < 10*time.Microsecond; {
			}
		case 'r':
			fmt.Fprint(&b, a.reset(soon))
			if a.calls != nil {
				await()
			} else {
				a.recv()
			}
		case 't':
			if a.calls != nil {
				fmt.Fprint(&b, a.calls.Load())
			} else {
				fmt.Fprint(&b, a.try())
			}
		}
		fmt.Fprint(&b, ",", a.shape(), " ")
	}
	a.stop()
	return b.String()
}

// TestTimersAsPackageTime does the same to package time's and to ours, in
// random order: every answer must be the same.
func TestTimersAsPackageTime(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		for range testenv.Rounds(500) {
			steps := make([]byte, r.IntN(12))
			for i := range steps {
				steps[i] = "sfnrt"[r.IntN(5)]
			}
			for kind, both := range alarmKinds {
				if a, b := both[0](far).play(string(steps)), both[1](far).play(
					string(steps)); a != b {
					t.Errorf("seed %d, %s:\nnetco %s\ntime  %s", seed, kind, a, b)
				}
			}
		}
	})
}

// TestTimerMisuse panics as package time does, in the same words.
func TestTimerMisuse(t *testing.T) {
	said := func(f func()) string { return fmt.Sprint(testenv.PanicOf(f)) }
	for name, c := range map[string][2]func(){
		"NewTicker":          {func() { netco.NewTicker(0) }, func() { time.NewTicker(0) }},
		"NewTicker negative": {func() { netco.NewTicker(-1) }, func() { time.NewTicker(-1) }},
		"Ticker.Reset": {func() { netco.NewTicker(1).Reset(0) }, func() {
			time.NewTicker(1).Reset(0)
		}},
		"zero Ticker": {func() { new(netco.Ticker).Reset(1) }, func() {
			new(time.Ticker).Reset(1)
		}},
		"zero Ticker, stopped": {func() { new(netco.Ticker).Stop() }, func() {
			new(time.Ticker).Stop()
		}},
		"zero Timer": {func() { new(netco.Timer).Reset(1) }, func() { new(time.Timer).Reset(1) }},
		"zero Timer, stopped": {func() { new(netco.Timer).Stop() }, func() {
			new(time.Timer).Stop()
		}},
		"Tick": {func() { panic(netco.Tick(0) == nil) }, func() { panic(time.Tick(0) == nil) }},
	} {
		ours, theirs := said(c[0]), said(c[1])
		testenv.Equal(t, strings.TrimPrefix(ours, "netco: "), strings.TrimPrefix(theirs, "time: "),
			name, "panics with")
	}
	if text := said(func() { netco.AfterFunc(0, nil) }); !strings.HasPrefix(text, "netco: ") {
		t.Errorf("AfterFunc of nil panics with %q", text)
	}
}

// TestTickerTicks: n ticks take n intervals at least, and each says a later
// time than the one before.
func TestTickerTicks(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		const d = 200 * time.Microsecond
		began := time.Now()
		tk := netco.NewTicker(d)
		var last time.Time
		n := 0
		for at := range tk.C.All() {
			if n++; at.Sub(began) < time.Duration(n)*d || time.Since(began) < time.Duration(n)*d ||
				!at.After(last) {
				t.Fatalf("tick %d after %v, which says %v, and the one before %v", n,
					time.Since(began), at.Sub(began), last.Sub(began))
			}
			if last = at; n == 50 {
				break
			}
		}
		tk.Stop()
		if !quiet(tk.C) {
			t.Error("it ticks although it was stopped")
		}
		began = time.Now()
		tk.Reset(time.Millisecond)
		if at := comes(t, tk.C); at.Sub(began) < time.Millisecond {
			t.Errorf("after Reset it ticks after %v", at.Sub(began))
		}
	})
}

// TestTickerDrops: a receiver that comes late gets the tick that was due first,
// and then only ticks that are due from then on.
func TestTickerDrops(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		const d = 2 * time.Millisecond
		tk := netco.NewTicker(d)
		made := time.Now()
		netco.Sleep(20 * d)
		late := time.Now()
		if at := comes(t, tk.C); at.Sub(made) > d {
			t.Errorf("the first tick says %v, the interval is %v", at.Sub(made), d)
		}
		n := 0
		for ; !quiet(tk.C); n++ {
		}
		if fresh := int(time.Since(late)/d) + 1; n > fresh {
			t.Errorf("%d ticks at once; %d are due since the receiver came", n, fresh)
		}
		// They keep their places: n intervals on, n ticks at most have come.
		for range 5 {
			comes(t, tk.C)
		}
		if passed := time.Since(late); passed < 4*d {
			t.Errorf("5 ticks in %v, the interval is %v", passed, d)
		}
		tk.Stop()
	})
}

// TestTickerForMany: receivers on both Processors, and a goroutine, share a
// Ticker's ticks: together they get no more than there are.
func TestTickerForMany(t *testing.T) {
	testrun.StartWith(t, netco.Options{Processors: 2})
	const d, each = 50 * time.Microsecond, 40
	began := time.Now()
	tk := netco.NewTicker(d)
	var all sync.WaitGroup
	var got atomic.Int32
	receive := func() {
		defer all.Done()
		for i := range each {
			if i%2 == 0 {
				tk.C.Recv()
			} else if _, err := channel.Select(tk.C.RecvCase(nil),
				netco.After(time.Hour).RecvCase(nil)); err != nil {
				t.Error(err)
			}
			got.Add(1)
		}
	}
	all.Add(5)
	for i := range 4 {
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: receive})
	}
	go receive()
	all.Wait()
	if passed := time.Since(began); passed < 5*each*d {
		t.Errorf("%d ticks in %v", got.Load(), passed)
	}
}
