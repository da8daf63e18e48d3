package main

import (
	"context"
	"io"
	"os"
	"testing"
	"time"
)

// TestSoakShort is a soak as it runs for hours, cut down to what each of its parts needs to happen once.
func TestSoakShort(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	r, err := run(context.Background(), options{length: 20 * time.Second, idle: 50, log: io.Discard, out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if !r.print(os.Stdout) {
		t.Fail()
	}
}
