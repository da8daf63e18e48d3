package introspect

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/httpinfo"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// source provides the data of the pages, of a Scheduler or of a test. Its
// functions may be called from any goroutine and wait for no Processor.
type source struct {
	processors func() []processorJSON
	phase      func() string
	coroutines func(f func(*seen) bool)
	stack      func(ctx context.Context, c *seen) (string, error)
	sockets    func(f func(*sockinfo.Info) bool)
	requests   func(f func(httpinfo.Request) bool)
	stalls     func() []scheduler.Stall
	handoffs   func() []scheduler.Handoff
	refused    func() uint64
	stuck      func() []coroutine.Info // all coroutines, if there is a deadlock of all
	circles    func() []diagnose.Circle
	logger     func() *zap.Logger
}

// seen is a coroutine as a walk found it.
type seen struct {
	coroutine.Info
	processor int
}

// reason returns the reason of the coroutine's wait; "" if it does not wait.
func (s *seen) reason() string {
	if s.State != coroutine.Waiting {
		return ""
	}
	return s.Reason.String()
}

// sourceOf returns s as a source.
func sourceOf(s *scheduler.Scheduler) *source {
	all := func() []*processor.Processor { return engine.Of(s).Processors() }
	return &source{
		processors: func() (figures []processorJSON) {
			for _, p := range all() {
				figures = append(figures, figuresOf(s, p))
			}
			return figures
		},
		phase: func() string {
			group := engine.Of(s).Group()
			if group == nil {
				return "new"
			}
			return [...]string{"running", "draining", "stopping", "stopped"}[group.Phase()]
		},
		coroutines: func(f func(*seen) bool) {
			var item seen // reused for all calls: f copies the items that it keeps
			coroutine.Range(func(i coroutine.Info) bool {
				p, ok := i.Host.(*processor.Processor)
				if !ok || p.Group().Owner != any(s) {
					return true
				}
				item = seen{i, p.Index()}
				return f(&item)
			})
		},
		stack: func(ctx context.Context, c *seen) (string, error) { return c.Stack(ctx) },
		sockets: func(f func(*sockinfo.Info) bool) {
			more := true
			for _, p := range all() {
				if more {
					sockinfo.Each(p, func(i sockinfo.Info) bool { more = f(&i); return more })
				}
			}
		},
		requests: httpinfo.Each,
		stalls:   s.Stalls,
		handoffs: s.Handoffs,
		refused:  s.Refused,
		stuck:    func() []coroutine.Info { return diagnose.AllStuck(engine.Of(s).Group()) },
		circles:  func() []diagnose.Circle { return diagnose.Circles(engine.Of(s).Group()) },
		logger:   s.Logger,
	}
}

