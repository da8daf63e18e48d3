package scheduler_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/inside"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/socket"
	netcosync "github.com/netco-go/netco/sync"
)

// TestHandoffHammer: coroutines on two Processors block outside netco in all
// ways, use all of netco in between, and end in all ways, while garbage is
// collected, profiles are taken, their stacks are read and some are stopped. No
// wake, token or panic is lost, and the counts add up.
func TestHandoffHammer(t *testing.T) {
	needHandoff(t)
	const workers = 24
	w := newMill(t)
	end := time.Now().Add(time.Duration(20 * testenv.Scale() * float64(time.Second)))
	undisturbed := w.disturb()
	var all []coroutine.Handle
	for i := range workers {
		sp := scheduler.Spawn{Name: fmt.Sprint("worker ", i), On: scheduler.OnProcessor(i % 2)}
		sp.Fn = func() {
			w.work(rand.New(rand.NewPCG(w.seed, uint64(i))), func() bool {
				return time.Now().Before(end)
			})
		}
		h := testenv.Must(w.s.GoWith(sp))
		all = append(all, h)
	}
	for _, h := range all {
		testenv.Fails(t, h.Join(), nil, "Join")
	}
	undisturbed()
	w.check(workers)
}

// mill is the state that the hammer's workers share.
type mill struct {
	t    *testing.T
	s    *scheduler.Scheduler
	seed uint64
	addr string
	echo io.Closer

	pipe, pipeIn *os.File // read and written by workers that block

	tokens  *channel.Chan[*int] // each belongs to one worker at a time
	turns   atomic.Int64        // taken with a token
	mu      sync.Mutex
	held    int // under mu
	holds   atomic.Int64
	rw      netcosync.RWMutex
	written int // under rw
	writes  atomic.Int64
	ops     [12]atomic.Int64
	// The coroutines that the workers have started. A coroutine that is stopped
	// early does not begin.
	begun    atomic.Int64
	ended    atomic.Int64
	panicked atomic.Int64
	panics   atomic.Int64
	finished atomic.Int64
}

const tokens = 5

func newMill(t *testing.T) *mill {
	w := &mill{t: t, seed: rand.Uint64(), tokens: channel.Make[*int](tokens)}
	t.Logf("seed %d", w.seed)
	var err error
	if w.pipe, w.pipeIn, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.pipe.Close(); w.pipeIn.Close() })
	w.s = start(t, scheduler.Options{Processors: 2, PoolCap: 8, OnPanic: func(scheduler.PanicInfo) {
		time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
		w.panicked.Add(1)
	}})
	for range tokens {
		w.tokens.Send(new(int))
	}
	l, err := new(socket.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	testenv.OK(t, err)
	w.echo, w.addr = l, l.Addr().String()
	w.s.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.s.Go(func() { io.Copy(c, c); c.Close() })
		}
	})
	return w
}

// block blocks outside netco for up to 3 ms.
func (m *mill) block(rnd *rand.Rand) {
	d := time.Duration(rnd.IntN(3000)) * time.Microsecond
	switch rnd.IntN(3) {
	case 0:
		time.Sleep(d)
	case 1:
		c := make(chan int)
		time.AfterFunc(d, func() { close(c) })
		<-c
	case 2: // all readers of the pipe but the first wait for a semaphore
		time.AfterFunc(d, func() { m.pipeIn.Write([]byte{1}) })
		m.pipe.Read(make([]byte, 1))
	}
}

// oftenBlock blocks once in n calls, on average.
func (m *mill) oftenBlock(rnd *rand.Rand, n int) {
	if rnd.IntN(n) == 0 {
		m.block(rnd)
	}
}

// turn increments the number behind a token, and passes the token on.
func (m *mill) turn(rnd *rand.Rand, x *int) {
	*x++
	m.oftenBlock(rnd, 4)
	m.turns.Add(1)
	m.tokens.Send(x)
}

// hold increments held under the Mutex.
func (m *mill) hold(rnd *rand.Rand) {
	m.mu.Lock()
	m.held++
	m.oftenBlock(rnd, 4)
	if rnd.IntN(4) == 0 {
		coroutine.Yield()
	}
	m.mu.Unlock()
	m.holds.Add(1)
}

// write increments written under the RWMutex.
func (m *mill) write(rnd *rand.Rand) {
	m.rw.Lock()
	m.written++
	m.oftenBlock(rnd, 4)
	m.rw.Unlock()
	m.writes.Add(1)
}

