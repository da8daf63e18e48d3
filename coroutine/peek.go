package coroutine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/netco-go/netco/internal/clock"
)

// Errors of StackOf.
var (
	// ErrBusy is returned when the coroutine's thread has not answered in time.
	ErrBusy = errors.New("netco: the coroutine's thread is busy")
	// ErrNotFound is returned for a coroutine that has ended, or has not started.
	ErrNotFound = errors.New("netco: no such coroutine")
)

// StackOf returns the stack of the coroutine with that id as text, like debug.Stack's but without what is netco's own at either end. Within a
// coroutine driven by hand, whose stack comes first, that of who resumed it follows.
//
// The coroutine's own thread is asked. It need not be resumed by what it waits for: it writes down its stack and is parked as before, and
// neither sees a wake. Its thread is held up for some microseconds. One that is ready to run is asked when it parks or yields next.
//
// It returns ErrNotFound for a coroutine that has ended or has not started, and an error that wraps ErrBusy and ctx's if the answer
// has not come when ctx ends: the thread is kept busy, or the coroutine computes without a pause. Parks a coroutine, blocks a
// goroutine; a coroutine may also get ErrShutdown. It takes as long as a Look, and allocates; Info.Stack saves the Look.
func StackOf(ctx context.Context, id uint64) (string, error) {
	info, ok := LookUp(id)
	if !ok {
		return "", ErrNotFound
	}
	return info.Stack(ctx)
}

// Stack is StackOf.
func (i Info) Stack(ctx context.Context) (string, error) {
	if i.Coroutine == nil {
		return "", ErrNotFound
	}
	p := newPeek(i.Coroutine, i.ID)
	if co := Current(); co != nil && co.Handle() == p.of {
		p.was = Running
		p.take()
	} else if err := p.ask(ctx); err != nil {
		return "", err
	}
	return p.text(&i)
}

// peek is one question for a stack.
//
//	state      means                                          becomes
//	asked      it is in the inbox of the coroutine's thread,  answered, by that thread; left, by who asked, at its context's end
//	           or in Executor.asked
//	answered   stacks, or gone, may be read by who asked      nothing
//	left       nobody wants to know                           nothing; the thread drops it when it comes upon it
type peek struct {
	of      Handle    // constant
	ex      *Executor // constant: of's
	carrier Coroutine // takes it to the thread's loop, see Arrive
	waiter  *Waiter   // constant: who asks
	state   atomic.Uint32

	// Owner: the thread until the answer, then who asked.
	pcs    []uintptr
	ends   []int // of each stack in pcs, the innermost first
	was    State
	reason Reason
	gone   bool
}

const (
	peekAsked = iota
	peekAnswered
	peekLeft
)

// mostFrames is how many frames are told, of all stacks of one coroutine.
const mostFrames = 512

func newPeek(co *Coroutine, id uint64) *peek {
	p := &peek{of: Handle{co, id}, pcs: make([]uintptr, 0, mostFrames), ends: make([]int, 0, 8)}
	p.carrier.node.Value = &p.carrier // its waiter is nobody's, by which Arrive knows it
	p.carrier.fn = p.arrive
	return p
}

// ask sends p to the coroutine's thread and waits for the answer.
func (p *peek) ask(ctx context.Context) error {
	if p.ex = p.of.co.ex.Load(); p.ex == nil || p.of.Done() {
		return ErrNotFound
	}
	p.waiter = AcquireWaiter()
	defer p.waiter.Release()
	if p.waiter.InBubble() {
		return ErrBubble
	}
	p.ex.host.Post(&p.carrier)
	bound := During(ctx)
	for {
		why := p.waiter.ParkBound(ReasonUser, bound.Sooner(clock.Now()+peekPatience))
		over := why != WakeReady && (why != WakeTimeout || p.of.Done())
		if over && p.state.CompareAndSwap(peekAsked, peekLeft) {
			return p.unanswered(bound.Err(why))
		}
		p.waiter.Prepare()                                 // a coroutine may have been woken early
		if !p.state.CompareAndSwap(peekAsked, peekAsked) { // in one order with Prepare: who answers later wakes the new park
			if why != WakeReady {
				p.waiter.Drain()
			}
			break
		}
	}
	if p.gone {
		return ErrNotFound
	}
	return nil
}

// peekPatience is how often, in ns, who asks looks whether the coroutine has ended: a thread that has ended does not answer.
const peekPatience = 20_000_000

// unanswered returns the error of who does not wait any more.
func (p *peek) unanswered(err error) error {
	switch state := p.of.co.State(); {
	case p.of.Done():
		return ErrNotFound
	case err == ErrShutdown:
		return err
	default:
		return fmt.Errorf("%w: coroutine %d is %v: %w", ErrBusy, p.of.id, state, err)
	}
}

// arrive acts on p. On the loop of the thread that was asked.
func (p *peek) arrive() {
	if !p.settled() {
		p.ex.asked = append(p.ex.asked, p)
	}
}

// askedBudget is the budget of a turn while somebody is asked for who is ready at the ends of turns. He may wait in between, each time:
// coroutines that wake one another go round, and so many resumes as a turn has may be so many whole rounds.
func askedBudget(budget int) int { return 1 + rand.IntN(max(budget, 1)) }

// lookAsked tries again what could not be answered. Owner only, on the loop.
func (ex *Executor) lookAsked() {
	still := ex.asked[:0]
	for _, p := range ex.asked {
		if !p.settled() {
			still = append(still, p)
		}
	}
	clear(ex.asked[len(still):])
	if ex.asked = still; len(still) == 0 {
		ex.asked = nil
	}
}

// settled answers p if that can be done now, and reports whether it is over. On the loop.
func (p *peek) settled() bool {
	co := p.of.co
	switch {
	case p.state.Load() != peekAsked:
		return true
	case p.of.Done(): // else it is of this thread: where it has started it stays
		p.gone = true
	case State(co.status.Own()&0xff) != Waiting:
		return false // ready: it may sit in Yield, where nobody asks why it was resumed
	default:
		p.look(co)
	}
	p.answer()
	return true
}

// look has all stacks taken of which co's consists: the innermost fiber's that it runs, that of who resumed this one, and so on.
func (p *peek) look(co *Coroutine) {
	w := co.w
	for w.inner != nil {
		w = &w.inner.w
	}
	p.was, p.reason = Waiting, co.Reason()
	take := p.take
	for ; w != nil; w = w.resumer() {
		p.ex.loop.Visit(&w.ctx, take)
	}
}

// resumer returns the worker that has resumed the fiber that w is; nil if w is none.
func (w *worker) resumer() *worker {
	if w.fiber == nil {
		return nil
	}
	return w.fiber.by
}

// take writes down the stack that it is called on. It calls little: the stack may be that of a coroutine that has long been parked,
// and near its end.
func (p *peek) take() {
	n := len(p.pcs)
	p.pcs = p.pcs[:n+runtime.Callers(2, p.pcs[n:cap(p.pcs)])]
	p.ends = append(p.ends, len(p.pcs))
}

// answer wakes who asked. p is theirs from then on.
func (p *peek) answer() {
	w := p.waiter
	if p.state.CompareAndSwap(peekAsked, peekAnswered) {
		w.Wake()
	}
}

// tell answers those that ask for the coroutine on w, which runs: it is in Yield.
func (w *worker) tell() {
	co := w.co.Own()
	for _, p := range w.ex.asked {
		if p.of.co == co && p.of.id == co.id.Own() && p.state.Load() == peekAsked {
			p.was = Ready
			p.take()
			p.answer()
		}
	}
}
