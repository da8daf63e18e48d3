package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// TestHold holds a few of each kind and wants a line for each with a plausible
// figure.
func TestHold(t *testing.T) {
	var out bytes.Buffer
	if code := run(context.Background(), []string{"hold", "-n", "2000", "-rounds", "1"}, &out,
		os.Stderr); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	for _, k := range holdKinds {
		if !strings.Contains(out.String(), k.name) {
			t.Errorf("nothing about %q in %q", k.name, out.String())
		}
	}
	if code := run(context.Background(), []string{"hold", "-n", "0"}, &out,
		&out); code != exitUsage {
		t.Errorf("-n 0: exit code %d, want %d", code, exitUsage)
	}
}

// TestIdleCounts: a busy process is not idle, and idle reports both servers.
func TestIdleCounts(t *testing.T) {
	before, err := countsOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	after := before
	for end := time.Now().Add(20 * time.Second); err == nil && after.cpu <= before.cpu &&
		time.Now().Before(end); {
		spin(20 * time.Millisecond)
		after, err = countsOf(os.Getpid())
	}
	if err != nil || after.cpu <= before.cpu {
		t.Errorf("CPU %v, then %v, %v", before.cpu, after.cpu, err)
	}
	var out bytes.Buffer
	code := run(context.Background(), []string{"idle", "-conns", "4", "-watch", "100ms", "-settle",
		"0s"}, &out, os.Stderr)
	if code != exitOK || !strings.Contains(out.String(), "netco ") {
		t.Errorf("exit code %d, %q", code, out.String())
	}
}
