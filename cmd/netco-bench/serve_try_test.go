package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// Each server to try load with answers it, and ends by an interrupt.
func TestServeTry(t *testing.T) {
	for _, c := range []struct{ name, scheme, flags string }{
		{"echo", "tcp", "-verify -size 64:1,40k:1"},
		{"http", "http", "-pipeline 4"},
		{"http", "http", "-body {size}"},
	} {
		for _, on := range []string{"net", "netco"} {
			t.Run(c.name+" on "+on, func(t *testing.T) {
				addr := freeAddr(t)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan int, 1)
				var stdout, stderr bytes.Buffer
				go func() {
					ended <- run(ctx, []string{"serve", c.name, "-on", on, "-addr", addr}, &stdout,
						&stderr)
				}()
				args := append([]string{c.scheme + "://" + addr + "/", "-n", "200", "-c", "3",
					"-max", "errors=0"}, strings.Fields(c.flags)...)
				code, out, errs := runLoadArgs(t, args...)
				for end := time.Now().Add(time.Minute); code == exitFailed &&
					strings.Contains(errs, "refused") && len(ended) == 0 &&
					time.Now().Before(end); {
					time.Sleep(10 * time.Millisecond) // it does not listen yet
					code, out, errs = runLoadArgs(t, args...)
				}
				if code != exitOK || !strings.Contains(out, "200 in") {
					t.Errorf("exit code %d\n%s\n%s", code, out, errs)
				}
				cancel()
				if code := <-ended; code != exitInterrupted ||
					!strings.Contains(stderr.String(), "serving "+c.name) {
					t.Errorf("the server's exit code is %d\n%s", code, &stderr)
				}
			})
		}
	}
}
