package coroutine

import (
	gocontext "context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/clock"
)

// Errors of StackOf.
var (
	// ErrBusy is returned when the coroutine's thread has not answered in time.
	ErrBusy = errors.New("netco: the coroutine's thread is busy")
	// ErrNotFound is returned for a coroutine that has ended, or has not
	// started.
	ErrNotFound = errors.New("netco: no such coroutine")
)

// StackOf returns the stack of the coroutine with that id as text, like
// debug.Stack's but without netco's own frames at either end. For a coroutine
// that has resumed a Fiber, the Fiber's stack comes first, then its resumer's.
//
// The coroutine's own thread captures the stack, in some microseconds. The
// coroutine is not woken for that and stays parked. If it is blocked outside
// netco, the text has the stack of the innermost Fiber, up to 64 calls; if it
// computes there, the request is repeated until it blocks or is back.
//
// It returns ErrNotFound for a coroutine that has ended or has not started, and
// an error that wraps ErrBusy and ctx's if ctx ends before the thread has
// answered: the thread is kept busy, or the coroutine computes without a pause.
// Parks a coroutine, blocks a goroutine; a coroutine may also get ErrShutdown.
// It takes as long as a Range, and allocates; Info.Stack saves the Range.
func StackOf(ctx gocontext.Context, id uint64) (string, error) {
	info, ok := Find(id)
	if !ok {
		return "", ErrNotFound
	}
	return info.Stack(ctx)
}

// Stack is StackOf.
func (i Info) Stack(ctx gocontext.Context) (string, error) {
	if i.Coroutine == nil {
		return "", ErrNotFound
	}
	r := newStackRequest(i.Coroutine, i.ID)
	if co := Current(); co != nil && co.Handle() == r.of {
		r.was = Running
		r.capture()
	} else if err := r.send(ctx); err != nil {
		return "", err
	}
	return r.text(&i), nil
}

// stackRequest asks a coroutine's thread for its stack.
//
//	state      means                             becomes
//	pending    in the inbox of the coroutine's   answered, by that thread;
//	           thread, or of a former one,       abandoned, by the caller
//	           which forwards it; or missed:     of StackOf when its
//	           the coroutine was left behind     context ends
//	           and not blocked
//	answered   the caller may read the answer    nothing
//	abandoned  the caller has returned           nothing; the thread drops it
type stackRequest struct {
	of     Handle    // constant
	inbox  Coroutine // its node takes r to the thread's loop, see Arrive
	waiter *Waiter   // constant: the caller's
	state  atomic.Uint32
	missed atomic.Bool // to be sent again

	// Owner: the thread until the answer, then the caller.
	pcs     []uintptr
	ends    []int // of each stack in pcs, the innermost first
	blocked Stack // in their place, if the coroutine was blocked outside netco
	was     State
	reason  Reason
	gone    bool
}

const (
	stackPending = iota
	stackAnswered
	stackAbandoned
)

// maxFrames is how many frames are captured from all stacks of one coroutine.
const maxFrames = 512

func newStackRequest(co *Coroutine, id uint64) *stackRequest {
	r := &stackRequest{
		of: Handle{co, id}, pcs: make([]uintptr, 0, maxFrames), ends: make([]int, 0, 8),
	}
	r.inbox.node.Value = &r.inbox // its waiter has no coroutine, by which Arrive knows it
	r.inbox.fn = r.arrive
	return r
}

// send sends r to the coroutine's thread and waits for the answer.
func (r *stackRequest) send(ctx gocontext.Context) error {
	ex := r.of.co.ex.Load()
	if ex == nil || r.of.Done() {
		return ErrNotFound
	}
	limit := Context(ctx)
	r.waiter = AcquireFor(limit)
	defer r.waiter.Release()
	if r.waiter.InBubble() {
		return ErrBubble
	}
	ex.host.Post(&r.inbox)
	for {
		why := r.waiter.ParkLimit(ReasonUser, limit.Earlier(clock.Now()+recheckNs))
		if why == WakeTimeout && r.missed.Swap(false) {
			ex.host.Post(&r.inbox) // arrive forwards it if need be
		}
		over := why != WakeReady && (why != WakeTimeout || r.of.Done())
		if over && r.state.CompareAndSwap(stackPending, stackAbandoned) {
			return r.unanswered(limit.Err(why))
		}
		r.waiter.Prepare() // a coroutine may have been woken early
		// An exchange, in one order with Prepare: a later answer wakes the new
		// park.
		if !r.state.CompareAndSwap(stackPending, stackPending) {
			if why != WakeReady {
				r.waiter.Drain()
			}
			break
		}
	}
	if r.gone {
		return ErrNotFound
	}
	return nil
}

// recheckNs is how often the caller checks whether the coroutine has ended: a
// thread that has ended does not answer.
const recheckNs = 20_000_000

// unanswered returns the error of a request that is abandoned.
func (r *stackRequest) unanswered(err error) error {
	switch state := r.of.co.State(); {
	case r.of.Done():
		return ErrNotFound
	case err == ErrShutdown:
		return err
	default:
		return fmt.Errorf("%w: coroutine %d is %v: %w", ErrBusy, r.of.id, state, err)
	}
}

