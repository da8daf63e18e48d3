package metrics

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// started returns a running Scheduler that the test's end ends.
func started(t testing.TB, o scheduler.Options) *scheduler.Scheduler {
	t.Helper()
	s := testenv.Must(scheduler.New(o))
	testenv.OK(t, s.Start())
	t.Cleanup(func() { end(t, s) })
	return s
}

// running returns a running Scheduler and a registry that has it.
func running(t testing.TB, o scheduler.Options) (*scheduler.Scheduler, *prometheus.Registry) {
	t.Helper()
	s := started(t, o)
	return s, registered(t, s)
}

func end(t testing.TB, s *scheduler.Scheduler) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Limit)
	defer cancel()
	testenv.NoError(t, s.Shutdown(ctx))
}

// registered returns a registry that has s and the process.
func registered(t testing.TB, s *scheduler.Scheduler) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	testenv.OK(t, Register(r, s))
	return r
}

// scrape is what a registry gave: values by series, as text would name them.
type scrape struct {
	values   map[string]float64
	counters map[string]bool // those that must not go down
}

func gather(t testing.TB, g prometheus.Gatherer) scrape {
	t.Helper()
	families := testenv.Must(g.Gather())
	s := scrape{map[string]float64{}, map[string]bool{}}
	for _, f := range families {
		for _, m := range f.Metric {
			s.add(f.GetName(), m)
		}
	}
	return s
}

func (s scrape) add(name string, m *dto.Metric) {
	labels := labelsOf(m)
	key := func(suffix string, more ...string) string {
		return fmt.Sprintf("%s%s{%s}", name, suffix,
			strings.Join(append(labels[:len(labels):len(labels)], more...), ","))
	}
	up := func(k string, v float64) { s.values[k], s.counters[k] = v, true }
	switch {
	case m.Gauge != nil:
		s.values[key("")] = m.Gauge.GetValue()
	case m.Counter != nil:
		up(key(""), m.Counter.GetValue())
	case m.Histogram != nil:
		h := m.Histogram
		up(key("_sum"), h.GetSampleSum())
		up(key("_count"), float64(h.GetSampleCount()))
		up(key("_zero"), float64(h.GetZeroCount()))
		for _, b := range h.Bucket {
			up(key("_bucket", fmt.Sprintf("le=%g", b.GetUpperBound())),
				float64(b.GetCumulativeCount()))
		}
		for i, n := range native(h) {
			up(key("_native", fmt.Sprintf("i=%d", i)), float64(n))
		}
	}
}

func labelsOf(m *dto.Metric) (labels []string) {
	for _, l := range m.Label {
		labels = append(labels, l.GetName()+"="+l.GetValue())
	}
	return labels
}

// native decodes spans and deltas: how many observations are in which bucket.
func native(h *dto.Histogram) map[int]int64 {
	buckets := map[int]int64{}
	i, n, delta := 0, int64(0), 0
	for _, span := range h.PositiveSpan {
		i += int(span.GetOffset())
		for range span.GetLength() {
			n += h.PositiveDelta[delta]
			buckets[i] = n
			i, delta = i+1, delta+1
		}
	}
	return buckets
}

// of returns a value; NaN if there is none.
func (s scrape) of(key string) float64 {
	if v, ok := s.values[key]; ok {
		return v
	}
	return math.NaN()
}

// are checks the values of series.
func (s scrape) are(t testing.TB, want map[string]float64) {
	t.Helper()
	for key, v := range want {
		testenv.Equal(t, s.of(key), v, key)
	}
}

// sum adds up the series of a name whose keys contain all of these.
func (s scrape) sum(name string, contain ...string) float64 {
	total := 0.0
	for key, v := range s.values {
		ok := strings.HasPrefix(key, name+"{")
		for _, c := range contain {
			ok = ok && strings.Contains(key, c)
		}
		if ok {
			total += v
		}
	}
	return total
}

// eventuallyAre waits for a scrape in which every one of these has its value.
func eventuallyAre(t testing.TB, g prometheus.Gatherer, want map[string]float64) {
	t.Helper()
	var wrong string
	defer func() {
		if t.Failed() {
			t.Log(wrong)
		}
	}()
	eventually(t, "the values", func() bool {
		got := gather(t, g)
		for key, v := range want {
			if got.of(key) != v {
				wrong = fmt.Sprintf("%s is %v, want %v", key, got.of(key), v)
				return false
			}
		}
		return true
	})
}

// eventuallyParked waits until n coroutines, which are all there are on
// Processor 0, have run and wait. States alone do not show it: those that have
// only just been adopted are not known to be ready before the turn goes on.
func eventuallyParked(t testing.TB, g prometheus.Gatherer, n float64) {
	t.Helper()
	eventually(t, "all to have begun", func() bool {
		return gather(t, g).of("netco_goroutines{processor=0}") == n
	})
	eventually(t, "all to wait", func() bool {
		return gather(t, g).of("netco_coroutines{processor=0,state=waiting}") == n
	})
}

// eventually waits for what a turn's end or another thread will make true. A
// scrape is too costly for testenv.Until to try it again at once.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	pause := time.Millisecond
	testenv.Until(t, what, func() bool {
		if ok() {
			return true
		}
		time.Sleep(pause)
		pause = min(2*pause, 50*time.Millisecond)
		return false
	})
}

func fresh(t *testing.T) *scheduler.Scheduler {
	t.Helper()
	return testenv.Must(scheduler.New(scheduler.Options{Processors: 1}))
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
// the Scheduler's is not either, and the other way round.
func TestRegisterAllOrNothing(t *testing.T) {
	for _, name := range []string{"netco_sockets_open", "netco_processors"} {
		r := prometheus.NewRegistry()
		r.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: "another's"}))
		if err := Register(r, fresh(t)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want an error about %s", err, name)
		}
		testenv.Equal(t, len(gather(t, r).values), 1, name, "series are left")
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
