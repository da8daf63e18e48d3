package netco_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/testenv"
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
	said := func(f func()) (text string) {
		defer func() { text = fmt.Sprint(recover()) }()
		f()
		return ""
	}
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
