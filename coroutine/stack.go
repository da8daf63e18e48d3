package coroutine

import (
	gocontext "context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/stacks"
)

// Errors of Info.Stack.
var (
	// ErrBusy is returned when the coroutine has kept running.
	ErrBusy = errors.New("netco: the coroutine is busy")
	// ErrNotFound is returned for a coroutine that has ended, or has not
	// started.
	ErrNotFound = errors.New("netco: no such coroutine")
)

// Stack returns the coroutine's stack as text, like debug.Stack's but without
// netco's own frames at either end. For a coroutine that has resumed a Fiber,
// the Fiber's stack comes first, then its resumer's.
//
// The caller reads the memory of the stack, in some microseconds, whether the
// coroutine's thread is busy or not. The coroutine does not notice. It must not
// run meanwhile, so while it runs Stack tries again and again.
//
// It returns ErrNotFound for a coroutine that has ended and for the zero Info;
// an error that wraps ErrBusy and ctx's error if ctx ends before the coroutine
// was found waiting, ready or blocked; and an error where netco does not
// understand the stacks of this Go release. Parks a coroutine, blocks a
// goroutine; a coroutine may also get ErrShutdown. It allocates.
func (i Info) Stack(ctx gocontext.Context) (string, error) {
	if i.Coroutine == nil {
		return "", ErrNotFound
	}
	if err := goruntime.FindStacks(); err != nil {
		return "", fmt.Errorf("netco: %w", err)
	}
	r := &stackReader{target: Handle{i.Coroutine, i.ID}}
	if co := Current(); co != nil && co.Handle() == r.target {
		r.waitOwn()
	} else if err := r.wait(ctx); err != nil {
		return "", err
	}
	return r.text(), nil
}

// maxFrames is how many frames are read from all stacks of one coroutine.
const maxFrames = 512

// stackReader reads the stacks of a coroutine.
type stackReader struct {
	target Handle
	info   Info
	pcs    [maxFrames]uintptr
	ends   []int // of each stack in pcs, the innermost fiber's first
}

// Reading is tried a few times in a row, since a coroutine that is busy may
// give up its thread for less than a microsecond, and then after a pause.
const (
	triesInRow   = 50
	retryAfterNs = 1_000_000
)

// wait reads the stacks as soon as the coroutine does not run.
func (r *stackReader) wait(ctx gocontext.Context) error {
	if r.try() {
		return nil
	}
	limit := Context(ctx)
	w := AcquireFor(limit)
	defer w.Release()
	if w.InBubble() {
		return ErrBubble
	}
	for !r.try() {
		if r.target.Done() {
			return ErrNotFound
		}
		w.Prepare()
		why := w.ParkLimit(ReasonUser, limit.Earlier(clock.Now()+retryAfterNs))
		switch err := limit.Err(why); {
		case why == WakeShutdown:
			return err
		case why == WakeCancelled:
			id, state := r.target.id, r.target.co.State()
			return fmt.Errorf("%w: coroutine %d is %v: %w", ErrBusy, id, state, err)
		}
	}
	return nil
}

func (r *stackReader) try() bool {
	for range triesInRow {
		if r.read() {
			return true
		}
	}
	return false
}

// waitOwn has another goroutine read the caller's stacks.
func (r *stackReader) waitOwn() {
	defer Rejoin()
	var reader sync.WaitGroup
	reader.Go(func() {
		for !r.read() {
			runtime.Gosched()
		}
	})
	reader.Wait()
}

// read reads the stacks, and reports whether no goroutine of the coroutine has
// run meanwhile.
func (r *stackReader) read() bool {
	w := r.target.co.w.Load()
	if w == nil {
		return false
	}
	nest := w.nest()
	if !r.info.read(w) || r.info.ID != r.target.id {
		return false
	}
	if r.info.State == Running && nest[0].pinning&1 == 0 {
		r.info.State = Ready // suspended, and the loop has resumed no other since
	}
	used := 0
	r.ends = r.ends[:0]
	for _, at := range slices.Backward(nest) {
		g := at.w.ctx.G()
		if g == 0 || used == len(r.pcs) { // its goroutine is starting, or it has too many frames
			break
		}
		n := goruntime.StackOf(g, r.pcs[used:])
		if n == 0 {
			return false
		}
		used += n
		r.ends = append(r.ends, used)
	}
	return used > 0 && slices.Equal(nest, w.nest()) && !r.target.Done()
}

// goroutineOf is one goroutine of a coroutine. Two values are equal if the
// goroutine was not suspended in between.
type goroutineOf struct {
	w       *worker
	pinning uint64
}

// nest returns the goroutines of w's coroutine: w's own, that of the fiber that
// it has resumed, that of the fiber that this one has resumed, and so on. Any
// thread.
func (w *worker) nest() (list []goroutineOf) {
	for {
		pinning, _ := w.pinning.Load()
		list = append(list, goroutineOf{w, pinning})
		f := w.inner.Load()
		if f == nil {
			return list
		}
		w = &f.w
	}
}

// text returns the stacks as Info.Stack does.
func (r *stackReader) text() string {
	i := &r.info
	var b strings.Builder
	fmt.Fprintf(&b, "coroutine %d", i.ID)
	if i.Name != "" {
		fmt.Fprintf(&b, " %q", i.Name)
	}
	what := i.State.String()
	if i.State == Waiting {
		what = i.Reason.String()
	}
	fmt.Fprintf(&b, " [%s]:\n", what)
	from := 0
	for n, end := range r.ends {
		if n > 0 {
			b.WriteString("resumed by\n")
		}
		for _, f := range stacks.OfUser(goruntime.Frames(r.pcs[from:end])) {
			fmt.Fprintf(&b, "%s(...)\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
		from = end
	}
	if from == len(r.pcs) {
		b.WriteString("...further frames left out...\n")
	}
	if i.Resolve(); i.Func != "" {
		fmt.Fprintf(&b, "created by %s\n", i.Func)
		if i.File != "" {
			fmt.Fprintf(&b, "\t%s:%d\n", i.File, i.Line)
		}
	}
	return b.String()
}
