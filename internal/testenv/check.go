package testenv

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// The checks report a failure and go on, in goroutines and coroutines too. The
// parameter what names the case if one line checks several. Only a check that
// fails calls Helper, which is slow.

// Equal checks that got is want.
func Equal[T comparable](t testing.TB, got, want T, what ...any) {
	if got != want {
		t.Helper()
		t.Errorf("%sgot %v, want %v", prefix(what), got, want)
	}
}

// True checks that a condition holds; format and args describe the failure. The
// args are evaluated in either case.
func True(t testing.TB, holds bool, format string, args ...any) {
	if !holds {
		t.Helper()
		t.Errorf(format, args...)
	}
}

// Fails checks that err is want, which is nil for success.
func Fails(t testing.TB, err, want error, what ...any) {
	if !isError(err, want) {
		t.Helper()
		t.Errorf("%sthe error is %v, want %v", prefix(what), err, want)
	}
}

// Gives returns a check of a call's two results, as in
//
//	testenv.Gives(t, 5, nil)(c.Write(hello))
func Gives[T comparable](t testing.TB, want T, wantErr error, what ...any) func(T, error) {
	return func(got T, err error) {
		if got != want || !isError(err, wantErr) {
			t.Helper()
			t.Errorf("%sgot %v, %v; want %v, %v", prefix(what), got, err, want, wantErr)
		}
	}
}

// isError is errors.Is, but for the end of a stream, which callers compare
// with io.EOF itself.
func isError(err, want error) bool {
	if want == io.EOF || want == io.ErrUnexpectedEOF {
		return err == want
	}
	return errors.Is(err, want)
}

// prefix is what and a colon, or empty.
func prefix(what []any) string {
	if len(what) == 0 {
		return ""
	}
	s := fmt.Sprintln(what...)
	return s[:len(s)-1] + ": "
}

// AsText turns a call's results into values that Gives can compare.
func AsText(p []byte, err error) (string, error) { return string(p), err }

// Err returns a call's error.
func Err[T any](_ T, err error) error { return err }

// PanicOf returns what f panics with, or nil.
func PanicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// Panics checks that f panics with a text that contains want.
func Panics(t testing.TB, want string, f func()) {
	t.Helper()
	if got := fmt.Sprint(PanicOf(f)); !strings.Contains(got, want) {
		t.Errorf("panic %q, want one with %q", got, want)
	}
}
