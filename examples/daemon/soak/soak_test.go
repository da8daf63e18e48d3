package main

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

// TestSoakShort is a soak as it runs for hours, at full length cut down to what
// each of its parts needs to happen once, and otherwise to the load, the first
// disturbances, and the end.
func TestSoakShort(t *testing.T) {
	length := max(2*time.Second, time.Duration(float64(20*time.Second)*testenv.Scale()))
	r, err := run(context.Background(), options{length: length, idle: 50, log: io.Discard,
		out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if !r.print(os.Stdout) {
		t.Fail()
	}
}
