package stacks

import (
	"os"
	"runtime/debug"
	"strings"
	"sync"
)

// Preemptive reports whether a goroutine that computes without a call can be
// stopped: GODEBUG can forbid it.
var Preemptive = sync.OnceValue(func() bool {
	settings := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "DefaultGODEBUG" {
				settings = s.Value
			}
		}
	}
	return preemptive(settings, os.Getenv("GODEBUG"))
})

// preemptive looks into settings like "a=1,b=0", of which the last holds.
func preemptive(settings ...string) bool {
	can := true
	for word := range strings.SplitSeq(strings.Join(settings, ","), ",") {
		if value, ok := strings.CutPrefix(word, "asyncpreemptoff="); ok {
			can = value == "0"
		}
	}
	return can
}