// The answers as JSON. docs/PAGES.md says what their fields hold, and
// testdata/answers.json has an example of each.
type (
	overviewJSON struct {
		Time          time.Time           `json:"time"`
		Phase         string              `json:"phase"`
		UptimeNs      int64               `json:"uptime_ns"`
		PID           int                 `json:"pid"`
		Program       string              `json:"program"`
		Netco         string              `json:"netco"`
		Go            string              `json:"go"`
		Backend       string              `json:"backend"`
		BackendReason string              `json:"backend_reason"`
		Processors    []processorJSON     `json:"processors"`
		Coroutines    countsJSON          `json:"coroutines"`
		Refused       uint64              `json:"refused"`
		Stalls        []scheduler.Stall   `json:"stalls"`
		Handoffs      []scheduler.Handoff `json:"handoffs"`
		Deadlock      *deadlockJSON       `json:"deadlock"`
		LockCircles   []lockCircleJSON    `json:"lock_circles"`
	}
	// statesJSON counts coroutines by state, and waiting coroutines by reason.
	statesJSON struct {
		Ready   uint64            `json:"ready"`
		Running uint64            `json:"running"`
		Waiting uint64            `json:"waiting"`
		Outside uint64            `json:"outside"`
		Reasons map[string]uint64 `json:"reasons"`
	}
	countsJSON struct {
		Live      uint64 `json:"live"`
		Submitted int    `json:"submitted"`
		statesJSON
		Partial bool `json:"partial"`
	}
	processorJSON struct {
		Index     int         `json:"index"`
		Tid       int         `json:"tid"`
		State     string      `json:"state"`
		Current   uint64      `json:"current"`
		Active    bool        `json:"active"`
		Live      uint64      `json:"live"`
		Queued    uint64      `json:"queued"`
		Inbox     int         `json:"inbox"`
		Submitted int         `json:"submitted"`
		FDs       int         `json:"fds"`
		Timers    uint64      `json:"timers"`
		Spawned   uint64      `json:"spawned"`
		Moved     uint64      `json:"moved"`
		Turns     uint64      `json:"turns"`
		Sleeps    uint64      `json:"sleeps"`
		BytesIn   uint64      `json:"bytes_in"`
		BytesOut  uint64      `json:"bytes_out"`
		SinceNs   int64       `json:"since_ns"`
		BusyNs    int64       `json:"busy_ns"`
		SpinNs    int64       `json:"spin_ns"`
		IdleNs    int64       `json:"idle_ns"`
		CPUNs     int64       `json:"cpu_ns"`
		TurnNs    int64       `json:"turn_ns"`
		Load      float64     `json:"load"`
		TurnP50   int64       `json:"turn_p50_ns"`
		TurnP99   int64       `json:"turn_p99_ns"`
		TurnMax   int64       `json:"turn_max_ns"`
		WaitNs    int64       `json:"wait_ns"`
		Stalls    uint64      `json:"stalls"`
		History   []sliceJSON `json:"history"`
	}
	sliceJSON struct {
		AgoNs  int64  `json:"ago_ns"`
		Turns  uint64 `json:"turns"`
		BusyNs uint64 `json:"busy_ns"`
		P50Ns  int64  `json:"p50_ns"`
		P99Ns  int64  `json:"p99_ns"`
		MaxNs  int64  `json:"max_ns"`
	}
	deadlockJSON struct {
		Count      uint64          `json:"count"`
		Coroutines []coroutineJSON `json:"coroutines"`
	}
	lockCircleJSON struct {
		Circle     string          `json:"circle"`
		Count      int             `json:"count"`
		Coroutines []coroutineJSON `json:"coroutines"`
	}
	coroutineJSON struct {
		ID         uint64 `json:"id"`
		Name       string `json:"name"`
		State      string `json:"state"`
		Reason     string `json:"reason"`
		WaitsFor   string `json:"waits_for"`
		HeldBy     uint64 `json:"held_by,omitempty"`
		SinceNs    int64  `json:"since_ns"`
		Processor  int    `json:"processor"`
		Func       string `json:"func"`
		File       string `json:"file"`
		Line       int    `json:"line"`
		Stack      string `json:"stack,omitempty"`
		StackError string `json:"stack_error,omitempty"`
	}
	// listJSON is one page of a list.
	listJSON struct {
		Seen    uint64 `json:"seen"`
		Matched uint64 `json:"matched"`
		First   uint64 `json:"first"`
		Last    uint64 `json:"-"` // the number of the last row, as First
		Next    string `json:"next"`
		Prev    string `json:"prev"`
		Partial bool   `json:"partial"`
	}
	coroutinesJSON struct {
		listJSON
		Coroutines []coroutineJSON `json:"coroutines"`
	}
	groupsJSON struct {
		By      string      `json:"by"`
		Seen    uint64      `json:"seen"`
		Matched uint64      `json:"matched"`
		Partial bool        `json:"partial"`
		Groups  []groupJSON `json:"groups"`
		Missing uint64      `json:"missing"`
	}
	groupJSON struct {
		Key   string `json:"key"`
		Count uint64 `json:"count"`
		statesJSON
		OldestNs int64 `json:"oldest_ns"`
	}
	socketsJSON struct {
		listJSON
		Sockets []socketJSON `json:"sockets"`
	}
	socketJSON struct {
		FD          int    `json:"fd"`
		Kind        string `json:"kind"`
		Network     string `json:"network"`
		Local       string `json:"local"`
		Remote      string `json:"remote"`
		Processor   int    `json:"processor"`
		ReadWaiter  uint64 `json:"read_waiter"`
		WriteWaiter uint64 `json:"write_waiter"`
	}
	requestsJSON struct {
		Requests []httpinfo.Request `json:"requests"`
		Total    int                `json:"total"`
	}
	stallsJSON struct {
		Stalls   []scheduler.Stall   `json:"stalls"`
		Handoffs []scheduler.Handoff `json:"handoffs"`
	}
	failureJSON struct {
		Error string `json:"error"`
	}
)
