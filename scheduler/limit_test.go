package scheduler_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// limited is a Scheduler with a limit of four coroutines, the ways to start a
// coroutine there, and the number of starts that it has refused.
type limited struct {
	*scheduler.Scheduler
	t       *testing.T
	ways    map[string]starter
	refused uint64
}

func newLimited(t *testing.T, logger *zap.Logger) *limited {
	s := start(t, scheduler.Options{Processors: 2, MaxCoroutines: 4, Logger: logger, Watchdog: -1})
	return &limited{Scheduler: s, t: t, ways: starters(s)}
}

// full checks that no coroutine can be started by the caller.
func (l *limited) full(place string) {
	for name, way := range l.ways {
		h, err := way(func() { l.t.Error("a refused coroutine runs") })
		if !errors.Is(err, processor.ErrTooManyCoroutines) || h != (coroutine.Handle{}) {
			l.t.Errorf("%s on a %s: %v, want ErrTooManyCoroutines", name, place, err)
		}
		l.refused++
		testenv.Equal(l.t, l.Refused(), l.refused, "refused")
	}
}

// fill starts coroutines that run fn, up to the limit, from one of them.
func (l *limited) fill(fn func()) (all []coroutine.Handle) {
	done := make(chan struct{})
	first := testenv.Must(l.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0), Fn: func() {
		for _, way := range l.ways {
			h, err := way(fn)
			if err != nil {
				break // the caller is one of the four itself
			}
			all = append(all, h)
		}
		l.refused++
		l.full("coroutine")
		close(done)
		fn()
	}}))
	<-done
	if len(all) != 3 {
		l.t.Fatalf("%d more coroutines beside one, want 3", len(all))
	}
	return append(all, first)
}

// TestMaxCoroutines: every way to start a coroutine is refused at the limit,
// and not before, and works again when one has ended.
func TestMaxCoroutines(t *testing.T) {
	core, logged := observer.New(zap.WarnLevel)
	began := time.Now()
	l := newLimited(t, zap.New(core))
	defer shutdown(t, l.Scheduler)
	var open atomic.Bool
	for range 3 { // a full Scheduler takes coroutines again when all have ended
		open.Store(false)
		handles := l.fill(func() {
			for !open.Load() {
				processor.Sleep(time.Millisecond)
			}
		})
		l.full("goroutine")
		err := l.Run(scheduler.Spawn{Fn: func() {}})
		testenv.Fails(t, err, processor.ErrTooManyCoroutines, "Run")
		l.refused++
		open.Store(true)
		for _, h := range handles {
			testenv.OK(t, h.Join())
		}
	}
	lines := logged.FilterMessage("coroutines refused").All()
	if len(lines) == 0 || len(lines) > 1+int(time.Since(began)/time.Second) {
		t.Errorf("%d lines in the log for %d refusals", len(lines), l.refused)
	} else if max := lines[0].ContextMap()["max"]; max != int64(4) {
		t.Errorf("the log says that the limit is %v", max)
	}
}

// TestMaxCoroutinesNeverPassed: there are never more coroutines than the limit,
// whoever starts them and wherever they end. A start that follows the Join of a
// coroutine succeeds.
func TestMaxCoroutinesNeverPassed(t *testing.T) {
	const most = 5
	s := start(t, scheduler.Options{Processors: 2, MaxCoroutines: most, Watchdog: -1})
	var live, started, passed atomic.Int64
	body := func() {
		if live.Add(1) > most {
			passed.Add(1)
		}
		coroutine.Yield()
		live.Add(-1)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range testenv.Rounds(20_000) {
				if h, err := s.Go(body); err == nil {
					started.Add(1)
					defer h.Join()
				} else if !errors.Is(err, processor.ErrTooManyCoroutines) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	testenv.True(t, started.Load() != 0 && passed.Load() == 0,
		"%d started, %d of them past the limit", started.Load(), passed.Load())
	// A coroutine no longer counts when Join returns.
	for range testenv.Rounds(5_000) {
		var handles []coroutine.Handle
		for range most {
			h := testenv.Must(s.Go(func() {}))
			handles = append(handles, h)
		}
		for _, h := range handles {
			h.Join()
		}
	}
}

// TestMaxCoroutinesOwn: coroutines that the library starts by itself are
// counted, and not refused.
func TestMaxCoroutinesOwn(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 1, MaxCoroutines: 1, Watchdog: -1})
	ran := make(chan struct{})
	hold := make(chan struct{})
	h := testenv.Must(s.Go(func() {
		f := new(processor.Func)
		f.Init(processor.Current(), 0, func() {
			close(ran)
			if _, err := s.Go(func() {}); !errors.Is(err, processor.ErrTooManyCoroutines) {
				t.Errorf("beside two: %v", err)
			}
		}, 0)
		for {
			select {
			case <-hold:
				return
			default:
				processor.Sleep(time.Millisecond)
			}
		}
	}))
	<-ran // a Func has fired at the limit
	own := scheduler.Spawn{Fn: func() {}}
	own.Unlimited = true
	beside, err := s.GoWith(own)
	if err != nil {
		t.Fatalf("the library's own: %v", err)
	}
	beside.Join()
	close(hold)
	h.Join()
	quiet := func() bool { return !engine.Of(s).Group().Active() }
	testenv.Until(t, "all to have ended", quiet)
	for range 3 {
		_, err := s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0), Fn: func() {
			testenv.Fails(t, testenv.Err(s.GoWith(scheduler.Spawn{Local: true, Fn: func() {}})),
				processor.ErrTooManyCoroutines, "beside one, after all have ended")
		}})
		if err != nil {
			t.Fatalf("after all have ended: %v", err)
		}
		testenv.Until(t, "all to have ended", quiet)
	}
}
