package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
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

// TestIdle: idle reports both servers.
func TestIdle(t *testing.T) {
	noChildren(t)
	var out bytes.Buffer
	code := run(context.Background(), []string{"idle", "-conns", "4", "-watch", "10ms", "-settle",
		"0s"}, &out, os.Stderr)
	if code != exitOK || !strings.Contains(out.String(), "netco ") {
		t.Errorf("exit code %d, %q", code, out.String())
	}
}
