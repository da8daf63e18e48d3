package coroutine

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// node is heap data to which only a coroutine's stack points.
type node struct {
	next *node
	sum  uint64
	pad  [4]uint64
}

func chain(n int, seed uint64) *node {
	var head *node
	for i := range n {
		seed = seed*6364136223846793005 + 1442695040888963407
		head = &node{next: head, sum: seed + uint64(i)}
		head.pad = [4]uint64{seed, ^seed, seed << 1, uint64(i)}
	}
	return head
}

// intact reports whether a chain is what chain made.
func (n *node) intact(length int) bool {
	for ; n != nil; n = n.next {
		length--
		if n.pad[1] != ^n.pad[0] || n.pad[2] != n.pad[0]<<1 || n.sum != n.pad[0]+n.pad[3] ||
			n.pad[3] != uint64(length) {
			return false
		}
	}
	return length == 0
}

// deep recurses through depth frames of over a KiB each, holding a chain in
// each tenth, and switches at the bottom.
//
//go:noinline
func deep(t *testing.T, depth int, at func()) uint64 {
	var frame [128]uint64
	frame[depth&127] = uint64(depth)
	if depth == 0 {
		at()
		return frame[0]
	}
	var held *node
	if depth%10 == 0 {
		held = chain(4, uint64(depth))
	}
	r := deep(t, depth-1, at)
	testenv.True(t, frame[depth&127] == uint64(depth) && (depth%10 != 0 || held.intact(4)),
		"a deep stack's data is damaged")
	return r + frame[depth&127]
}

// disturb has the collector run without pause, memory given back to the system,
// and goroutine profiles and execution traces taken, each trace in the place of
// the one before, until end is called, which returns how many there were.
func disturb(t *testing.T, tracePath string) (end func() (profiles, traces int)) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	profiles, traces := 0, 0
	percent := debug.SetGCPercent(1)
	wg.Go(func() {
		for !stop.Load() {
			runtime.GC()
		}
	})
	wg.Go(func() {
		for i := 0; !stop.Load(); i++ {
			var out bytes.Buffer
			pprof.Lookup("goroutine").WriteTo(&out, i%3)
			testenv.True(t, (i%3 != 2 || strings.Contains(out.String(), "goroutine ")) &&
				out.Len() != 0, "no goroutine profile")
			profiles++
			if i%8 == 0 {
				debug.FreeOSMemory()
			}
		}
	})
	wg.Go(func() {
		for first := true; !stop.Load() || first; first = false {
			f, err := os.Create(tracePath)
			if err != nil {
				t.Error(err)
				return
			}
			if trace.Start(f) == nil {
				runtime.GC()
				trace.Stop()
				traces++
			}
			f.Close()
		}
	})
	return func() (int, int) {
		stop.Store(true)
		wg.Wait()
		debug.SetGCPercent(percent)
		return profiles, traces
	}
}

// TestTorture switches in every way there is, and stacks grow and shrink, while
// a CPU profile is taken and under all that disturb does. What only a
// coroutine's stack points to must stay whole, and the trace must parse.
func TestTorture(t *testing.T) {
	before := runtime.NumGoroutine()
	dir := t.TempDir()
	cpu := testenv.Closing(t, testenv.Must(os.Create(filepath.Join(dir, "cpu"))))
	profiling := pprof.StartCPUProfile(cpu) == nil // not when the tests are profiled themselves
	tracePath := filepath.Join(dir, "trace")
	end := disturb(t, tracePath)

	const threads, each = 2, 24
	rounds := testenv.Rounds(4000)
	var all []*thread
	for range threads {
		th := newThread(Config{Idle: 8})
		all = append(all, th)
		for i := range each {
			th.spawn(func() { tortured(t, th, i, rounds) })
		}
	}
	switches := uint64(0)
	for _, th := range all {
		th.stop()
		switches += th.ex.Stats.Resumes.Load()
	}
	profiles, traces := end()
	if profiling {
		pprof.StopCPUProfile()
		info, err := cpu.Stat()
		testenv.True(t, err == nil && info.Size() != 0, "the CPU profile is empty: %v", err)
	}
	t.Logf("%d switches, %d goroutine profiles, %d traces", switches, profiles, traces)
	testenv.Settle(t, before)
	parseTrace(t, tracePath)
}

