package socket

import (
	"context"
	"os"
	"time"
)

// limits are what ends a dial or a look-up early. The time is kept apart from
// the context, so that a timeout, the common case, takes no context and no
// timer of Go's.
type limits struct {
	ctx   context.Context // may have a deadline of its own, which is then in until as well
	until time.Time       // zero is never
}

// err is why it has to end, as net says it; nil if it need not.
func (l limits) err() error {
	if err := l.ctx.Err(); err != nil {
		return contextError(err)
	}
	if !l.until.IsZero() && !time.Now().Before(l.until) {
		return errTimeout
	}
	return nil
}

// forAddress are the limits for the next of so many addresses that are left: a
// part of the time, but no less than is sensible.
func (l limits) forAddress(left int) (limits, error) {
	if l.until.IsZero() {
		return l, nil
	}
	now := time.Now()
	remaining := l.until.Sub(now)
	if remaining <= 0 {
		return l, errTimeout
	}
	const sensible = 2 * time.Second
	part := max(remaining/time.Duration(left), min(remaining, sensible))
	return limits{l.ctx, now.Add(part)}, nil
}

// earliest is the earlier of two times, of which zero is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// contextError is the error that net returns for that of a context.
func contextError(err error) error {
	switch err {
	case context.Canceled:
		return errCanceled
	case context.DeadlineExceeded:
		return errTimeout
	}
	return err
}

// Net's errors for the end of a context have no names.
var (
	errCanceled error = canceledError{}
	errTimeout  error = timeoutError{}
)

type canceledError struct{}

func (canceledError) Error() string        { return "operation was canceled" }
func (canceledError) Is(target error) bool { return target == context.Canceled }

type timeoutError struct{}

func (timeoutError) Error() string   { return "i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// Is: it is also what waits of this package end with, which net's is not.
func (timeoutError) Is(target error) bool {
	return target == context.DeadlineExceeded || target == os.ErrDeadlineExceeded
}
