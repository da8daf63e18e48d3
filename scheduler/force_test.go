package scheduler_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// asleep returns how many coroutines of s are waiting.
func asleep(s *scheduler.Scheduler) (n int) {
	coroutine.Range(func(i coroutine.Info) bool {
		if p, ok := i.Host.(*processor.Processor); ok && p.Group().Owner == any(s) &&
			i.State == coroutine.Waiting {
			n++
		}
		return true
	})
	return n
}

// TestEndedByForce: the log and EndedByForce name the coroutines that were
// ended by force and the places where they were made, up to a limit. They used
// to say only that there were some.
func TestEndedByForce(t *testing.T) {
	for _, c := range []struct{ sleepers, listed int }{{0, 0}, {3, 3}, {50, 20}} {
		core, logs := observer.New(zap.WarnLevel)
		s := start(t, scheduler.Options{Processors: 2, Logger: zap.New(core)})
		for range c.sleepers {
			sp := scheduler.Spawn{Fn: func() { processor.Sleep(time.Hour) }}
			sp.Name = "sleeper " + strings.Repeat("x", 1000)
			testenv.Must(s.GoWith(sp))
		}
		testenv.Until(t, "all to sleep", func() bool { return asleep(s) == c.sleepers })
		if some, all := s.EndedByForce(); some != nil || all != 0 {
			t.Errorf("before the end: %q, %d", some, all)
		}
		err := s.Shutdown(testenv.Over())
		testenv.True(t, c.sleepers <= 0 || errors.Is(err, context.Canceled), "%v", err)
		some, all := s.EndedByForce()
		testenv.True(t, len(some) == c.listed && all == c.sleepers, "%d sleepers: %d of %d",
			c.sleepers, len(some), all)
		for _, text := range some {
			testenv.True(t, strings.Contains(text, `"sleeper xx`) &&
				strings.Contains(text, "waiting for a time") &&
				strings.Contains(text, "force_test.go:") && len(text) <= 1000, "%q", text)
		}
		lines := logs.FilterMessage("coroutines are ended by force").All()
		if len(lines) != min(c.sleepers, 1) {
			t.Fatalf("%d sleepers: %d lines", c.sleepers, len(lines))
		}
		if c.sleepers > 0 {
			fields := lines[0].ContextMap()
			testenv.True(t, fields["count"] == int64(c.sleepers) &&
				len(fields["coroutines"].([]any)) == c.listed, "%v", fields)
		}
	}
}

// TestEndedByForceUnstarted: coroutines that no Processor has begun to run yet
// count as ended by force, too.
func TestEndedByForceUnstarted(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 1, LockThreads: true, Quiet: true})
	var free atomic.Bool
	busy := make(chan bool)
	testenv.Must(s.Go(func() {
		close(busy)
		for !free.Load() {
			runtime.Gosched()
		}
	}))
	<-busy
	const others = 5
	for range others {
		testenv.Must(s.Go(func() { processor.Sleep(time.Hour) }))
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(testenv.Over()) }()
	testenv.Until(t, "the forced end", func() bool { _, all := s.EndedByForce(); return all > 0 })
	free.Store(true)
	testenv.Fails(t, testenv.Await(t, ended, "Shutdown"), context.Canceled)
	if _, all := s.EndedByForce(); all != 1+others {
		t.Errorf("%d were ended by force, want %d", all, 1+others)
	}
}
