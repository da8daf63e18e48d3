package socket_test

import (
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// count counts the calls of one kind until the test ends.
func count(t *testing.T, of sysx.Op) *atomic.Int64 {
	var n atomic.Int64
	t.Cleanup(sysx.Inject(func(op sysx.Op, _, asked int) (int, syscall.Errno) {
		if op == of {
			n.Add(1)
		}
		return asked, 0
	}))
	return &n
}

// TestSlowReader: 8 MiB for a peer that takes a little at a time and makes
// pauses. All of it arrives, the writer is parked during the pauses and does
// not try over and over, and nobody buffers what it cannot send.
func TestSlowReader(t *testing.T) {
	const total, bite = 8 << 20, 64 << 10
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			c.SetWriteBuffer(256 << 10)
			peer.SetReadBuffer(256 << 10)
			msg := pattern(total)
			sends := count(t, sysx.Send)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			writer := p.Go(func() {
				if n, err := c.Write(msg); n != total || err != nil {
					t.Errorf("wrote %d, %v", n, err)
				}
			})
			writer.UntilParked(t, coroutine.ReasonWrite)
			runtime.ReadMemStats(&after)
			if grown := int64(after.TotalAlloc - before.TotalAlloc); p.Name != "goroutine" && grown > 1<<20 {
				t.Errorf("%d bytes allocated for a write of %d that is under way", grown, total)
			}
			got := make([]byte, bite)
			for at := 0; at < total; at += bite {
				// a pause: what was read makes the writer go on until it is
				// stuck again
				if at%(16*bite) == 0 && at < total/2 {
					writer.UntilParked(t, coroutine.ReasonWrite)
					tried := sends.Load()
					for range 100 {
						testrun.First.Do(t, netco.Yield)
					}
					// The kernel may still move something to the peer's side,
					// but not once for every turn.
					if again := sends.Load(); again > tried+50 {
						t.Errorf("%d tries to send in 100 turns while the peer read nothing", again-tried)
					}
				}
				testenv.Must(io.ReadFull(peer, got))
				if d := differs(got, at); d != "" {
					t.Fatal(d)
				}
			}
			writer.Wait(t)
			if n := sends.Load(); n > 2*total/4096 {
				t.Errorf("%d calls to send %d bytes", n, total)
			}
		})
	}
}

// TestPeerNeverReads: the write ends at its deadline and tells how much the
// kernel took, which is what the peer finds.
func TestPeerNeverReads(t *testing.T) {
	const total = 64 << 20
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			wrote := 0
			p.Do(t, func() {
				defer c.Close()
				msg := pattern(total)
				var err error
				// one that has passed before the write begins tells nothing
				for d := 20 * time.Millisecond; wrote == 0 && d < limit; d *= 4 {
					c.SetWriteDeadline(time.Now().Add(d))
					wrote, err = c.Write(msg)
					checkTimeout(t, "write", err)
				}
				if wrote <= 0 || wrote >= total {
					t.Errorf("wrote %d", wrote)
				}
			})
			got, err := io.ReadAll(peer)
			if d := differs(got, 0); err != nil || len(got) != wrote || d != "" {
				t.Errorf("the peer read %d, %v %s, Write returned %d", len(got), err, d, wrote)
			}
		})
	}
}

// TestNobodyStarves: beside a coroutine whose socket always has something to
// read, two others of the same Processor play ping pong through the kernel,
// over a Unix stream, where what is sent is there at once. Everything that
// happens is in one thread, so the count of round trips says how often the busy
// one let the others run and the Processor looked for events.
func TestNobodyStarves(t *testing.T) {
	for _, c := range []struct{ size, total, least int }{
		{1, 100 << 10, 200}, // many small reads
		{128 << 10, 256 << 20, 50},
	} {
		t.Run(fmt.Sprintf("reads of %d", c.size), func(t *testing.T) {
			start(t, 1)
			hose, source := withPeer(t)
			ping, pong := unixPair(t, "unix")
			testrun.First.Go(func() { echo(pong) })
			trips, stop := 0, false
			pinger := testrun.First.Go(func() {
				defer ping.Close()
				for b := make([]byte, 1); !stop; trips++ {
					ping.Write(b)
					if _, err := io.ReadFull(ping, b); err != nil {
						t.Error(err)
						return
					}
				}
			})
			pinger.UntilParked(t, coroutine.ReasonRead)
			feeder := testrun.Goroutine.Go(func() {
				for left, chunk := c.total, make([]byte, 256<<10); left > 0; {
					n, err := source.Write(chunk[:min(left, len(chunk))])
					if err != nil {
						return
					}
					left -= n
				}
			})
			testenv.Until(t, "a stock to read", func() bool { return queued(t, hose.FD()) >= min(c.total, 64<<10) })
			testrun.First.Do(t, func() {
				defer func() { stop = true }()
				began := trips
				for left, buf := c.total, make([]byte, c.size); left > 0; {
					n, err := hose.Read(buf)
					if err != nil {
						t.Error(err)
						return
					}
					left -= n
				}
				if n := trips - began; n < c.least {
					t.Errorf("%d round trips beside %d bytes in reads of %d, want at least %d", n, c.total, c.size, c.least)
				} else {
					t.Logf("%d round trips", n)
				}
			})
			feeder.Wait(t)
			pinger.Wait(t)
		})
	}
}

// TestWriterLetsOthersRun: the same beside a coroutine that always can write.
func TestWriterLetsOthersRun(t *testing.T) {
	const size, writes, least = 16, 50_000, 100
	start(t, 1)
	hose, sink := withPeer(t)
	hose.SetWriteBuffer(4 << 20)
	drain := testrun.Goroutine.Go(func() { io.Copy(io.Discard, sink) })
	ping, pong := unixPair(t, "unix")
	testrun.First.Go(func() { echo(pong) })
	trips, stop := 0, false
	pinger := testrun.First.Go(func() {
		defer ping.Close()
		for b := make([]byte, 1); !stop; trips++ {
			ping.Write(b)
			if _, err := io.ReadFull(ping, b); err != nil {
				t.Error(err)
				return
			}
		}
	})
	pinger.UntilParked(t, coroutine.ReasonRead)
	testrun.First.Do(t, func() {
		defer func() { stop = true }()
		msg := make([]byte, size)
		for range writes {
			if _, err := hose.Write(msg); err != nil {
				t.Error(err)
				return
			}
		}
		if trips < least {
			t.Errorf("%d round trips beside %d writes, want at least %d", trips, writes, least)
		}
	})
	pinger.Wait(t)
	hose.Close()
	drain.Wait(t)
}
