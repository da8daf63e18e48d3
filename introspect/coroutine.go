package introspect

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
)

// stackTimeout is how long a coroutine's Processor gets to answer, and stackers
// how many stacks are asked for at a time: an answer takes the Processor some
// 10 µs.
const (
	stackTimeout = time.Second
	stackers     = 4
)

// errNoCoroutine is the client's error: the id of a coroutine that has ended,
// or never was.
var errNoCoroutine = errors.New("no such coroutine: it has ended, or belongs to another Scheduler")

// oneCoroutine is the page "coroutine".
func (h *handler) oneCoroutine(ctx context.Context, q *query) (*coroutineJSON, error) {
	id := q.number("id", 1, 1<<64-1, 0)
	withStack := q.oneOf("stack", "0", "1") == "1"
	if id == 0 {
		q.fail("id is missing")
	}
	if q.err != nil {
		return nil, q.err
	}
	c, err := h.find(ctx, id)
	if err != nil {
		return nil, err
	}
	d := h.describe(c, now())
	if withStack {
		stack, err := h.stackOf(ctx, c)
		d.Stack = cut(stack, maxStack)
		if err != nil {
			d.StackError = err.Error()
		}
		if errors.Is(err, coroutine.ErrBusy) {
			d.StackError = "busy: it has not answered within " + span(int64(stackTimeout)) +
				"; it computes, or something holds up its Processor, see stalls"
		}
	}
	return &d, nil
}

// endedCoroutine is the answer of the page "coroutine" for an id that does not
// live: pages link to coroutines, which may end meanwhile.
type endedCoroutine struct {
	ID     uint64
	Stalls []stallJSON // that it caused, the latest first
}

func (h *handler) ended(q *query) *endedCoroutine {
	e := &endedCoroutine{ID: q.number("id", 1, 1<<64-1, 0)}
	for _, s := range h.stalls() {
		if s.Coroutine == e.ID {
			e.Stalls = append(e.Stalls, s)
		}
	}
	return e
}

// find looks for a coroutine among all.
func (h *handler) find(ctx context.Context, id uint64) (*seen, error) {
	var found *seen
	_, err := h.coroutines.walk(ctx, func(c *seen) {
		if c.ID == id {
			copied := *c
			found = &copied
		}
	})
	if err == nil && found == nil {
		err = errNoCoroutine
	}
	return found, err
}

func (h *handler) stackOf(ctx context.Context, c *seen) (string, error) {
	select {
	case h.stacks <- struct{}{}:
		defer func() { <-h.stacks }()
	default:
		return "", errors.New("others ask for stacks; try again")
	}
	ctx, cancel := context.WithTimeout(ctx, stackTimeout)
	defer cancel()
	return h.src.stack(ctx, c)
}

// stop ends a coroutine, by Handle.Stop.
func (h *handler) stop(w http.ResponseWriter, r *http.Request) error {
	if !h.opt.AllowStop {
		return errForbidden
	}
	q := &query{values: r.PostForm}
	id := q.number("id", 1, 1<<64-1, 0)
	if q.err != nil || id == 0 {
		return badQuery{errors.New("id is missing, or no number")}
	}
	c, err := h.find(r.Context(), id)
	if err != nil {
		return err
	}
	handle := c.Coroutine.Handle()
	if handle.ID() != id {
		return errNoCoroutine
	}
	handle.Stop()
	h.log("coroutine stopped by hand", r, zap.Uint64("coroutine", id),
		zap.String("name", cut(c.Name, maxText)))
	w.Header().Set("Location", "coroutines")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}
