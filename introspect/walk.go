package introspect

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of walks. One of a million coroutines takes a good part of a second.
const (
	walkLimit   = 5 * time.Second // then a walk is cut short
	walkRest    = 4               // times its length: walks take at most a fifth of one CPU
	maxWatchers = 64              // requests that wait for a walk
	walkPause   = 4096            // items after which a walk lets others run
)

// walker walks over all items of a kind for any number of requests. Requests
// that come while a walk is under way share the next one.
type walker[T any] struct {
	each  func(f func(*T) bool) // constant
	limit time.Duration         // constant; a test has its own

	mu      sync.Mutex
	waiting []*watcher[T]
	walking bool // a goroutine runs run
}

// watcher is one request's part in a walk.
type watcher[T any] struct {
	see  func(*T)    // called for every item, by one goroutine
	gone atomic.Bool // its request has ended
	done chan error  // capacity 1
	cut  bool        // the walk did not reach the end; set before done
}

// walk calls see for every item and reports whether it has seen all. It blocks.
// After an error see may still be called, so the caller must not touch the data
// that see gathers.
func (w *walker[T]) walk(ctx context.Context, see func(*T)) (cut bool, err error) {
	me := &watcher[T]{see: see, done: make(chan error, 1)}
	w.mu.Lock()
	if len(w.waiting) >= maxWatchers {
		w.mu.Unlock()
		return false, errCrowded
	}
	w.waiting = append(w.waiting, me)
	if !w.walking {
		w.walking = true
		go w.run()
	}
	w.mu.Unlock()
	select {
	case err := <-me.done:
		return me.cut, err
	case <-ctx.Done():
		me.gone.Store(true)
		return false, ctx.Err()
	}
}

// run makes one walk after the other for as long as any caller waits, with a
// rest after each. It stays for the last rest too, so that a caller that comes
// then waits it out.
func (w *walker[T]) run() {
	for {
		w.mu.Lock()
		watchers := w.waiting
		w.waiting = nil
		w.walking = len(watchers) > 0
		w.mu.Unlock()
		if len(watchers) == 0 {
			return
		}
		began := time.Now()
		cut, err := w.once(watchers, began)
		for _, x := range watchers {
			x.cut = cut
			x.done <- err
		}
		time.Sleep(min(walkRest*time.Since(began), walkLimit))
	}
}

// once makes one walk for all watchers. A panic in it fails the requests and
// not the program.
func (w *walker[T]) once(watchers []*watcher[T], began time.Time) (cut bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("introspect: a look has panicked: %v", v)
		}
	}()
	n := 0
	w.each(func(item *T) bool {
		wanted := false
		for _, x := range watchers {
			if !x.gone.Load() {
				wanted = true
				x.see(item)
			}
		}
		if n++; n%walkPause == 0 {
			runtime.Gosched()
			cut = time.Since(began) > cmp.Or(w.limit, walkLimit)
		}
		return wanted && !cut
	})
	return cut, nil
}
