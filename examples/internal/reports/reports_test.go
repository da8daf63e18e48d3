package reports

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// TestReports: one line a second, however many errors peers cause.
func TestReports(t *testing.T) {
	var out bytes.Buffer
	now := time.Now()
	r := Reports{Program: "test", to: &out, now: func() time.Time { return now }}
	for range 3 {
		for range 1000 {
			r.Report(errors.New("bad"))
		}
		r.Report(net.ErrClosed) // is none
		now = now.Add(Every)
	}
	want := "test: bad\ntest: bad (and 999 errors before it)\ntest: bad (and 999 errors before " +
		"it)\n"
	if out.String() != want {
		t.Errorf("%d lines: %.300q", strings.Count(out.String(), "\n"), out.String())
	}
}
