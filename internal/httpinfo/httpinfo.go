// Package httpinfo reports the requests that net/http's Servers serve to
// packages metrics and introspect. It is for the engine: users have the metrics
// and the pages.
//
// A program that does not link net/http has no requests. Until Count is called
// requests are not counted, and cost nothing here.
package httpinfo

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/internal/counter"
)

// Request describes a request under way. As JSON it is a row of the live pages.
type Request struct {
	Method string        `json:"method"`
	Target string        `json:"target"`
	Remote string        `json:"remote"`
	Proto  string        `json:"proto"`
	Age    time.Duration `json:"age_ns"`
	// The handler was called on an ordinary goroutine, as it often blocks.
	Goroutine bool `json:"goroutine"`
}

var requests func() []Request // constant once packages are initialised

// Register sets the function that lists the requests under way. Called once,
// when net/http is initialised.
func Register(list func() []Request) { requests = list }

// Each calls f for every request under way of HTTP/1, in no order, until f
// returns false. A request that begins or ends meanwhile may be missing.
func Each(f func(Request) bool) {
	if requests == nil {
		return
	}
	for _, r := range requests() {
		if !f(r) {
			return
		}
	}
}

// counted counts the requests that some of the Processors have served.
type counted struct {
	mu       sync.Mutex // held for a moment
	codes    [Classes]uint64
	duration counter.Histogram
	_        [64]byte
}

// Classes is how many classes of status codes there are: 1xx to 5xx.
const Classes = 5

var (
	counting atomic.Bool
	all      [16]counted
)

// Count makes Servers count requests from now on.
func Count() { counting.Store(true) }

// Counting reports whether Count was called.
func Counting() bool { return counting.Load() }

// Served counts a request that a Processor has served; the number may be any.
func Served(processor, code int, took time.Duration) {
	c := &all[uint(processor)%uint(len(all))]
	c.mu.Lock()
	c.codes[min(max(code/100, 1), Classes)-1]++
	c.duration.Observe(int64(took))
	c.mu.Unlock()
}

// Codes returns how many requests have been answered with codes of a class,
// which is 0 for 1xx.
func Codes(class int) (n uint64) {
	for i := range all {
		all[i].mu.Lock()
		n += all[i].codes[class]
		all[i].mu.Unlock()
	}
	return n
}

// Durations returns how long requests have taken.
func Durations() counter.HistogramSnapshot {
	sum := all[0].duration.Snapshot()
	for i := range all[1:] {
		s := all[i+1].duration.Snapshot()
		sum.Count += s.Count
		sum.SumNs += s.SumNs
		sum.Zero += s.Zero
		for j := range s.Buckets {
			sum.Buckets[j] += s.Buckets[j]
		}
	}
	return sum
}
