package introspect

import (
	"fmt"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/testenv"
)

// TestMillion: with a million coroutines and sockets at full length, a page
// costs what its rows cost, in memory as in bytes; one request is over in
// bounded time, and many at once share walks.
func TestMillion(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("the race detector takes too much memory and time for a million")
	}
	once(t)
	n := max(200_000, testenv.Rounds(1_000_000))
	f := newFake(n)
	var walks atomic.Int32
	var heap liveHeap
	coroutines, sockets := f.coroutines, f.sockets
	f.coroutines = func(see func(*seen) bool) {
		walks.Add(1)
		coroutines(watched(&heap, n, see))
	}
	f.sockets = func(see func(*sockinfo.Info) bool) { sockets(watched(&heap, n, see)) }
	for _, page := range []string{
		"", "coroutines", "coroutines?rows=1000&sort=-age", "coroutines?sort=name&rows=1000",
		"coroutines?sort=-site&name=e", "coroutines?group=name",
		"coroutines?group=site", fmt.Sprint("coroutine?id=", n-1), "sockets?rows=1000",
		"sockets?kind=idle&sort=-processor",
	} {
		h := f.handler(Options{}) // which has no rest to wait out
		heap.begin()
		began := time.Now()
		text, _ := get(t, h, "/"+page, 200)
		if took := time.Since(began); took > requestLimit {
			t.Errorf("%q took %v", page, took)
		}
		if len(text) > 1<<20 {
			t.Errorf("%q has %d bytes", page, len(text))
		}
		// All rows would be several hundred times n.
		if heap.looks < looksPerWalk || heap.grown > 32*uint64(n) {
			t.Errorf("%q: the heap grew by %d KiB, in %d looks", page, heap.grown>>10, heap.looks)
		}
	}
	h := f.handler(Options{})
	if c := getJSON[coroutinesJSON](t, h,
		fmt.Sprintf("/coroutines.json?rows=1000&sort=id&after=%d.%[1]d.", n-500)); c.Seen != uint64(
		n) || c.Matched != uint64(n) || c.First == 0 {
		t.Errorf("%+v", c.listJSON)
	}
	walks.Store(0)
	hold := make(chan bool)
	// Forty requests look at each coroutine, in the time that one has. A tenth
	// of the coroutines, without looks at the heap, show as well that walks are
	// shared.
	f.n = n / 10
	f.coroutines = func(see func(*seen) bool) {
		walks.Add(1)
		<-hold
		coroutines(see)
	}
	atOnce(t, f.handler(Options{}), &walks, func() { close(hold) })
}

// atOnce makes many requests at once; the first walk lasts until it is
// released, when all other requests have come.
func atOnce(t *testing.T, h *handler, walks *atomic.Int32, release func()) {
	const requests = 40
	var asking sync.WaitGroup
	ask := func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/coroutines.json?rows=1", nil))
		testenv.Equal(t, w.Code, 200, w.Body)
	}
	asking.Go(ask)
	eventually(t, "the first walks", func() bool { return walks.Load() == 1 })
	for range requests - 1 {
		asking.Go(ask)
	}
	eventually(t, "all others wait", func() bool {
		h.coroutines.mu.Lock()
		defer h.coroutines.mu.Unlock()
		return len(h.coroutines.waiting) == requests-1
	})
	release()
	asking.Wait()
	testenv.Equal(t, walks.Load(), 2, "walks for all requests at once")
}

// liveHeap is by how much the live heap has grown since begin, at most. It is
// looked at by the walker, between two items: what another goroutine makes
// while a look lasts would be counted, and be garbage.
type liveHeap struct {
	before, grown uint64
	looks         int
}

const looksPerWalk = 4

func (l *liveHeap) begin() {
	*l = liveHeap{}
	l.before = l.now()
}

func (l *liveHeap) now() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func (l *liveHeap) look() {
	l.looks++
	if now := l.now(); now > l.before {
		l.grown = max(l.grown, now-l.before)
	}
}

// watched has the heap looked at several times in a walk of n items, the last
// time at its end.
func watched[T any](l *liveHeap, n int, see func(*T) bool) func(*T) bool {
	i := 0
	return func(item *T) bool {
		more := see(item)
		if i++; i%(n/looksPerWalk) == 0 {
			l.look()
		}
		return more
	}
}