// work does operations at random while goesOn returns true.
func (m *mill) work(rnd *rand.Rand, goesOn func() bool) {
	mine := rnd.Uint64()
	number.Set(mine)
	c, err := new(socket.Dialer).Dial("tcp", m.addr)
	if err != nil {
		m.t.Error(err)
		return
	}
	defer c.Close()
	for goesOn() {
		m.oftenBlock(rnd, 3)
		op := rnd.IntN(len(m.ops))
		m.ops[op].Add(1)
		switch op {
		case 0:
			coroutine.Yield()
		case 1:
			processor.Sleep(time.Duration(rnd.IntN(1000)) * time.Microsecond)
		case 2, 3:
			m.echoes(rnd, c)
		case 4:
			x, _ := m.tokens.Recv()
			m.turn(rnd, x)
		case 5:
			m.hold(rnd)
		case 6:
			m.write(rnd)
		case 7:
			m.rw.RLock()
			m.oftenBlock(rnd, 8)
			m.rw.RUnlock()
		case 8:
			m.fiber(rnd)
		case 9:
			m.child(rnd)
		case 10:
			m.victim(rnd)
		case 11:
			if x, err := m.tokens.RecvTimeout(time.Millisecond); err == nil {
				m.turn(rnd, x)
			}
			coroutine.Shield(func() { m.block(rnd); coroutine.Yield() })
		}
		testenv.Equal(m.t, *number.Get(), mine, "a coroutine has another's Local")
	}
	m.finished.Add(1)
}

// number is a Local whose Inherit and Drop block.
var number = coroutine.NewLocal(coroutine.LocalOptions[uint64]{
	Inherit: func(n *uint64) uint64 {
		time.Sleep(time.Duration(*n%4) * 500 * time.Microsecond)
		return *n
	},
	Drop: func(n *uint64) { time.Sleep(time.Duration(*n%4) * 500 * time.Microsecond) },
})

// echoes sends some bytes over c and reads them back.
func (m *mill) echoes(rnd *rand.Rand, c io.ReadWriter) {
	out, in := make([]byte, 1+rnd.IntN(5000)), make([]byte, 5000)
	for i := range out {
		out[i] = byte(rnd.Uint32())
	}
	if _, err := c.Write(out); err != nil {
		m.t.Error("Write:", err)
		return
	}
	if rnd.IntN(4) == 0 {
		m.block(rnd)
	}
	if _, err := io.ReadFull(c, in[:len(out)]); err != nil || string(in[:len(out)]) != string(out) {
		m.t.Error("another echo, or", err)
	}
}

// fiber drives a fiber that blocks, parks and yields; it ends, is cancelled, or
// is left to the collector.
func (m *mill) fiber(rnd *rand.Rand) {
	f := coroutine.New(func(y *coroutine.Yielder[int, int], in int) int {
		for in < 4 {
			switch rnd.IntN(3) {
			case 0:
				m.block(rnd)
			case 1:
				processor.Sleep(time.Duration(rnd.IntN(500)) * time.Microsecond)
			}
			in, _ = y.Yield(in + 1)
		}
		return in + 1
	})
	for in, most := 0, rnd.IntN(8); in < most && f.Status() != coroutine.StatusDead; in++ {
		testenv.Gives(m.t, in+1, nil, "a fiber's Resume")(f.Resume(in))
	}
	if rnd.IntN(2) == 0 {
		testenv.Fails(m.t, f.Cancel(), nil, "Cancel")
	}
}

// start starts fn on either Processor, as a child or not.
func (m *mill) start(rnd *rand.Rand, fn func()) (h coroutine.Handle) {
	sp := scheduler.Spawn{Child: rnd.IntN(2) == 0, Fn: func() {
		m.begun.Add(1)
		defer m.ended.Add(1)
		fn()
	}}
	switch rnd.IntN(3) {
	case 0:
		sp.Local = true
	case 1:
		sp.On = scheduler.OnProcessor(rnd.IntN(2))
	}
	h, err := m.s.GoWith(sp)
	testenv.Fails(m.t, err, nil, "Go")
	return h
}

// child starts a coroutine that blocks and ends in one way or another, and
// joins it, or leaves it alone.
func (m *mill) child(rnd *rand.Rand) {
	seed, how := rnd.Uint64(), rnd.IntN(4)
	if how == 1 {
		m.panics.Add(1)
	}
	h := m.start(rnd, func() {
		rnd := rand.New(rand.NewPCG(seed, 1))
		if rnd.IntN(2) == 0 {
			coroutine.Yield()
		}
		m.block(rnd)
		switch how {
		case 1:
			panic("child")
		case 2:
			runtime.Goexit()
		case 3:
			coroutine.Yield()
		}
	})
	if rnd.IntN(4) > 0 || how == 1 {
		testenv.Fails(m.t, h.Join(), nil, "Join of a child")
	}
}

