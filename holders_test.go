package netco_test

import (
	"regexp"
	"strings"
	stdsync "sync"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/sync"
)

// round has a coroutine for each lock take that, and then wait for the next
// one's.
func round(locks ...stdsync.Locker) {
	var held sync.WaitGroup
	held.Add(len(locks))
	for i, mine := range locks {
		netco.GoWith(netco.Spawn{Name: "round", Fn: func() {
			mine.Lock()
			held.Done()
			held.Wait()
			locks[(i+1)%len(locks)].Lock()
		}})
	}
}

// holders are deadlocks, and what their reports say of the locks' holders.
var holders = map[string]struct {
	make func()
	want string // a regular expression
}{
	"two": {
		func() { round(new(sync.Mutex), new(sync.Mutex)) },
		`"round", waiting for a lock that coroutine \d+ "round" holds, made at(?s:.*)` +
			`in a circle: (\d+) "round" waits for (\d+) "round", (\d+) "round" waits for`,
	},
	"three": {
		func() { round(new(sync.Mutex), new(sync.Mutex), new(sync.Mutex)) },
		`in a circle: (\d+ "round" waits for \d+ "round"(, |\n)){3}`,
	},
	"writers": {
		func() { round(new(sync.RWMutex), new(sync.Mutex)) },
		`in a circle: (\d+ "round" waits for \d+ "round"(, |\n)){2}`,
	},
	"a reader for a writer": {
		func() {
			var m sync.RWMutex
			m.Lock()
			m.RLock()
		},
		`waiting for a lock that coroutine 1 holds, made at(?s:.*)in a circle: 1 waits for 1\n`,
	},
	"a writer for a reader": {
		func() {
			var m sync.RWMutex
			m.Lock()
			m.Unlock() //lint:ignore SA2001 it must forget the holder
			m.RLock()
			m.Lock()
		},
		`waiting for a lock, made at`,
	},
	"an ordinary goroutine's": {
		func() {
			var m sync.Mutex
			var held sync.WaitGroup
			held.Add(1)
			go func() { m.Lock(); held.Done() }()
			held.Wait()
			m.Lock()
		},
		`waiting for a lock that an ordinary goroutine holds, made at`,
	},
	"what has ended": {
		func() {
			var m sync.Mutex
			testenv.Must(netco.Go(m.Lock)).Join()
			m.Lock()
		},
		`waiting for a lock that coroutine \d+ has not unlocked before its end, made at`,
	},
	"old": {
		func() {
			var old [2]sync.Mutex
			for range 1000 {
				for i := range old {
					old[i].Lock()
					old[i].Unlock() //lint:ignore SA2001 it is taken often
				}
			}
			round(&old[0], &old[1])
		},
		`in a circle`,
	},
	"some, while others go on": {
		func() {
			netco.Go(func() { netco.Sleep(time.Hour) })
			round(new(sync.Mutex), new(sync.RWMutex))
		},
		`deadlock of 2 coroutines, while others go on(?s:.*)holders_test.go(?s:.*)` +
			`in a circle: \d+ "round" waits for \d+ "round"`,
	},
	"tried": {
		func() {
			var m sync.Mutex
			if !m.TryLock() || m.TryLock() {
				panic("TryLock")
			}
			m.Lock()
		},
		`in a circle: 1 waits for 1\n`,
	},
	"passed on": {
		func() {
			var m sync.Mutex
			m.Lock()
			netco.GoWith(netco.Spawn{Local: true, Fn: m.Lock})
			netco.Yield()
			m.Unlock()
			netco.Yield()
			m.Lock()
		},
		`waiting for a lock that coroutine \d+ has not unlocked before its end, made at`,
	},
}

// reportOf returns the report of a deadlock.
func reportOf(t *testing.T, name string, env ...string) string {
	cmd := reporters.Command(t, "holders", name)
	cmd.Env = append(cmd.Env, env...)
	return stderrOf(t, cmd, func(text string) bool { return strings.Contains(text, "#deadlocks") })
}

// TestHolders: the report of a deadlock says which coroutine holds the lock
// that each waits for, and which wait for each other.
func TestHolders(t *testing.T) {
	t.Parallel()
	for name, c := range holders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := reportOf(t, name, coroutine.HoldersVariable+"=on")
			if !regexp.MustCompile(c.want).MatchString(text) {
				t.Errorf("no %s in\n%s", c.want, text)
			}
			testenv.Equal(t, strings.Contains(c.want, "circle"), strings.Contains(text, "circle"),
				"a circle, or none", text)
		})
	}
}

// TestHoldersOfOldLocks: the holder of a lock is noted by default, but for a
// lock that was taken often; then the report says how all are.
func TestHoldersOfOldLocks(t *testing.T) {
	t.Parallel()
	if goruntime.RaceEnabled {
		t.Skip("all holders are noted under the race detector")
	}
	for name, want := range map[string]bool{"two": true, "old": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := reportOf(t, name)
			if strings.Contains(text, "in a circle") != want ||
				strings.Contains(text, coroutine.HoldersVariable+"=on") == want {
				t.Error(text)
			}
		})
	}
}
