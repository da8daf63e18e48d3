package blocking

import (
	"fmt"
	"testing"

	"github.com/netco-go/netco/coroutine"
)

// TestCallTransitions: the transitions of a call by the caller, the worker and
// the context, from each state, and what each method returns.
func TestCallTransitions(t *testing.T) {
	failed := &coroutine.PanicError{Value: "text"}
	for _, c := range []struct {
		from     uint64
		by       string
		to       uint64
		accepted bool
	}{
		{waiting, "begin", running, true},
		{waiting | contextDone, "begin", running | contextDone, true},
		{abandoned, "begin", abandoned, false},

		{running, "finish", done, true},
		{running | contextDone, "finish", done, true},
		{abandoned, "finish", abandoned, true},

		{running, "finish panicked", done, true},
		{abandoned, "finish panicked", abandoned, false}, // panics

		{waiting, "abandon", abandoned, true},
		{running, "abandon", abandoned, true},
		{waiting | contextDone, "abandon", abandoned, true},
		{running | contextDone, "abandon", abandoned, true},
		{done, "abandon", done, false},

		{waiting, "cancel", waiting | contextDone, true},
		{running, "cancel", running | contextDone, true},
		{done, "cancel", done, true},
		{abandoned, "cancel", abandoned, true},
	} {
		t.Run(fmt.Sprint(c.by, " from ", c.from), func(t *testing.T) {
			one := &call{pool: new(Pool)}
			one.word.Store(c.from)
			accepted := true
			switch c.by {
			case "begin":
				accepted = one.begin()
			case "finish":
				one.finish()
			case "finish panicked":
				one.failure = failed
				accepted = returns(one.finish)
			case "abandon":
				accepted = one.abandon()
			case "cancel":
				one.cancel()
			}
			if to := one.word.Load(); to != c.to || accepted != c.accepted {
				t.Errorf("became %d, accepted %v, want %d, %v", to, accepted, c.to, c.accepted)
			}
		})
	}
}

// returns reports whether f returns and does not panic.
func returns(f func()) (ok bool) {
	defer func() { recover() }()
	f()
	return true
}
