package introspect

import (
	"context"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/httpinfo"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// source has the data of the pages: a Scheduler's, or a test's. All its
// functions may be called from any ordinary goroutine, at any time, and take no
// lock that a Processor takes.
type source struct {
	processors func() []processorJSON // without stalls, which handler adds
	phase      func() string
	coroutines func(f func(*seen) bool)
	stack      func(ctx context.Context, c *seen) (string, error)
	sockets    func(f func(*sockinfo.Info) bool)
	requests   func(f func(httpinfo.Request) bool)
	stalls     func() []scheduler.Stall
	stallCount func(processor int) uint64
	handoffs   func() []scheduler.Handoff
	lateness   func(processor int) latencies
	refused    func() uint64
	progress   func() diagnose.Progress
	logger     func() *zap.Logger
}

// seen is a coroutine that a walk has met.
type seen struct {
	coroutine.Info
	processor int
}

// of returns s as a source.
func of(s *scheduler.Scheduler) *source {
	src := &source{
		requests:   httpinfo.Each,
		stalls:     s.Stalls,
		stallCount: s.StallCount,
		handoffs:   s.Handoffs,
		refused:    s.Refused,
		stack:      func(ctx context.Context, c *seen) (string, error) { return c.Stack(ctx) },
	}
	mine := func(i *coroutine.Info) int {
		if p, ok := i.Host.(*processor.Processor); ok && p.Group().Owner == any(s) {
			return p.Index()
		}
		return -1
	}
	src.processors = func() []processorJSON {
		list := engine.Of(s).Processors()
		figures := make([]processorJSON, len(list))
		for i, p := range list {
			figures[i] = figuresOf(p)
		}
		return figures
	}
	src.phase = func() string { return phaseOf(s) }
	src.coroutines = func(f func(*seen) bool) {
		var item seen // one for all calls: f copies what it keeps
		coroutine.Range(func(i coroutine.Info) bool {
			item.Info = i
			if item.processor = mine(&i); item.processor < 0 {
				return true
			}
			return f(&item)
		})
	}
	src.sockets = func(f func(*sockinfo.Info) bool) {
		more := true
		for _, p := range engine.Of(s).Processors() {
			if more {
				sockinfo.Each(p, func(i sockinfo.Info) bool {
					more = f(&i)
					return more
				})
			}
		}
	}
	src.lateness = func(i int) latencies {
		return latenciesOf(engine.Of(s).Processors()[i].Stats.LateNs.Snapshot())
	}
	src.logger = func() *zap.Logger { return loggerOf(engine.Of(s).Processors()) }
	src.progress = func() diagnose.Progress {
		return diagnose.ProgressOf(engine.Of(s).Processors())
	}
	return src
}
