package coroutine

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// TestBlockedRun: two looks at a coroutine that is blocked outside netco find the
// same if it has not given up the thread in between, however often it has woken.
func TestBlockedRun(t *testing.T) {
	if err := CanLeave(); err != nil {
		t.Skip(err)
	}
	within(t, time.Minute)
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
	var seen []Left
	for i, c := range waits {
		var left Left
		for left == (Left{}) || i > 0 && len(waits[i-1]) > 0 {
			runtime.Gosched()
			left = th.ex.Blocked()
		}
		seen = append(seen, left)
		c <- true
	}
	var same []bool
	for i := range seen[1:] {
		same = append(same, seen[i] == seen[i+1])
	}
	if want := []bool{true, false, true, false}; !slices.Equal(same, want) {
		t.Errorf("same as the wait before: %v, want %v", same, want)
	}
	if seen[0].Leave(func() {}, nil) {
		t.Error("a run that is over was left behind")
	}
}
