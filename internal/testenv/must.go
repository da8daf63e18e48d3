package testenv

import (
	"io"
	"testing"

	"github.com/netco-go/netco/internal/goruntime"
)

// Must returns v. It panics if there is an error, as a test's set-up has failed
// then.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// OK ends the test if there is an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Closing closes c at the end of the test, and returns it.
func Closing[T io.Closer](t testing.TB, c T) T {
	t.Cleanup(func() { c.Close() })
	return c
}

// NoRace skips a test that counts allocations: the race detector allocates.
func NoRace(t testing.TB) {
	t.Helper()
	if goruntime.RaceEnabled {
		t.Skip("the race detector allocates")
	}
}

// MustOK is Must for calls without a value.
func MustOK(err error) {
	if err != nil {
		panic(err)
	}
}

// NoError reports an error and goes on, also in a coroutine.
func NoError(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Error(err)
	}
}
