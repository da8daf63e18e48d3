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

// counted returns how many handoffs s has counted by place.
func counted(s *scheduler.Scheduler) (n uint64) {
	for _, one := range s.Handoffs() {
		n += one.Count
	}
	return n
}

// ofThisFile returns the places in this file where coroutines were left behind,
// and how often that was in all.
func ofThisFile(s *scheduler.Scheduler) (list []scheduler.Handoff, n uint64) {
	for _, one := range s.Handoffs() {
		if strings.Contains(one.BlockedAt, "/handoffs_test.go:") {
			list, n = append(list, one), n+one.Count
		}
	}
	return list, n
}

// TestHandoffsByPlace: Handoffs distinguishes two lines of one function, and
// lists the more frequent line first.
func TestHandoffsByPlace(t *testing.T) {
	needHandoff(t)
	s := start(t, scheduler.Options{Processors: 1})
	for i := range 3 {
		_, before := ofThisFile(s)
		for n := before; n == before; _, n = ofThisFile(s) { // a wait elsewhere may be the cause
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

// TestHandoffShortWaits: a coroutine that blocks again and again is left
// behind, even if each wait is shorter than the monitor's interval. It holds up
// its Processor as much as a single long wait does.
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
