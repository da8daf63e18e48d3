package coroutine

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestBlockedRun: for a coroutine that is blocked outside netco blockedRun
// returns the same twice if it has not given up the thread in between, however
// often it has woken.
func TestBlockedRun(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	if err := CanLeave(); err != nil {
		t.Skip(err)
	}
	th := newRoamer(Config{Idle: 1}) // the second coroutine runs on the first one's worker
	defer th.stop()
	var waits [5]chan bool
	for i := range waits {
		waits[i] = make(chan bool)
	}
	th.spawn(func() {
		<-waits[0]
		<-waits[1]
		th.ex.runq.push(Current()) // or Yield does not give up the thread
		Current().w.Own().suspend()
		<-waits[2]
		Yield()
		<-waits[3]
		th.spawn(func() { <-waits[4] })
	})
	var seen []blockedRun
	for i, c := range waits {
		var left blockedRun
		for left == (blockedRun{}) || i > 0 && len(waits[i-1]) > 0 {
			runtime.Gosched()
			left, _ = th.ex.blockedRun()
		}
		seen = append(seen, left)
		c <- true
	}
	var same []bool
	for i := range seen[1:] {
		same = append(same, seen[i] == seen[i+1])
	}
	want := []bool{true, false, true, false}
	testenv.True(t, slices.Equal(same, want), "same as the wait before: %v, want %v", same, want)
	testenv.True(t, !seen[0].leave(func() {}, nil), "a run that is over was left behind")
}

// TestBlockedDrop: a thread goes on without a coroutine whose Drop blocks, also
// if that was stopped before it started.
func TestBlockedDrop(t *testing.T) {
	const parent, child = 1, 2
	c := make(chan int)
	l := NewLocal(LocalOptions[int]{
		Inherit: func(*int) int { return child },
		Drop: func(v *int) {
			if *v == child {
				<-c
			}
		},
	})
	for _, stop := range []bool{false, true} {
		t.Run(fmt.Sprintf("stopped %t", stop), func(t *testing.T) {
			th := newGuarded(t)
			defer th.stop()
			var h Handle
			th.spawn(func() {
				l.Set(parent)
				if h = th.ex.Spawn(Spawn{Fn: func() {}}).Handle(); stop {
					h.Stop()
				}
			}).Join()
			testenv.Until(t, "the thread to go on", func() bool {
				th.ex.Rescue(func() {})
				return th.ex.Stats.Handoffs.Load() != 0
			})
			c <- 1
			testenv.NoError(t, h.Join())
		})
	}
}
