package netco_test

import (
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
)

// BenchmarkTimers makes and stops what times a request out, in a coroutine,
// with so many other timers set, and the same with package time.
func BenchmarkTimers(b *testing.B) {
	f := func() {}
	start(b, netco.Options{Processors: 1})
	bench := func(name string, do func()) {
		b.Run(name, func(b *testing.B) {
			h, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
				b.ReportAllocs()
				for b.Loop() {
					do()
				}
			}})
			if err != nil {
				b.Fatal(err)
			}
			h.Join()
		})
	}
	never := channel.Make[int](0)
	moved, fn, theirs := netco.NewTimer(time.Hour), netco.AfterFunc(time.Hour, f),
		time.NewTimer(time.Hour)
	for _, standing := range []string{"alone", "among10000"} {
		var others []*netco.Timer
		if standing != "alone" {
			h, _ := netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
				for i := range 10_000 {
					others = append(others,
						netco.AfterFunc(time.Hour+time.Duration(i)*time.Millisecond, f))
				}
			}})
			h.Join()
		}
		bench("NewTimer+Stop/netco/"+standing, func() { netco.NewTimer(time.Second).Stop() })
		bench("NewTimer+Stop/time/"+standing, func() { time.NewTimer(time.Second).Stop() })
		bench("AfterFunc+Stop/netco/"+standing, func() { netco.AfterFunc(time.Second, f).Stop() })
		bench("AfterFunc+Stop/time/"+standing, func() { time.AfterFunc(time.Second, f).Stop() })
		for _, t := range others {
			t.Stop()
		}
	}
	bench("Timer.Reset/netco", func() { moved.Reset(time.Second) })
	bench("Timer.Reset/time", func() { theirs.Reset(time.Second) })
	bench("func Reset/netco", func() { fn.Reset(time.Second) })
	bench("After in Select/netco", func() {
		channel.Select(never.RecvCase(nil), netco.After(time.Hour).RecvCase(nil),
			channel.Default())
	})
	bench("Ticker/netco, always due", func() { always.C.Recv() })
	bench("Sleep/netco, 1ns", func() { netco.Sleep(1) })
	fn.Stop()
	theirs.Stop()
}

var always = netco.NewTicker(1)
