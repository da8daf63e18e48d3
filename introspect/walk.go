package introspect

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what looking may cost. A walk of a million coroutines takes a good
// part of a second of one ordinary goroutine.
const (
	walkLimit = 5 * time.Second // then it is cut short
	// Times its length is the pause after a walk, so that walks take at most a
	// fifth of one CPU.
	walkRest    = 4
	maxWatchers = 64   // requests that wait for a walk
	walkPause   = 4096 // items after which a walk lets others run
)

// errCrowded is returned when so many wait already that the caller had better
// come back later.
var errCrowded = errors.New("too many requests wait for a look at the coroutines or sockets")

// walker walks over all items of a kind for whoever wants to see them. Requests
// that come while a walk is under way share the next one.
type walker[T any] struct {
	each func(f func(*T) bool) // constant
	// limit bounds a walk; 0: walkLimit
	limit time.Duration

	mu      sync.Mutex
	waiting []*watcher[T]
	walking bool // a goroutine is at it
}

// watcher is one request's part in a walk.
type watcher[T any] struct {
	see  func(*T)    // called for every item, by one goroutine
	left atomic.Bool // its request has gone
	done chan error  // capacity 1
	cut  bool        // the walk did not reach the end; set before done
}

// walk calls see for every item and reports whether it has seen all. It blocks;
// see is not called any more once it has returned without an error. With an
// error, what see has gathered must be left alone.
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
		me.left.Store(true)
		return false, ctx.Err()
	}
}

// run makes one walk after the other for as long as any caller waits, with a
// rest after each. It stays for the rest too, so that whoever comes then waits
// it out.
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

// once is one walk for all of them. What panics in it fails the requests and
// not the program that is looked at.
func (w *walker[T]) once(watchers []*watcher[T], began time.Time) (cut bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("introspect: a look has panicked: %v", v)
		}
	}()
	limit := w.limit
	if limit == 0 {
		limit = walkLimit
	}
	n := 0
	w.each(func(item *T) bool {
		wanted := false
		for _, x := range watchers {
			if !x.left.Load() {
				wanted = true
				x.see(item)
			}
		}
		if n++; n%walkPause == 0 {
			runtime.Gosched()
			cut = time.Since(began) > limit
		}
		return wanted && !cut
	})
	return cut, nil
}
