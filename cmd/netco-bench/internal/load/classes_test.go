package load

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/work"
)

// TestClasses: a server that takes longer for one class shows in that class's
// latencies, all of them, and every request is in one class.
func TestClasses(t *testing.T) {
	const size, pause = 10, 20 * time.Millisecond
	mix, err := work.Parse("1us,2us:0.2")
	if err != nil {
		t.Fatal(err)
	}
	plan := work.NewPlan(mix, 1, Stream())
	addr := listen(t, func(c net.Conn) {
		defer c.Close()
		b := make([]byte, size)
		for {
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			if plan.Class(b) == 1 {
				time.Sleep(pause)
			}
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	})
	cfg := Config{Addr: addr, Conns: 4, Size: size, Rate: 100, Warmup: 100 * time.Millisecond,
		Duration: time.Second, Plan: plan}
	for _, cfg.Rate = range []int{100, 0} {
		cfg.Pipeline = 1
		r := runClasses(t, cfg)
		if n := r.Classes[0].Count() + r.Classes[1].Count(); n != r.Latency.Count() {
			t.Errorf("%d requests in the classes, %d in all", n, r.Latency.Count())
		}
		if r.Classes[1].Count() == 0 || r.Classes[0].Count() == 0 {
			t.Fatalf("classes of %d and %d requests", r.Classes[0].Count(), r.Classes[1].Count())
		}
		const least = int64(pause) * 98 / 100 // but for the histogram's one percent
		if got := r.Classes[1].Quantile(0); got < least {
			t.Errorf("a request of the slow class took %v", time.Duration(got))
		}
	}
}

func runClasses(t *testing.T, cfg Config) *Result {
	t.Helper()
	l, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}
