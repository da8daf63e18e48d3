package profile_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/profile"
)

var labelLine = regexp.MustCompile(`(?m)^([0-9]+) @.*\n(?:# labels: (\{.*\})\n)?`)

// labels returns the labels of all goroutines that have any, each as often as
// it is there.
func labels(t *testing.T) (all []string) {
	var b bytes.Buffer
	testenv.OK(t, pprof.Lookup("goroutine").WriteTo(&b, 1))
	for _, m := range labelLine.FindAllStringSubmatch(b.String(), -1) {
		var n int
		fmt.Sscan(m[1], &n)
		for range n {
			if m[2] != "" {
				all = append(all, m[2])
			}
		}
	}
	slices.Sort(all)
	return all
}

// crowd starts ten coroutines with labels of all kinds and of none, which then
// wait.
func crowd(wait func()) {
	for i := range 2 {
		netco.GoWith(netco.Spawn{Name: "a", Fn: wait})
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(i), Fn: wait})
		netco.GoWith(netco.Spawn{Name: "b", Fn: func() {
			pprof.Do(profile.Context(context.Background()), pprof.Labels("user", "x"),
				func(context.Context) {
					netco.Sleep(time.Microsecond)
					netco.Yield()
					wait()
				})
		}})
		netco.GoWith(netco.Spawn{Name: "c", Fn: func() {
			pprof.Do(profile.Context(context.Background()), pprof.Labels("user", "y"),
				func(context.Context) { netco.Yield() })
			wait()
		}})
		netco.Go(func() {
			pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(),
				pprof.Labels("left", "over")))
			wait()
		})
	}
}

// TestLabels: each named coroutine has its label and no other, on whatever
// goroutine it runs and through its waits; labels of the user's survive, with
// it; the goroutines are without any when it has ended.
func TestLabels(t *testing.T) {
	start(t, 2)
	end := channel.Make[int](0)
	var parked atomic.Int32
	wait := func() { parked.Add(1); end.Recv(); parked.Add(-1) }
	leave := func() {
		for range 10 {
			end.Send(1)
		}
		netco.Run(func() {})
	}
	const user, over = `{"coroutine":"b", "user":"x"}`, `{"left":"over"}`
	want := []string{`{"coroutine":"a"}`, `{"coroutine":"a"}`, user, user, `{"coroutine":"c"}`,
		`{"coroutine":"c"}`, over, over}
	slices.Sort(want)

	stop, again := profile.Labels(), profile.Labels()
	for round := range 3 {
		crowd(wait)
		testenv.Until(t, "all to park", func() bool { return parked.Load() == 10 })
		if got := labels(t); !slices.Equal(got, want) {
			t.Errorf("round %d: %s, want %s", round, got, want)
		}
		if round == 0 {
			again() // only that call's
			again()
		}
		if round == 2 {
			stop() // those that have begun still clear theirs
		}
		leave()
		if got := labels(t); len(got) != 0 {
			t.Errorf("round %d, afterwards: %s", round, got)
		}
	}
	netco.GoWith(netco.Spawn{Name: "a", Fn: wait})
	testenv.Until(t, "it to park", func() bool { return parked.Load() == 1 })
	if got := labels(t); len(got) != 0 {
		t.Errorf("after stop: %s", got)
	}
	end.Send(1)
}

// TestLabelsOfMany: more names than are kept are no trouble.
func TestLabelsOfMany(t *testing.T) {
	start(t, 2)
	defer profile.Labels()()
	end := channel.Make[int](0)
	const n = 1000
	var parked atomic.Int32
	for i := range n {
		netco.GoWith(netco.Spawn{Name: fmt.Sprint("n", i), Fn: func() {
			parked.Add(1)
			end.Recv()
		}})
	}
	for parked.Load() != n {
		time.Sleep(time.Millisecond)
	}
	got := labels(t)
	end.Close()
	if slices.Sort(got); len(slices.Compact(got)) != n {
		t.Errorf("%d different labels", len(got))
	}
}

// TestLabelsOfOthers: a panic and a Goexit leave no label; a coroutine driven
// by hand has its driver's; a goroutine has what it had.
func TestLabelsOfOthers(t *testing.T) {
	testenv.OK(t, netco.Start(netco.Options{Processors: 1, OnPanic: func(netco.PanicInfo) {}}))
	defer netco.Shutdown(context.Background())
	defer profile.Labels()()
	if ctx := context.Background(); profile.Context(ctx) != ctx {
		t.Error("Context of a goroutine")
	}
	byHand := coroutine.New(func(y *coroutine.Yielder[int, int], in int) int { return in })
	byHand.Resume(1)
	h, _ := netco.GoWith(netco.Spawn{Name: "panics", Fn: func() { panic("so") }})
	h.Join()
	var inside []string
	h, _ = netco.GoWith(netco.Spawn{Name: "drives", Fn: func() {
		f := coroutine.New(func(y *coroutine.Yielder[int, int], in int) int {
			inside = labels(t)
			return in
		})
		f.Resume(1)
	}})
	h.Join()
	testenv.Equal(t, strings.Join(inside, " "), `{"coroutine":"drives"} {"coroutine":"drives"}`)
	if got := labels(t); len(got) != 0 {
		t.Error(got)
	}
}

func TestMain(m *testing.M) { testenv.Main(m) }

// start starts the default Scheduler, which the test's end shuts down.
func start(t testing.TB, processors int) {
	t.Helper()
	testenv.OK(t, netco.Start(netco.Options{Processors: processors}))
	t.Cleanup(func() { netco.Shutdown(context.Background()) })
}
