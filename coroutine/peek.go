package coroutine

import (
	gocontext "context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/netco-go/netco/context"
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
// neither sees a wake. Its thread is held up for some microseconds. One that is blocked outside netco is asked again until it is back.
//
// It returns ErrNotFound for a coroutine that has ended or has not started, and an error that wraps ErrBusy and ctx's if the answer
// has not come when ctx ends: the thread is kept busy, or the coroutine computes without a pause. Parks a coroutine, blocks a
// goroutine; a coroutine may also get ErrShutdown. It takes as long as a Range, and allocates; Info.Stack saves the Range.
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
//	           or of one that it has left, which sends it on,
//	           or missed: the coroutine was left behind
//	answered   stacks, or gone, may be read by who asked      nothing
//	left       nobody wants to know                           nothing; the thread drops it when it comes upon it
type peek struct {
	of      Handle    // constant
	carrier Coroutine // takes it to the thread's loop, see Arrive
	waiter  *Waiter   // constant: who asks
	state   atomic.Uint32
	missed  atomic.Bool // to be sent again

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
func (p *peek) ask(ctx gocontext.Context) error {
	ex := p.of.co.ex.Load()
	if ex == nil || p.of.Done() {
		return ErrNotFound
	}
	p.waiter = AcquireWaiter()
	defer p.waiter.Release()
	if p.waiter.InBubble() {
		return ErrBubble
	}
	ex.host.Post(&p.carrier)
	limit := Context(ctx)
	for {
		why := p.waiter.ParkLimit(ReasonUser, limit.Earlier(clock.Now()+peekPatience))
		if why == WakeTimeout && p.missed.Swap(false) {
			ex.host.Post(&p.carrier) // which sends it on if need be
		}
		over := why != WakeReady && (why != WakeTimeout || p.of.Done())
		if over && p.state.CompareAndSwap(peekAsked, peekLeft) {
			return p.unanswered(limit.Err(why))
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
	co := p.of.co
	home := co.ex.Load() // before Done: nil only in another life
	switch {
	case p.state.Load() != peekAsked:
		return
	case p.of.Done():
		p.gone = true
	case home != CurrentExecutor(): // it has moved
		home.host.Post(&p.carrier)
		return
	case co.leftBehind():
		p.missed.Store(true)
		return
	default:
		p.look(co)
	}
	p.answer()
}

// look has all stacks taken of which co's consists: the innermost fiber's that it
// runs, that of this one's resumer, and so on. Which context the goroutine with a
// stack is parked in depends on the backend: with the assembly's the innermost
// has suspended co's own, and each resumer is parked in the context of the fiber
// that it has resumed.
func (p *peek) look(co *Coroutine) {
	p.was, p.reason = co.State(), co.Reason()
	own := co.w.Own()
	take := p.take
	if context.Direct() {
		own.ctx.RunOn(take)
	}
	for w := own.innermost(); w.fiber != nil; w = w.fiber.by {
		w.ctx.RunOn(take)
	}
	if !context.Direct() {
		own.ctx.RunOn(take)
	}
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
