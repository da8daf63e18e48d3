package metrics

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

func fresh(t *testing.T) *scheduler.Scheduler {
	t.Helper()
	s := testenv.Must(scheduler.New(scheduler.Options{Processors: 1}))
	return s
}

func TestRegister(t *testing.T) {
	s, other := fresh(t), fresh(t)
	r := prometheus.NewPedanticRegistry()
	for range 2 {
		testenv.OK(t, Register(r, s))
	}
	testenv.Fails(t, Register(r, other), ErrSecondScheduler, "another scheduler")
	if !r.Unregister(NewCollector(s)) {
		t.Error("nothing to unregister")
	}
	testenv.Fails(t, Register(r, other), nil, "in the place of the first")
	if Register(nil, s) == nil || Register(r, nil) == nil {
		t.Error("nil was registered")
	}
}

// TestRegisterAllOrNothing: when the process' collector cannot be registered,
// the Scheduler's is not either.
func TestRegisterAllOrNothing(t *testing.T) {
	r := prometheus.NewRegistry()
	r.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "netco_sockets_open",
		Help: "of somebody else"}))
	if err := Register(r, fresh(t)); err == nil ||
		!strings.Contains(err.Error(), "netco_sockets_open") {
		t.Errorf("%v, want an error about netco_sockets_open", err)
	}
	testenv.Equal(t, len(gather(t, r).values), 1, "series are left")
	r = prometheus.NewRegistry()
	r.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "netco_processors",
		Help: "of somebody else"}))
	if err := Register(r, fresh(t)); err == nil ||
		!strings.Contains(err.Error(), "netco_processors") {
		t.Errorf("%v, want an error about netco_processors", err)
	}
}

// TestSeveralSchedulers does what the package's documentation says.
func TestSeveralSchedulers(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(NewProcessCollector())
	for name, processors := range map[string]int{"front": 1, "back": 2} {
		s := started(t, scheduler.Options{Processors: processors})
		prometheus.WrapRegistererWith(prometheus.Labels{"scheduler": name},
			r).MustRegister(NewCollector(s))
	}
	got := gather(t, r)
	if got.of("netco_processors{scheduler=front}") != 1 ||
		got.of("netco_processors{scheduler=back}") != 2 {
		t.Errorf("%v", got.values)
	}
	eventually(t, "turns of the back's second Processor", func() bool {
		return gather(t, r).sum("netco_turns_total", "scheduler=back", "processor=1") > 0
	})
	if _, ok := got.values["netco_sockets_open{}"]; !ok {
		t.Error("the process' metrics have another label")
	}
}
