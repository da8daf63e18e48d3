package context

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

func onLockedThread(t testing.TB, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		f()
	}()
	<-done
}

func waitGoroutines(t *testing.T, want int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if runtime.NumGoroutine() <= want {
			return
		}
	}
	t.Fatalf("%d goroutines left, want %d", runtime.NumGoroutine(), want)
}

// TestRandomTransfers walks at random among the loop and many contexts, ends them in random order, and checks that each
// runs when it is switched to and that no goroutine is left.
func TestRandomTransfers(t *testing.T) {
	if !Symmetric() {
		t.Skip("the portable backend has no Transfer; NETCO_CONTEXT=asm has")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	before := runtime.NumGoroutine()
	onLockedThread(t, func() {
		const n = 50
		var (
			loop    Context
			c       [n]Context
			expect  int // who should be running: index, or -1 for the loop
			ended   int
			alive   []int
			steps   = Rounds(200_000)
			ending  bool
			willEnd [n]bool
		)
		check := func(i int) {
			if expect != i {
				t.Fatalf("seed %d: %d runs, %d should", seed, i, expect)
			}
		}
		for i := range c {
			alive = append(alive, i)
			c[i].Init(func(*Context) {
				check(i)
				for !willEnd[i] {
					steps--
					if j := alive[rnd.IntN(len(alive))]; j != i && steps > 0 && rnd.IntN(8) > 0 && !ending {
						expect = j
						c[i].Transfer(&c[j], &c[j])
					} else {
						expect = -1
						c[i].Suspend(&loop)
					}
					check(i)
				}
				ended++
				expect = -1
				c[i].Exit(&loop)
			})
		}
		for steps > 0 {
			i := alive[rnd.IntN(len(alive))]
			expect = i
			loop.Resume(&c[i])
			check(-1)
		}
		ending = true
		rnd.Shuffle(n, func(i, j int) { alive[i], alive[j] = alive[j], alive[i] })
		for _, i := range alive {
			willEnd[i] = true
			expect = i
			loop.Resume(&c[i])
			check(-1)
		}
		if ended != n {
			t.Errorf("seed %d: %d ended, want %d", seed, ended, n)
		}
	})
	waitGoroutines(t, before)
}

// TestGoexitEndsOnlyTheContext guards the loop against iter.Pull's habit of repeating a Goexit in the resumer.
func TestGoexitEndsOnlyTheContext(t *testing.T) {
	before := runtime.NumGoroutine()
	survived := false
	onLockedThread(t, func() {
		var loop, other, c Context
		other.Init(func(*Context) { other.Suspend(&loop); other.Exit(&loop) })
		c.Init(func(*Context) {
			defer c.Exit(&loop)
			c.Suspend(&loop)
			runtime.Goexit()
		})
		loop.Resume(&other)
		loop.Resume(&c)
		loop.Resume(&c)
		loop.Resume(&other)
		survived = true
	})
	if !survived {
		t.Fatal("the loop ended with its context")
	}
	waitGoroutines(t, before)
}

func TestSelectBackend(t *testing.T) {
	was := symmetric
	defer func() { symmetric = was }()
	r, w, err := pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	symmetric = false
	if got := selectBackend("portable", w, tryAsm); symmetric || got != "NETCO_CONTEXT=portable" {
		t.Errorf("portable: symmetric %v, reason %q", symmetric, got)
	}
	selectBackend("turbo", w, tryAsm)
	w.Close()
	text := make([]byte, 200)
	n, _ := r.Read(text)
	if want := "netco: NETCO_CONTEXT=\"turbo\" is neither \"asm\" nor \"portable\"; using the default\n"; string(text[:n]) != want {
		t.Errorf("stderr %q, want %q", text[:n], want)
	}
}

func BenchmarkResumeSuspend(b *testing.B) {
	onLockedThread(b, func() {
		var loop, c Context
		stop := false
		c.Init(func(*Context) {
			for !stop {
				c.Suspend(&loop)
			}
			c.Exit(&loop)
		})
		for b.Loop() {
			loop.Resume(&c)
		}
		stop = true
		loop.Resume(&c)
	})
}

// BenchmarkLoopSwitch is BenchmarkResumeSuspend without a call between the switch and its user on either side.
func BenchmarkLoopSwitch(b *testing.B) {
	if !Symmetric() {
		b.Skip("the portable backend has no Transfer; NETCO_CONTEXT=asm has")
	}
	onLockedThread(b, func() {
		var loop, c Context
		stop := false
		c.Init(func(*Context) {
			for !stop {
				c.Switch(&loop, &loop)
			}
			c.Exit(&loop)
		})
		for b.Loop() {
			loop.Switch(&c, &c)
		}
		stop = true
		loop.Resume(&c)
	})
}

func BenchmarkTransfer(b *testing.B) {
	if !Symmetric() {
		b.Skip("the portable backend has no Transfer; NETCO_CONTEXT=asm has")
	}
	onLockedThread(b, func() {
		var loop Context
		var c [2]Context
		n, stop := 0, false
		for i := range c {
			c[i].Init(func(*Context) {
				for !stop {
					if n++; n < b.N {
						c[i].Switch(&c[1-i], &c[1-i])
					} else {
						c[i].Suspend(&loop)
					}
				}
				c[i].Exit(&loop)
			})
		}
		b.ResetTimer()
		loop.Resume(&c[0])
		b.StopTimer()
		stop = true
		loop.Resume(&c[0])
		loop.Resume(&c[1])
	})
}
