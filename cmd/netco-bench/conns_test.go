package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestConns holds a few connections on each server and wants a line for each;
// what makes no sense is refused.
func TestConns(t *testing.T) {
	noChildren(t)
	var out bytes.Buffer
	args := []string{"conns", "-conns", "200", "-rounds", "1", "-settle", "0s"}
	if code := run(context.Background(), args, &out, os.Stderr); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	for _, server := range []string{"net ", "netco ", "netco-idle "} {
		if !strings.Contains(out.String(), server) {
			t.Errorf("nothing about %q in %q", server, out.String())
		}
	}
	for _, bad := range [][]string{{"-conns", "0"}, {"-servers", "apache"}, {"-settle", "-1s"}} {
		if code := run(context.Background(), append([]string{"conns"}, bad...), &out,
			&out); code != exitUsage {
			t.Errorf("%v: exit code %d, want %d", bad, code, exitUsage)
		}
	}
}

// TestFair: pings are read in both ways of serving, and beside a firehose that
// flows.
func TestFair(t *testing.T) {
	var out bytes.Buffer
	longEnough(t, func(duration string) error {
		out.Reset()
		if code := run(context.Background(), []string{"fair", "-rounds", "1", "-duration",
			duration}, &out, os.Stderr); code != exitOK {
			return fmt.Errorf("exit code %d", code)
		}
		for line := range strings.Lines(out.String()) {
			f := strings.Fields(line)
			n := len(f) // beside, p50, p99, max, the firehose's rate
			if n > 5 && (f[n-5] == "true" || f[n-5] == "false") &&
				(f[n-2] == "0" || (f[n-1] == "0") != (f[n-5] == "false")) {
				return fmt.Errorf("%s", line)
			}
		}
		return nil
	})
	if n := strings.Count(out.String(), "true"); n != 2 {
		t.Errorf("%q", out.String())
	}
	if code := run(context.Background(), []string{"fair", "-every", "0s"}, &out,
		&out); code != exitUsage {
		t.Errorf("-every 0: exit code %d, want %d", code, exitUsage)
	}
}

// TestPingsTogether: those that were kept waiting are all counted, each with
// its own delay, and the firehose is distinguished from them.
func TestPingsTogether(t *testing.T) {
	var f fairServer
	var pings []byte
	for _, sent := range []uint64{1000, 2000, 3000} {
		pings = binary.NativeEndian.AppendUint64(pings, sent)
	}
	f.take(pings, 4000)
	f.take(make([]byte, 13), 5000)
	f.take(make([]byte, 3), 5000)
	f.take(nil, 5000)
	if f.pings != 3 || f.hose != 16 || f.delays.At(1) > 1100 ||
		f.delays.At(100) < 2900 {
		t.Errorf("%d pings, %d bytes beside, delays %d to %d", f.pings, f.hose,
			f.delays.At(1), f.delays.At(100))
	}
}
