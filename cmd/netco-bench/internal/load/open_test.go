package load

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func runOpen(t *testing.T, cfg Config) *Result {
	t.Helper()
	cfg.Verify = true
	l, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Intended != uint64(Intended(cfg.Rate, cfg.Duration)) || r.Latency.Count() != r.Intended ||
		r.Late.Count() != r.Intended {
		t.Errorf("%d requests intended, %d latencies, %d sent, want %d of each",
			r.Intended, r.Latency.Count(), r.Late.Count(), Intended(cfg.Rate, cfg.Duration))
	}
	if want := Intended(cfg.Rate, cfg.Warmup) +
		Intended(cfg.Rate, cfg.Duration); l.Completed() != uint64(want) {
		t.Errorf("%d requests answered in all, want %d", l.Completed(), want)
	}
	return r
}

// atLeast returns how many latencies are at least d, but for the histogram's
// one percent.
func atLeast(r *Result, d time.Duration) int {
	total := r.Latency.Count()
	for slow := total; slow > 0; slow-- {
		if r.Latency.Quantile(1-(float64(slow)-0.5)/float64(total)) >= int64(d)*99/100 {
			return int(slow)
		}
	}
	return 0
}

func TestOpenCounts(t *testing.T) {
	addr := listen(t, func(c net.Conn) {
		defer c.Close()
		_, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
	})
	for name, cfg := range map[string]Config{
		"uniform": {Conns: 5, Rate: 2000},
		"poisson": {Conns: 5, Rate: 2000, Poisson: true, Seed: 3},
		"threads": {Conns: 5, Rate: 2000, Threads: 2, Warmup: 50 * time.Millisecond},
		"seldom":  {Conns: 5, Rate: 10},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Addr, cfg.Size, cfg.Duration = addr, 100, 300*time.Millisecond
			runOpen(t, cfg)
		})
	}
}

// A server that pauses before it reads on delays each request that is intended
// meanwhile, by what is left of the pause.
func TestOpenShowsAPause(t *testing.T) {
	const (
		size  = 10
		pause = 100 * time.Millisecond
		after = 200 // requests
	)
	addr := listen(t, func(c net.Conn) {
		defer c.Close()
		if _, err := io.CopyN(c, c, after*size); err != nil {
			return
		}
		time.Sleep(pause)
		_, _ = io.Copy(c, c)
	})
	// A request each millisecond: the server pauses at or after the intended
	// time of request 200 and answers none of those behind it until the pause
	// is over.
	r := runOpen(t, Config{Addr: addr, Conns: 1, Size: size, Rate: 1000, Duration: time.Second})
	for _, c := range []struct {
		latency time.Duration
		want    int
	}{
		{99 * time.Millisecond, 1},
		{75 * time.Millisecond, 25},
		{50 * time.Millisecond, 50},
		{10 * time.Millisecond, 90},
	} {
		// Request 201+i is answered 100-1-i ms after its time, or later.
		if got := atLeast(r, c.latency); got < c.want {
			t.Errorf("%d requests took %v or more, want %d", got, c.latency, c.want)
		}
	}
}

// Requests that the socket has no space for are sent later and count from their
// intended times.
func TestOpenWithFullSocket(t *testing.T) {
	const (
		size  = 256 << 10
		pause = 300 * time.Millisecond
	)
	addr := listen(t, func(c net.Conn) {
		defer c.Close()
		_ = c.(*net.TCPConn).SetReadBuffer(64 << 10)
		if _, err := io.CopyN(c, c, 1); err != nil {
			return
		}
		time.Sleep(pause)
		_, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
	})
	// A request each 5 ms: during the pause 60 are intended, 15 MiB. The first
	// one takes 300 ms or more, the one behind it 295.
	r := runOpen(t, Config{Addr: addr, Conns: 1, Size: size, Rate: 200,
		Duration: 400 * time.Millisecond})
	if got := atLeast(r, 100*time.Millisecond); got < 40 {
		t.Errorf("%d requests took 100 ms or more, want 40", got)
	}
}

// Requests are sent while former ones are unanswered.
func TestOpenPipelines(t *testing.T) {
	const size, together = 10, 20
	addr := listen(t, func(c net.Conn) {
		defer c.Close()
		buf := make([]byte, size*together)
		for {
			if _, err := io.ReadFull(c, buf); err != nil {
				return
			}
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	})
	runOpen(t, Config{Addr: addr, Conns: 2, Size: size, Rate: 1000,
		Duration: 200 * time.Millisecond})
}

// A generator that is late sends what is overdue, and the time it lost counts.
func TestOpenLateGenerator(t *testing.T) {
	addr := listen(t, func(c net.Conn) { _, _ = io.Copy(c, c) })
	l, err := Dial(t.Context(), Config{Addr: addr, Conns: 3, Size: 10, Rate: 1000,
		Duration: 100 * time.Millisecond, Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w := l.workers[0]
	// 0.9 s after the last intended time.
	if err := w.run(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if w.latency.Count() != 100 || w.late.Count() != 100 {
		t.Errorf("%d latencies, %d sent, want 100", w.latency.Count(), w.late.Count())
	}
	const least = int64(890 * time.Millisecond) // 0.9 s but for the histogram's one percent
	if latency, late := w.latency.Quantile(0), w.late.Quantile(0); latency < least || late < least {
		t.Errorf("the least latency is %v, the least lateness %v, want 900ms",
			time.Duration(latency), time.Duration(late))
	}
}

func TestOpenStall(t *testing.T) {
	addr := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	l, err := Dial(t.Context(), Config{Addr: addr, Conns: 2, Size: 10, Rate: 100,
		Duration: time.Hour, Stall: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Run(t.Context()); !errors.Is(err, ErrStall) {
		t.Errorf("a server that never answers: %v", err)
	}
}

// A connection is stalled when nothing has come for long, not when its oldest
// request has waited for long behind others.
func TestStallIsSilence(t *testing.T) {
	const stall, now = 5 * time.Second, int64(time.Minute)
	ago := func(d time.Duration) int64 { return now - int64(d) }
	for name, c := range map[string]struct {
		conn  conn
		stall bool
	}{
		"idle":       {conn{stamps: []int64{0}}, false},
		"just asked": {conn{inFlight: 1, stamps: []int64{ago(time.Second)}}, false},
		"silent": {conn{inFlight: 1, stamps: []int64{ago(stall + 1)},
			heard: ago(stall + 2)}, true},
		"behind a backlog": {conn{inFlight: 1, stamps: []int64{ago(2 * stall)},
			heard: ago(time.Second)}, false},
	} {
		w := worker{load: &Load{cfg: Config{Stall: stall}}, conns: []conn{c.conn}}
		if err := w.scan(now); errors.Is(err, ErrStall) != c.stall {
			t.Errorf("%s: %v", name, err)
		}
	}
}
