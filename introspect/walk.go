package introspect

import (
	"context"
	"runtime"
	"time"
)

// Bounds of walks. A walk over a million coroutines takes a good part of a
// second.
const (
	walkLimit = 5 * time.Second // then a walk is cut short
	walkRest  = 4               // times its length: walks take at most a fifth of one CPU
	walkPause = 4096            // items between two yields to other goroutines
)

// walker walks over all items of a kind, for one request at a time.
type walker[T any] struct {
	each  func(f func(*T) bool) // constant
	limit time.Duration         // constant: walkLimit; a test has its own
	turn  chan struct{}         // capacity 1: full during a walk and the rest after it
}

func newWalker[T any](each func(f func(*T) bool)) *walker[T] {
	return &walker[T]{each, walkLimit, make(chan struct{}, 1)}
}

// walk calls see for every item and reports whether the walk was cut short. It
// waits for the walks of other requests; the error is ctx's, if ctx ends first.
func (w *walker[T]) walk(ctx context.Context, see func(*T)) (cut bool, err error) {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	began, n := time.Now(), 0
	defer func() {
		time.AfterFunc(min(walkRest*time.Since(began), walkLimit), func() { <-w.turn })
	}()
	w.each(func(item *T) bool {
		see(item)
		if n++; n%walkPause == 0 {
			runtime.Gosched()
			cut = time.Since(began) > w.limit || ctx.Err() != nil
		}
		return !cut
	})
	return cut, nil
}
