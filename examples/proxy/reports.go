package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/netco-go/netco"
)

// reports writes errors that are not the end, one line a second at most, since
// peers can cause as many as they like. How many went without a line is
// said with the next.
type reports struct {
	program string
	to      io.Writer        // nil: stderr
	now     func() time.Time // nil: time.Now

	mu        sync.Mutex // held for a few instructions
	next      time.Time  // when a line may be written
	unwritten int
}

const reportEvery = time.Second

func (r *reports) report(err error) {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, netco.ErrShutdown) {
		return
	}
	now := time.Now
	if r.now != nil {
		now = r.now
	}
	at := now()
	r.mu.Lock()
	if at.Before(r.next) {
		r.unwritten++
		r.mu.Unlock()
		return
	}
	more := r.unwritten
	r.next, r.unwritten = at.Add(reportEvery), 0
	r.mu.Unlock()
	to := r.to
	if to == nil {
		to = os.Stderr
	}
	if more > 0 {
		fmt.Fprintf(to, "%s: %v (and %d errors before it)\n", r.program, err, more)
		return
	}
	fmt.Fprintf(to, "%s: %v\n", r.program, err)
}
