package main

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// TestReports: one line a second, however many errors peers cause. There
// was one for each datagram that could not be answered.
func TestReports(t *testing.T) {
	var out bytes.Buffer
	now := time.Now()
	r := reports{program: "test", to: &out, now: func() time.Time { return now }}
	for range 3 {
		for range 1000 {
			r.report(errors.New("bad"))
		}
		r.report(net.ErrClosed) // is none
		now = now.Add(reportEvery)
	}
	want := "test: bad\ntest: bad (and 999 errors before it)\ntest: bad (and 999 errors before " +
		"it)\n"
	if out.String() != want {
		t.Errorf("%d lines: %.300q", strings.Count(out.String(), "\n"), out.String())
	}
}
