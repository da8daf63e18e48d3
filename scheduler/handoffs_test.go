package scheduler_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// causes are what the blockers are counted as; "unknown" those that are parked
// in an iterator of Go's, in which another goroutine blocks.
var causes = map[string]string{
	"channel receive": diagnose.CauseChannel, "channel send": diagnose.CauseChannel,
	"nested select": diagnose.CauseChannel,
	"context":       diagnose.CauseChannel, "Sleep": diagnose.CauseSleep,
	"Mutex":               diagnose.CauseMutex,
	"RWMutex for reading": diagnose.CauseMutex, "RWMutex for writing": diagnose.CauseMutex,
	"Cond": diagnose.CauseWait, "WaitGroup": diagnose.CauseWait,
	"system call": diagnose.CauseSyscall, "file": diagnose.CauseIO,
	"iterator that blocks":         diagnose.CauseUnknown,
	"iterator that waits in netco": diagnose.CauseUnknown,
	"fiber that blocks":            diagnose.CauseChannel,
	"fiber in a fiber":             diagnose.CauseChannel,
	"file that another reads":      diagnose.CauseIO, "bubble": diagnose.CauseWait,
}

// TestHandoffs: handoffs are counted by what the coroutine was blocked by and
// by the user's call; one that had woken meanwhile by neither.
func TestHandoffs(t *testing.T) {
	needHandoff(t)
	for _, b := range blockers {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, scheduler.Options{Processors: 1})
			var last scheduler.Handoff
			for last.BlockedAt == "" { // a sleep may be over when it is looked at
				before := counted(s)
				h, release := blocks(t, s, b)
				testenv.Until(t, "a handoff", func() bool { return counted(s) > before })
				for _, one := range s.Handoffs() {
					if one.Coroutine == h.ID() {
						last = one
					}
				}
				release()
				h.Join()
			}
			testenv.True(t, last.Cause == causes[b.name] &&
				strings.Contains(last.BlockedAt, "/scheduler/handoff") && last.Name == "blocks" &&
				last.Count == 1 && (last.Detail != "" || last.Cause == diagnose.CauseUnknown),
				"%+v", last)
		})
	}
}

// blocks starts a coroutine that blocks until it is released.
func blocks(t *testing.T, s *scheduler.Scheduler, b blocker) (coroutine.Handle, func()) {
	t.Helper()
	wait, release := b.make(t)
	h := testenv.Must(s.GoWith(scheduler.Spawn{Name: "blocks", Fn: func() { wait() }}))
	return h, release
}

func counted(s *scheduler.Scheduler) (n uint64) {
	for _, one := range s.Handoffs() {
		n += one.Count
	}
	return n
}

// ofThisFile returns the handoffs by calls in this file, and how often there
// was one.
func ofThisFile(s *scheduler.Scheduler) (list []scheduler.Handoff, n uint64) {
	for _, one := range s.Handoffs() {
		if strings.Contains(one.BlockedAt, "/handoffs_test.go:") {
			list, n = append(list, one), n+one.Count
		}
	}
	return list, n
}

// TestHandoffsByPlace: two places in one function are two, with their lines,
// and the more frequent comes first.
func TestHandoffsByPlace(t *testing.T) {
	needHandoff(t)
	s := start(t, scheduler.Options{Processors: 1})
	for i := range 3 {
		_, before := ofThisFile(s)
		for n := before; n == before; _, n = ofThisFile(s) { // another wait may be the cause
			all := counted(s)
			c := make(chan int)
			h := testenv.Must(s.Go(func() {
				if i == 0 {
					<-c
				} else {
					<-c // another line
				}
			}))
			testenv.Until(t, "a handoff", func() bool { return counted(s) > all })
			close(c)
			h.Join()
		}
	}
	all, _ := ofThisFile(s)
	if len(all) != 2 || all[0].Count != 2 || all[1].Count != 1 {
		t.Fatalf("%+v", all)
	}
	var lines [2]int
	for i, one := range all {
		_, rest, _ := strings.Cut(one.BlockedAt, "/handoffs_test.go:")
		fmt.Sscan(rest, &lines[i])
	}
	testenv.Equal(t, lines[0], lines[1]+2, "in lines", lines)
}

// TestHandoffShortWaits: a coroutine that waits again and again, each time for
// less than a look of the monitor's takes to come, holds up its Processor as
// one that waits once, and is left behind.
func TestHandoffShortWaits(t *testing.T) {
	needHandoff(t)
	s := start(t, scheduler.Options{Processors: 1})
	var over atomic.Bool
	h := testenv.Must(s.Go(func() {
		for !over.Load() {
			time.Sleep(time.Millisecond)
		}
	}))
	testenv.Until(t, "a handoff", func() bool { return handoffs(s) > 0 })
	over.Store(true)
	h.Join()
}
