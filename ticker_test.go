package netco_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// TestTickerTicks: n ticks take n intervals at least, and each says a later
// time than the one before.
func TestTickerTicks(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		const d = 200 * time.Microsecond
		began := time.Now()
		tk := netco.NewTicker(d)
		var last time.Time
		n := 0
		for at := range tk.C.All() {
			if n++; at.Sub(began) < time.Duration(n)*d || time.Since(began) < time.Duration(n)*d ||
				!at.After(last) {
				t.Fatalf("tick %d after %v, which says %v, and the one before %v", n,
					time.Since(began), at.Sub(began), last.Sub(began))
			}
			if last = at; n == 50 {
				break
			}
		}
		tk.Stop()
		if !quiet(tk.C) {
			t.Error("it ticks although it was stopped")
		}
		began = time.Now()
		tk.Reset(time.Millisecond)
		if at := comes(t, tk.C); at.Sub(began) < time.Millisecond {
			t.Errorf("after Reset it ticks after %v", at.Sub(began))
		}
	})
}

// TestTickerDrops: who comes late gets the tick that was due first, and then no
// more than what is due from now on.
func TestTickerDrops(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		const d = 2 * time.Millisecond
		tk := netco.NewTicker(d)
		made := time.Now()
		netco.Sleep(20 * d)
		late := time.Now()
		if at := comes(t, tk.C); at.Sub(made) > d {
			t.Errorf("the first tick says %v, the interval is %v", at.Sub(made), d)
		}
		n := 0
		for ; !quiet(tk.C); n++ {
		}
		if fresh := int(time.Since(late)/d) + 1; n > fresh {
			t.Errorf("%d ticks at once; %d are due since the receiver came", n, fresh)
		}
		// They keep their places: n intervals on, n ticks at most have come.
		for range 5 {
			comes(t, tk.C)
		}
		if passed := time.Since(late); passed < 4*d {
			t.Errorf("5 ticks in %v, the interval is %v", passed, d)
		}
		tk.Stop()
	})
}

// TestTickerForMany: receivers on both Processors, and a goroutine, share a
// Ticker's ticks: together they get no more than there are.
func TestTickerForMany(t *testing.T) {
	testrun.StartWith(t, netco.Options{Processors: 2})
	const d, each = 50 * time.Microsecond, 40
	began := time.Now()
	tk := netco.NewTicker(d)
	var all sync.WaitGroup
	var got atomic.Int32
	receive := func() {
		defer all.Done()
		for i := range each {
			if i%2 == 0 {
				tk.C.Recv()
			} else if _, err := channel.Select(tk.C.RecvCase(nil),
				netco.After(time.Hour).RecvCase(nil)); err != nil {
				t.Error(err)
			}
			got.Add(1)
		}
	}
	all.Add(5)
	for i := range 4 {
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: receive})
	}
	go receive()
	all.Wait()
	if passed := time.Since(began); passed < 5*each*d {
		t.Errorf("%d ticks in %v", got.Load(), passed)
	}
}

// TestTickerReset from another thread makes who waits wait for the new
// interval, shorter or longer.
func TestTickerReset(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		tk := netco.NewTicker(time.Hour)
		var got atomic.Int32
		waiting := channel.Make[int](0)
		testenv.Must(netco.GoWith(netco.Spawn{On: netco.OnProcessor(1), Fn: func() {
			waiting.Close()
			for range tk.C.All() {
				if got.Add(1) == 3 {
					return
				}
			}
		}}))
		waiting.Recv()
		for _, d := range []time.Duration{2 * time.Hour, time.Microsecond, time.Hour,
			time.Microsecond, 3 * time.Millisecond} {
			tk.Reset(d)
			netco.Sleep(10 * time.Microsecond)
		}
		for end := time.Now().Add(testenv.Limit); got.Load() < 3; netco.Yield() {
			if time.Now().After(end) {
				t.Fatalf("%d ticks were received", got.Load())
			}
		}
	})
}
