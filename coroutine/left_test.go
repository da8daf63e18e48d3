package coroutine

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

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
	if want := []bool{true, false, true, false}; !slices.Equal(same, want) {
		t.Errorf("same as the wait before: %v, want %v", same, want)
	}
	if seen[0].leave(func() {}, nil) {
		t.Error("a run that is over was left behind")
	}
}

// TestBlockedAt: the user's call among those that a coroutine was blocked in.
func TestBlockedAt(t *testing.T) {
	const own = "github.com/netco-go/netco/"
	for _, c := range []struct {
		name  string
		calls []string
		want  int // index; -1: none
	}{
		{"program", []string{"runtime.gopark", "time.Sleep", "main.f", "main.g"}, 2},
		{"library", []string{"runtime.gopark", "database/sql.(*DB).conn", "example.com/db.(*T).Get",
			"main.f"}, 2},
		{"generic", []string{"runtime.gopark", "example.com/db.(*T[...]).Get", "main.f"}, 1},
		{"type argument with a path",
			[]string{"runtime.gopark", "slices.SortFunc[go.shape.[]example.com/a.T]", "main.f"}, 2},
		{"vendored by Go", []string{"syscall.Syscall", "vendor/golang.org/x/net/http2.f",
			"net/http.(*T).Do", "main.f"}, 3},
		{"golang.org/x/sys", []string{"syscall.Syscall", "golang.org/x/sys/unix.Read",
			"example.com/a.f"}, 2},
		{"C", []string{"runtime.cgocall", "main._Cfunc_block", "main.f"}, 2},
		{"called by netco", []string{"runtime.gopark", "main.f", own + "sync.(*Mutex).With",
			"main.g"}, 1},
		{"in netco, called by the program",
			[]string{"syscall.Syscall", own + "socket.(*Conn).Close", "main.f"}, 2},
		{"all netco's", []string{"syscall.Syscall", own + "logging.write",
			own + "socket.(*Server).serve"}, 1},
		{"all Go's", []string{"runtime.gopark", "sync.(*WaitGroup).Wait"}, 1},
		{"none", nil, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var frames []runtime.Frame
			for i, name := range c.calls {
				frames = append(frames, runtime.Frame{Function: name, Line: i})
			}
			want := runtime.Frame{}
			if c.want >= 0 {
				want = frames[c.want]
			}
			if got := BlockedAt(frames); got != want {
				t.Errorf("%s in line %d, want %s", got.Function, got.Line, want.Function)
			}
		})
	}
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
			if err := h.Join(); err != nil {
				t.Error(err)
			}
		})
	}
}