// tortured is a coroutine that holds data on its stack and does everything in
// turn.
func tortured(t *testing.T, th *thread, i, rounds int) {
	co := Current()
	mine := chain(8, uint64(i))
	for r := range rounds {
		testenv.Equal(t, Current(), co, "a coroutine runs as another")
		switch {
		case r%8 < 4:
			Yield()
		case r%8 < 6:
			ticket, held := co.Ticket(), chain(3, uint64(r))
			th.ex.Spawn(Spawn{Fn: func() {
				testenv.True(t, held.intact(3), "what a closure holds is damaged")
				co.MakeReady(ticket, WakeReady)
			}})
			co.Park(ReasonUser)
			testenv.True(t, held.intact(3), "what a parked coroutine holds is damaged")
		case r%64 == 6:
			deep(t, 70+r%30, Yield)
		case r%64 == 14:
			// On a fresh stack, which grows while it runs.
			th.ex.Spawn(Spawn{Fn: func() {
				held := chain(3, uint64(r))
				deep(t, 80, Yield)
				testenv.True(t, held.intact(3), "what was held over a stack's growth is damaged")
				if r%128 == 14 {
					runtime.Goexit()
				}
			}})
		case r%64 == 22:
			ticket := co.Ticket()
			go co.MakeReady(ticket, WakeReady) // from another thread
			co.Park(ReasonUser)
		}
		if !mine.intact(8) {
			t.Error("what a coroutine holds is damaged")
			return
		}
		mine = chain(8, uint64(r))
	}
}

// parseTrace has Go's own program parse an execution trace.
func parseTrace(t *testing.T, path string) {
	head, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(head, []byte("go 1.")) {
		t.Fatalf("no trace: %.20q %v", head, err)
	}
	if !testenv.Full() {
		return // it is built first
	}
	trace := testenv.ParsedTrace(t, path)
	testenv.True(t, strings.Contains(trace, "StateTransition"), "the trace has no transitions")
}

// TestStacksGrow recurses to several MiB inside coroutines, some at once,
// switching at every level of some.
func TestStacksGrow(t *testing.T) {
	on(plain, func(ex *Executor) {
		var depth func(n int, every bool) int
		depth = func(n int, every bool) int {
			var frame [64]int
			frame[n&63] = n
			if every {
				Yield()
			}
			if n == 0 {
				Yield()
				return 0
			}
			return depth(n-1, every) + frame[n&63] - n + 1
		}
		var handles []Handle
		for i := range 4 {
			n := testenv.Rounds(6000) + 600*i
			handles = append(handles, ex.Spawn(Spawn{Fn: func() {
				testenv.Equal(t, depth(n, i%2 == 0), n, "depth")
			}}).Handle())
		}
		for _, h := range handles {
			h.Join()
		}
	})
}

// TestNestedSpawns starts a coroutine from a coroutine from a coroutine, far
// beyond the 128 levels at which libco crashes.
func TestNestedSpawns(t *testing.T) {
	on(plain, func(ex *Executor) {
		const levels = 2000
		reached := 0
		var level func(n int)
		level = func(n int) {
			if reached = max(reached, n); n == levels {
				return
			}
			testenv.NoError(t, ex.Spawn(Spawn{Fn: func() { level(n + 1) }}).Handle().Join())
		}
		level(0)
		testenv.Equal(t, reached, levels, "level N reached")
		made := ex.Stats.Made.Load()
		testenv.True(t, made >= levels, "%d goroutines for %d coroutines at once", made, levels)
	})
}
