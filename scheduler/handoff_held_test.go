package scheduler_test

import (
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/invariant"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/waitq"
	"github.com/netco-go/netco/scheduler"
)

func init() {
	children["blocks under a lock"] = crashing(scheduler.Options{Processors: 1}, func() {
		var g waitq.Guard
		g.Lock()
		<-make(chan int)
	})
}

// TestHandoffUnderALock: a coroutine that blocks in Go while it holds one of
// netco's locks ends the program, where invariants are checked.
func TestHandoffUnderALock(t *testing.T) {
	needHandoff(t)
	if !invariant.Enabled {
		t.Skip("only where invariants are checked")
	}
	out, status := child(t, "blocks under a lock")
	testenv.True(t, status == 2 && strings.Contains(out, "blocks in Go under a lock of netco's"),
		"exit status %d, want 2; %s", status, out)
}
