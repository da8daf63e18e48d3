package testenv

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

// recorder notes what a check reports.
type recorder struct {
	testing.TB
	text string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Errorf(f string, a ...any) { r.text += fmt.Sprintf(f, a...) }

// TestChecks: each check reports what is wrong, names the case, and is silent
// when all is well.
func TestChecks(t *testing.T) {
	first := errors.New("first")
	wrapped := fmt.Errorf("wrapped: %w", first)
	eof := fmt.Errorf("wrapped: %w", io.EOF)
	for _, c := range []struct {
		check func(r *recorder)
		want  string
	}{
		{func(r *recorder) { Equal(r, 1, 1) }, ""},
		{func(r *recorder) { Equal(r, 1, 2) }, "got 1, want 2"},
		{func(r *recorder) { Equal(r, 1, 2, "bytes of", 3) }, "bytes of 3: got 1, want 2"},
		{func(r *recorder) { True(r, true, "%d", 1) }, ""},
		{func(r *recorder) { True(r, false, "%d bytes", 1) }, "1 bytes"},
		{func(r *recorder) { Fails(r, wrapped, first) }, ""},
		{func(r *recorder) { Fails(r, nil, nil) }, ""},
		{func(r *recorder) { Fails(r, first, nil) }, "the error is first, want <nil>"},
		{func(r *recorder) { Fails(r, nil, first) }, "the error is <nil>, want first"},
		{func(r *recorder) { Fails(r, eof, io.EOF) }, "the error is wrapped: EOF, want EOF"},
		{func(r *recorder) { Gives(r, 5, nil)(5, nil) }, ""},
		{func(r *recorder) { Gives(r, 5, first)(5, wrapped) }, ""},
		{func(r *recorder) { Gives(r, 5, nil, "x")(4, nil) }, "x: got 4, <nil>; want 5, <nil>"},
		{func(r *recorder) { Gives(r, 5, nil)(5, first) }, "got 5, first; want 5, <nil>"},
		{func(r *recorder) { Gives(r, "a", nil)(AsText([]byte("a"), nil)) }, ""},
		{func(r *recorder) { Fails(r, Err(1, wrapped), first) }, ""},
	} {
		var r recorder
		c.check(&r)
		if r.text != c.want {
			t.Errorf("%q, want %q", r.text, c.want)
		}
	}
}
