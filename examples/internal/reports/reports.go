// Package reports writes errors that peers can cause as many of as they like.
package reports

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

// Reports writes errors that are not the end, one line a second at most. How
// many went without a line is said with the next.
type Reports struct {
	Program string
	to      io.Writer        // nil: stderr
	now     func() time.Time // nil: time.Now

	mu        sync.Mutex // held for a few instructions
	next      time.Time  // when a line may be written
	unwritten int
}

// Every is how often a line is written at most.
const Every = time.Second

// Report writes err, unless it is the end of a listener or of netco.
func (r *Reports) Report(err error) {
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
	r.next, r.unwritten = at.Add(Every), 0
	r.mu.Unlock()
	to := r.to
	if to == nil {
		to = os.Stderr
	}
	if more > 0 {
		fmt.Fprintf(to, "%s: %v (and %d errors before it)\n", r.Program, err, more)
		return
	}
	fmt.Fprintf(to, "%s: %v\n", r.Program, err)
}
