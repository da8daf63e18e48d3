package scheduler_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// TestEndedByForce: who was ended by force is named, with the place where it
// was made, in the log and by EndedByForce, and however many there are the list
// is short. Only that some had been was to be seen.
func TestEndedByForce(t *testing.T) {
	for _, c := range []struct{ sleepers, listed int }{{0, 0}, {3, 3}, {50, 20}} {
		core, logs := observer.New(zap.WarnLevel)
		s, err := scheduler.New(scheduler.Options{Processors: 2, Logger: zap.New(core)})
		if err == nil {
			err = s.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		asleep := make(chan struct{})
		for range c.sleepers {
			sp := spawn(func() { asleep <- struct{}{}; processor.Sleep(time.Hour) })
			sp.Name, sp.Site = "sleeper "+strings.Repeat("x", 1000), here()
			if _, err := s.Go(sp); err != nil {
				t.Fatal(err)
			}
		}
		for range c.sleepers {
			<-asleep
		}
		testenv.Until(t, "all to sleep", func() bool {
			n := 0
			coroutine.Range(func(i coroutine.Info) bool {
				if p, ok := i.Host.(*processor.Processor); ok && p.Group().Owner == any(s) &&
					i.State == coroutine.Waiting {
					n++
				}
				return true
			})
			return n == c.sleepers
		})
		if some, all := s.EndedByForce(); some != nil || all != 0 {
			t.Errorf("before the end: %q, %d", some, all)
		}
		if err := s.Shutdown(over()); c.sleepers > 0 && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		some, all := s.EndedByForce()
		if len(some) != c.listed || all != c.sleepers {
			t.Errorf("%d sleepers: %d of %d", c.sleepers, len(some), all)
		}
		for _, text := range some {
			if !strings.Contains(text, `"sleeper xx`) ||
				!strings.Contains(text, "waiting for a time") ||
				!strings.Contains(text, "force_test.go:") || len(text) > 1000 {
				t.Errorf("%q", text)
			}
		}
		lines := logs.FilterMessage("coroutines are ended by force").All()
		if len(lines) != min(c.sleepers, 1) {
			t.Fatalf("%d sleepers: %d lines", c.sleepers, len(lines))
		}
		if c.sleepers > 0 {
			fields := lines[0].ContextMap()
			if fields["count"] != int64(c.sleepers) ||
				len(fields["coroutines"].([]any)) != c.listed {
				t.Errorf("%v", fields)
			}
		}
	}
}