// arrive acts on r, on the loop of the thread that it was sent to.
func (r *stackRequest) arrive() {
	co := r.of.co
	home := co.ex.Load() // before Done: nil only in another incarnation
	switch {
	case r.state.Load() != stackPending:
		return
	case r.of.Done():
		r.gone = true
	case CurrentExecutor().takes(home): // no thread is the coroutine's
		ex := CurrentExecutor()
		if !ex.take(co, home) {
			ex.host.Post(&r.inbox)
			return
		}
		r.captureAll(co)
		ex.MakeReady(co, co.ticket, WakeReady)
	case home != CurrentExecutor(): // it has moved
		home.host.Post(&r.inbox)
		return
	case co.leftBehind():
		if !r.captureBlocked(co) {
			r.missed.Store(true)
			return
		}
	default:
		r.captureAll(co)
	}
	r.answer()
}

// captureAll captures all stacks of co: the stack of the innermost fiber that
// it runs, of that fiber's resumer, and so on. The context that a goroutine is
// parked in depends on the backend: with the assembly's the innermost fiber is
// parked in co's context, and each resumer in the context of the fiber that it
// has resumed. What co has written to its fibers is read for the owner: co is
// parked.
//
//go:norace
func (r *stackRequest) captureAll(co *Coroutine) {
	r.was, r.reason = co.State(), co.Reason()
	own := co.w.Own()
	capture := r.capture
	if context.Direct() {
		own.ctx.RunOn(capture)
	}
	for w := own.innermost(); w.fiber != nil; w = w.fiber.by {
		w.ctx.RunOn(capture)
	}
	if !context.Direct() {
		own.ctx.RunOn(capture)
	}
}

// captureBlocked reads the stack of co, which has been left behind, and reports
// whether co is blocked. Its worker stays co's until this loop lets it rejoin.
func (r *stackRequest) captureBlocked(co *Coroutine) bool {
	r.was = Outside
	r.blocked.fill(co.w.Own())
	return r.blocked.n > 0
}

// capture appends the stack that it is called on. It calls little: the stack is
// that of a parked coroutine, and may have little space left. It runs for the
// loop, on a coroutine's stack.
//
//go:norace
func (r *stackRequest) capture() {
	n := len(r.pcs)
	r.pcs = r.pcs[:n+runtime.Callers(2, r.pcs[n:cap(r.pcs)])]
	r.ends = append(r.ends, len(r.pcs))
}

// answer wakes the caller, which owns r from then on.
func (r *stackRequest) answer() {
	w := r.waiter
	if r.state.CompareAndSwap(stackPending, stackAnswered) {
		w.Wake()
	}
}

// text returns the answer as StackOf does.
func (r *stackRequest) text(i *Info) string {
	var b strings.Builder
	fmt.Fprintf(&b, "coroutine %d", r.of.id)
	if i.Name != "" {
		fmt.Fprintf(&b, " %q", i.Name)
	}
	what := r.was.String()
	if r.was == Waiting {
		what = r.reason.String()
	}
	fmt.Fprintf(&b, " [%s]:\n", what)
	writeFrames(&b, exposed(r.blocked.Frames()))
	from := 0
	for n, end := range r.ends {
		if n > 0 {
			b.WriteString("resumed by\n")
		}
		writeFrames(&b, ofInterest(framesOf(r.pcs[from:end])))
		from = end
	}
	if len(r.pcs) == cap(r.pcs) {
		b.WriteString("...further frames left out...\n")
	}
	if f := frameOf(uint64(i.Site)); f.Function != "" {
		fmt.Fprintf(&b, "created by %s\n", f.Function)
		if f.File != "" {
			fmt.Fprintf(&b, "\t%s:%d\n", f.File, f.Line)
		}
	}
	return b.String()
}

func writeFrames(b *strings.Builder, frames []runtime.Frame) {
	for _, f := range frames {
		fmt.Fprintf(b, "%s(...)\n\t%s:%d\n", f.Function, f.File, f.Line)
	}
}

// exposed drops the runtime's own frames at the top.
func exposed(stack []runtime.Frame) []runtime.Frame {
	for len(stack) > 1 && strings.HasPrefix(stack[0].Function, "runtime.") {
		stack = stack[1:]
	}
	return stack
}

func framesOf(pcs []uintptr) (list []runtime.Frame) {
	frames := runtime.CallersFrames(pcs)
	for more := len(pcs) > 0; more; {
		var f runtime.Frame
		f, more = frames.Next()
		list = append(list, f)
	}
	return list
}

// module is netco's import path.
var module = strings.TrimSuffix(reflect.TypeFor[Executor]().PkgPath(), "/coroutine")

// ofInterest drops netco's own frames at either end of a stack: at the bottom,
// the frames that run a coroutine; at the top, the frames below the function of
// netco that the user has called. If netco's frames are all, it keeps the
// function that parked.
func ofInterest(stack []runtime.Frame) []runtime.Frame {
	for n := len(stack); n > 1 && runs(stack[n-1]); n-- {
		stack = stack[:n-1]
	}
	own := 0
	for own < len(stack) && belongs(stack[own], "") {
		own++
	}
	switch {
	case own == len(stack):
		for len(stack) > 1 && runs(stack[0]) {
			stack = stack[1:]
		}
	case own > 0:
		stack = stack[own-1:]
	}
	return stack
}

// runs reports whether f belongs to the code that runs coroutines.
func runs(f runtime.Frame) bool {
	return strings.HasPrefix(f.Function, "runtime.") || strings.HasPrefix(f.Function, "iter.") ||
		belongs(f, "/coroutine") || belongs(f, "/context") || belongs(f, "/internal") ||
		belongs(f, "/processor")
}

// belongs reports whether f is in netco's package path or one below it, ""
// being all of netco, and not in a test.
func belongs(f runtime.Frame, path string) bool {
	rest, ok := strings.CutPrefix(f.Function, module+path)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '/') &&
		!strings.HasSuffix(f.File, "_test.go")
}
