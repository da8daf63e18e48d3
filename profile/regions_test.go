package profile_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/profile"
)

var regionLine = regexp.MustCompile(`Region(Begin|End) .* Type="([^"\n]*)"`)

// traced returns what f is seen to do in a trace: how many regions of each type
// began, and how many ended.
func traced(t *testing.T, f func()) (begun, ended map[string]int) {
	t.Helper()
	testenv.Long(t) // the program that reads traces is built first
	file := testenv.Must(os.Create(filepath.Join(t.TempDir(), "trace")))
	defer file.Close()
	testenv.OK(t, trace.Start(file))
	f()
	trace.Stop()
	begun, ended = map[string]int{}, map[string]int{}
	for _, m := range regionLine.FindAllStringSubmatch(testenv.ParsedTrace(t, file.Name()), -1) {
		if m[1] == "Begin" {
			begun[m[2]]++
		} else {
			ended[m[2]]++
		}
	}
	return begun, ended
}

// resumes is how often coroutines have been resumed.
func resumes() (n uint64) {
	s, _ := netco.Default()
	for _, p := range engine.Of(s).Processors() {
		for p.Live() != 0 || !p.Idle() {
			time.Sleep(time.Millisecond)
		}
		n += p.Executor().Stats.Resumes.Load()
	}
	return n
}

// crossing has coroutines that switch in all ways, with regions of their own
// that last over switches.
func crossing() {
	for i := range 3 {
		c := channel.Make[int](0)
		netco.GoWith(netco.Spawn{Name: "sender", Fn: func() {
			r := trace.StartRegion(context.Background(), "own")
			for range 10 {
				c.Send(1)
				netco.Yield()
			}
			r.End()
			c.Close()
		}})
		netco.GoWith(netco.Spawn{Name: "receiver", Fn: func() {
			for range c.All() {
				defer trace.StartRegion(context.Background(), "own").End()
			}
		}})
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: func() {
			for range 10 {
				netco.Sleep(time.Microsecond)
				h, _ := netco.GoWith(netco.Spawn{Local: true, Fn: func() {}})
				h.Join()
			}
		}})
	}
	netco.Run(func() {})
}

// TestRegions: each run of a coroutine is one region with its name, no more and
// no fewer; and the trace can be read, although others began regions in
// coroutines that switch before these end.
func TestRegions(t *testing.T) {
	start(t, 2)
	netco.Run(func() {}) // both have begun
	defer profile.Regions()()
	stop := profile.Regions()
	var before, after uint64
	begun, ended := traced(t, func() {
		before = resumes()
		crossing()
		after = resumes()
	})
	total := 0
	for _, name := range []string{"sender", "receiver", "coroutine"} {
		if begun[name] < 3 || begun[name] != ended[name] {
			t.Errorf("%s: %d regions began, %d ended", name, begun[name], ended[name])
		}
		total += begun[name]
	}
	testenv.Equal(t, uint64(total), after-before, "regions, one for each run")
	testenv.Equal(t, begun["own"], 3*11, "of the user's own regions")
	stop()
	stop()
	if begun, _ := traced(t, crossing); begun["sender"] == 0 {
		t.Error("another's stop has ended it")
	}
}

// TestRegionsOff: without Regions there are none, nor after its stop, and runs
// that were under way are none the worse.
func TestRegionsOff(t *testing.T) {
	start(t, 2)
	if begun, _ := traced(t, crossing); begun["sender"] != 0 {
		t.Error("regions without a call of Regions")
	}
	stop := profile.Regions()
	begun, _ := traced(t, func() {
		crossing()
		stop()
		time.Sleep(time.Millisecond)
		crossing()
	})
	if begun["sender"] == 0 {
		t.Error("no regions")
	}
	// On and off while they run.
	var over atomic.Bool
	for i := range 4 {
		netco.GoWith(netco.Spawn{Name: fmt.Sprint("turning", i%2), Fn: func() {
			for !over.Load() {
				for range 3 {
					netco.Yield()
				}
				netco.Sleep(100 * time.Microsecond)
			}
		}})
	}
	traced(t, func() {
		for range 20 {
			stop := profile.Regions()
			time.Sleep(time.Millisecond)
			stop()
			time.Sleep(time.Millisecond)
		}
	})
	over.Store(true)
	netco.Run(func() {})
	s, _ := netco.Default()
	for _, p := range engine.Of(s).Processors() {
		testenv.Equal(t, p.Live(), 0, "one lives")
	}
}

var sink atomic.Uint64

func compute() {
	x := sink.Load()
	for range 10_000 {
		x = x*6364136223846793005 + 1
	}
	sink.Store(x)
}

// TestCPUProfile: samples have the names of coroutines that share a thread,
// with labels of the user's as well.
func TestCPUProfile(t *testing.T) {
	start(t, 1)
	defer profile.Labels()()
	var over atomic.Bool
	var at atomic.Int32
	work := func() {
		at.Add(1)
		for !over.Load() {
			compute()
			netco.Yield()
		}
	}
	netco.GoWith(netco.Spawn{Name: "left", Fn: work})
	netco.GoWith(netco.Spawn{Name: "right", Fn: func() {
		pprof.Do(profile.Context(context.Background()), pprof.Labels("user", "me"),
			func(context.Context) { work() })
	}})
	defer over.Store(true)
	for at.Load() < 2 { // both have all their labels
		time.Sleep(time.Millisecond)
	}
	testenv.Until(t, "samples of both", func() bool { // others may take the processor
		var b bytes.Buffer
		testenv.OK(t, pprof.StartCPUProfile(&b))
		time.Sleep(100 * time.Millisecond)
		pprof.StopCPUProfile()
		all := testenv.Must(io.ReadAll(testenv.Must(gzip.NewReader(&b))))
		// A profile has the texts of its samples' labels and no others; each
		// stands behind its length.
		return !slices.ContainsFunc([]string{"coroutine", "left", "right", "user", "me"},
			func(label string) bool {
				return !bytes.Contains(all, append([]byte{byte(len(label))}, label...))
			})
	})
}
