package scheduler_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/sync"
)

// partner calls f again and again in a coroutine that is pinned to p, until end
// is called.
func partner(p *processor.Processor, f func()) (end func()) {
	var over atomic.Bool
	h := pinned(p, func() {
		for !over.Load() {
			f()
		}
	})
	return func() {
		over.Store(true)
		h.Join()
	}
}

// movesAt are operations, most of which wait, and whether the caller stays on
// its Processor.
var movesAt = []struct {
	name  string
	op    func(p *processor.Processor)
	stays bool
}{
	{"Yield", func(*processor.Processor) { netco.Yield() }, false},
	{"Sleep", func(*processor.Processor) { netco.Sleep(time.Microsecond) }, false},
	{"Join of a coroutine here", func(p *processor.Processor) {
		pinned(p, netco.Yield).Join()
	}, false},
	{"Join of a coroutine elsewhere", func(p *processor.Processor) {
		pinned(elsewhere(p), netco.Yield).Join()
	}, false},
	{"a channel", func(p *processor.Processor) {
		c := channel.Make[int](0)
		go func() { c.Send(1) }()
		c.Recv()
	}, false},
	{"Select", func(p *processor.Processor) {
		a, b := channel.Make[int](0), channel.Make[int](0)
		go func() { b.Send(1) }()
		var v int
		channel.Select(a.RecvCase(&v), b.RecvCase(&v))
	}, false},
	{"Mutex", func(p *processor.Processor) {
		var mu sync.Mutex
		mu.Lock()
		pinned(p, mu.Unlock)
		mu.Lock()
	}, false},
	{"RWMutex", func(p *processor.Processor) {
		var mu sync.RWMutex
		mu.Lock()
		pinned(p, mu.Unlock)
		mu.RLock()
	}, false},
	{"WaitGroup", func(p *processor.Processor) {
		var wg sync.WaitGroup
		wg.Add(1)
		pinned(p, wg.Done)
		wg.Wait()
	}, false},
	{"amid I/O", func(*processor.Processor) { processor.YieldTurn() }, false},
	{"in the middle of something", func(*processor.Processor) { coroutine.YieldTurn() }, true},
	{"pinned", func(*processor.Processor) {
		netco.GoWith(netco.Spawn{Local: true, Fn: func() {}})
		netco.Yield()
	}, true},
}

// TestReadyCoroutinesMove: a coroutine moves when it comes out of a wait, if
// its Processor gives all its work away, unless the coroutine must stay.
func TestReadyCoroutinesMove(t *testing.T) {
	needHandoff(t)
	for _, c := range movesAt {
		t.Run(c.name, func(t *testing.T) {
			procs := begin(t, netco.Options{Processors: 2, MinActive: 2})
			defer netco.Shutdown(context.Background())
			end := partner(procs[0], netco.Yield)
			moved := false
			testenv.Must(netco.Go(func() {
				settle(procs[0])
				procs[0].GiveAll(procs[1])
				for i := 0; i < 1000 && !moved; i++ {
					c.op(procs[0])
					moved = processor.Current() == procs[1]
				}
			})).Join()
			testenv.True(t, moved != c.stays, "it has moved: %v", moved)
			n := procs[1].Stats.Moved.Load()
			testenv.True(t, (n == 1) == moved, "%d moves were counted", n)
			end()
		})
	}
}

// TestMoveFromOwnedChannel: a coroutine moves after a wait for a channel that
// its Processor owns, and the channel works on.
func TestMoveFromOwnedChannel(t *testing.T) {
	needHandoff(t)
	for _, name := range []string{"Recv", "Send"} {
		t.Run(name, func(t *testing.T) {
			procs := begin(t, netco.Options{Processors: 2, MinActive: 2})
			defer netco.Shutdown(context.Background())
			c := channel.Make[int](0)
			next, other := func() { c.Recv() }, func() { c.Send(1) }
			if name == "Send" {
				next, other = other, next
			}
			const n = 1000 // after half of them the Processor owns the channel
			pinned(procs[0], func() {
				for range n {
					other()
				}
			})
			moved := false
			testenv.Must(netco.Go(func() {
				settle(procs[0])
				for i := range n {
					if i == n/2 {
						procs[0].GiveAll(procs[1])
					}
					next()
					moved = moved || processor.Current() == procs[1]
				}
			})).Join()
			testenv.True(t, moved, "it has not moved")
		})
	}
}

// TestFdFollowsAmidReads: a connection that always has data moves with its
// coroutine, although the coroutine never waits.
func TestFdFollowsAmidReads(t *testing.T) {
	needHandoff(t)
	// reads after which the fd must have followed; a Server's take a turn each
	enough := map[string]int{"coroutine": 1000, "Server": 20}
	for _, kind := range []string{"coroutine", "Server"} {
		t.Run(kind, func(t *testing.T) {
			begin(t, netco.Options{Processors: 2, MinActive: 2})
			defer netco.Shutdown(context.Background())
			l := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
			defer l.Close()
			client, err := net.Dial("tcp", l.Addr().String())
			testenv.OK(t, err)
			defer client.Close()
			waits, moved := make(chan *processor.Processor, 1), make(chan bool, 1)
			reads := 0
			read := func(c net.Conn) error {
				if reads++; reads == 1 {
					waits <- processor.Current()
				}
				_, err := c.Read(make([]byte, 1))
				if reads == 1 {
					processor.Current().GiveAll(elsewhere(processor.Current()))
					return err
				}
				if kind == "Server" {
					compute(600 * time.Microsecond) // longer than a turn should last
				}
				if reads == enough[kind] {
					moved <- elsewhere(processor.Current()).Stats.Moved.Load() == 0 &&
						processor.Current().Registered() == 1
					return io.EOF
				}
				return err
			}
			go serveBy(kind, l, read)
			// A Processor watches the connection once its coroutine has waited;
			// a Server's connection from the beginning.
			if kind == "coroutine" {
				from := <-waits
				testenv.Until(t, "it waits", from.Idle)
			}
			client.Write(make([]byte, 1000))
			testenv.True(t, <-moved, "the fd has not followed")
		})
	}
}

// pinned starts fn in a coroutine that stays on p.
func pinned(p *processor.Processor, fn func()) coroutine.Handle {
	return testenv.Must(netco.GoWith(netco.Spawn{On: netco.OnProcessor(p.Index()), Fn: fn}))
}

// settle moves the caller to a Processor. It may have been stolen from there
// before it began.
func settle(at *processor.Processor) {
	if processor.Current() != at {
		coroutine.Current().MoveTo(at.Executor())
	}
}

// elsewhere returns another Processor than p.
func elsewhere(p *processor.Processor) *processor.Processor {
	for _, q := range p.Group().Members() {
		if q != p {
			return q
		}
	}
	return nil
}