// victim starts a coroutine that never ends by itself, and stops it.
func (m *mill) victim(rnd *rand.Rand) {
	seed := rnd.Uint64()
	h := m.start(rnd, func() {
		for rnd := rand.New(rand.NewPCG(seed, 1)); ; {
			switch rnd.IntN(4) {
			case 0:
				processor.Sleep(time.Hour)
			case 1:
				coroutine.Shield(func() { m.block(rnd) })
			default:
				m.block(rnd)
			}
			coroutine.Yield()
		}
	})
	if rnd.IntN(2) == 0 {
		m.block(rnd)
	}
	h.Stop()
	testenv.Fails(m.t, h.Join(), nil, "Join of a stopped coroutine")
}

// disturb collects garbage, takes profiles and looks at stacks until the
// function that it returns is called.
func (m *mill) disturb() (end func()) {
	var stop atomic.Bool
	var g sync.WaitGroup
	again := func(f func()) {
		g.Go(func() {
			for !stop.Load() {
				f()
				time.Sleep(time.Millisecond)
			}
		})
	}
	again(runtime.GC)
	again(func() { pprof.Lookup("goroutine").WriteTo(io.Discard, 1) })
	again(func() {
		var all []coroutine.Info
		coroutine.Range(func(i coroutine.Info) bool { all = append(all, i); return true })
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		for _, i := range all {
			i.Stack(ctx) // fails if the coroutine has ended
		}
	})
	return func() { stop.Store(true); g.Wait() }
}

// check compares the counts when all workers have ended.
func (m *mill) check(workers int64) {
	t := m.t
	m.echo.Close()
	shutdown(t, m.s)
	sum := 0
	for range tokens {
		x, _, done := m.tokens.TryRecv()
		if !done {
			t.Fatal("a token is lost")
		}
		sum += *x
	}
	var live, spawned, ended, handoffs, standbys uint64
	for _, p := range engine.Of(m.s).Processors() {
		c := p.Coroutines()
		live, spawned, ended, handoffs = live+p.Live(), spawned+c.Spawned.Load(), ended+
			c.Ended.Load(), handoffs+c.Handoffs.Load()
		standbys += c.Standbys.Load()
	}
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"workers", m.finished.Load(), workers},
		{"turns of tokens", int64(sum), m.turns.Load()},
		{"what the Mutex guards", int64(m.held), m.holds.Load()},
		{"what the RWMutex guards", int64(m.written), m.writes.Load()},
		{"coroutines that have begun and ended", m.ended.Load(), m.begun.Load()},
		{"panics", m.panicked.Load(), m.panics.Load()},
		{"coroutines that live", int64(live), 0},
		{"ends", int64(ended), int64(spawned)},
	} {
		testenv.Equal(t, c.got, c.want, c.what)
	}
	testenv.True(t, handoffs != 0 && standbys != 0, "no handoffs, or no standbys")
	t.Logf("%d handoffs, %d standbys, %d coroutines", handoffs, standbys, spawned)
}

// TestNoHandoffInside: a coroutine that waits for a lock of package inside, or
// under a Pin, is not left behind.
func TestNoHandoffInside(t *testing.T) {
	needHandoff(t)
	s := start(t, scheduler.Options{Processors: 1})
	var mu inside.Mutex
	var rw inside.RWMutex
	for _, c := range []struct {
		name string
		wait func()
	}{
		{"Mutex", func() { mu.Lock(); defer mu.Unlock() }},
		{"RWMutex for reading", func() { rw.RLock(); defer rw.RUnlock() }},
		{"RWMutex for writing", func() { rw.Lock(); defer rw.Unlock() }},
		{"Pin", func() {
			defer inside.Pin().Unpin()
			inside.Pin().Unpin() // does not end the outer Pin
			mu.Lock()
			defer mu.Unlock()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			mu.Lock()
			rw.Lock()
			var in atomic.Bool
			h, _ := s.Go(func() { in.Store(true); c.wait() })
			testenv.Until(t, "the coroutine", in.Load)
			time.Sleep(50 * time.Millisecond) // many checks of the monitor
			testenv.Equal(t, handoffs(s), 0, "handoffs")
			rw.Unlock()
			mu.Unlock()
			h.Join()
		})
	}
	h, _ := s.Go(func() { inside.Pin().Unpin(); time.Sleep(50 * time.Millisecond) })
	testenv.Until(t, "a handoff after Unpin", func() bool { return h.Done() || handoffs(s) > 0 })
	h.Join()
	shutdown(t, s)
}
