package scheduler_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// counted returns how many handoffs were counted by a call.
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
