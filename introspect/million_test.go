package introspect

import (
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/goruntime"
)

// TestMillion: with a million coroutines and sockets a page costs what its rows cost, in memory as in bytes; one request is over in bounded time,
// and many at once share walks.
func TestMillion(t *testing.T) {
	if testing.Short() || goruntime.RaceEnabled {
		t.Skip("a million of everything")
	}
	once(t)
	within(t, 100*time.Second)
	const n = 1_000_000
	f := newFake(n)
	var walks atomic.Int32
	inner := f.coroutines
	f.coroutines = func(see func(*seen) bool) { walks.Add(1); inner(see) }
	for _, page := range []string{
		"", "coroutines", "coroutines?rows=1000&sort=-age", "coroutines?sort=name&rows=1000", "coroutines?sort=-site&name=e", "coroutines?group=name",
		"coroutines?group=site", "coroutine?id=999999", "sockets?rows=1000", "sockets?kind=idle&sort=-processor",
	} {
		h := f.handler(Options{}) // which has no rest to wait out
		began := time.Now()
		size, held := heldBy(func() int {
			text, _ := get(t, h, "/"+page, 200)
			return len(text)
		})
		if took := time.Since(began); took > requestLimit {
			t.Errorf("%q took %v", page, took)
		}
		if size > 1<<20 {
			t.Errorf("%q has %d bytes", page, size)
		}
		if held > 64<<20 { // all rows would be several hundred; some of it is garbage that came while it was measured
			t.Errorf("%q: the heap grew by %d MiB", page, held>>20)
		}
	}
	h := f.handler(Options{})
	if c := getJSON[Coroutines](t, h, "/coroutines.json?rows=1000&sort=id&after=999500.999500."); c.Seen != n || c.Matched != n || c.First == 0 {
		t.Errorf("%+v", c.List)
	}
	walks.Store(0)
	var asking sync.WaitGroup
	for range 40 {
		asking.Go(func() {
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, httptest.NewRequest("GET", "/coroutines.json?rows=1", nil)); w.Code != 200 {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		})
	}
	asking.Wait()
	if walks.Load() > 10 {
		t.Errorf("%d walks for 40 requests at once", walks.Load())
	}
}

// heldBy returns f's result and by how much the live heap grew meanwhile, at most: a look at it after every collection.
func heldBy(f func() int) (result int, held uint64) {
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan int)
	go func() { done <- f() }()
	for {
		select {
		case result = <-done:
			return result, held
		case <-time.After(50 * time.Millisecond):
			runtime.GC()
			if runtime.ReadMemStats(&now); now.HeapAlloc > before.HeapAlloc {
				held = max(held, now.HeapAlloc-before.HeapAlloc)
			}
		}
	}
}
