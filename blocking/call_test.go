package blocking

import (
	"fmt"
	"testing"
)

// TestCallTransitions: what each party may do to a call, from each state, and what it is told.
func TestCallTransitions(t *testing.T) {
	failed := &PanicError{Value: "text"}
	for _, c := range []struct {
		from uint64
		by   string
		to   uint64
		told bool
	}{
		{waiting, "begin", running, true},
		{waiting | contextDone, "begin", running | contextDone, true},
		{left, "begin", left, false},

		{running, "finish", done, true},
		{running | contextDone, "finish", done, true},
		{left, "finish", left, true},

		{running, "finish panicked", done, true},
		{left, "finish panicked", left, false}, // panics

		{waiting, "leave", left, true},
		{running, "leave", left, true},
		{waiting | contextDone, "leave", left, true},
		{running | contextDone, "leave", left, true},
		{done, "leave", done, false},

		{waiting, "cancel", waiting | contextDone, true},
		{running, "cancel", running | contextDone, true},
		{done, "cancel", done, true},
		{left, "cancel", left, true},
	} {
		t.Run(fmt.Sprint(c.by, " from ", c.from), func(t *testing.T) {
			one := &call{pool: new(Pool)}
			one.word.Store(c.from)
			told := true
			switch c.by {
			case "begin":
				told = one.begin()
			case "finish":
				one.finish()
			case "finish panicked":
				one.failure = failed
				told = returns(one.finish)
			case "leave":
				told = one.leave()
			case "cancel":
				one.cancel()
			}
			if to := one.word.Load(); to != c.to || told != c.told {
				t.Errorf("became %d, told %v, want %d, %v", to, told, c.to, c.told)
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
