package http

import (
	"math"
	"sync"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/httpinfo"
	"github.com/netco-go/netco/internal/serving"
)

// open holds the connections of all Servers.
var open struct {
	mu    sync.Mutex // held for a moment
	conns map[*conn]struct{}
}

func init() {
	httpinfo.Register(requests)
	serving.RegisterEnd(ErrServerClosed)
	open.conns = map[*conn]struct{}{}
	goroutines.SetLimit(math.MaxInt)
}

// forget takes a connection that is closed or given away off the list.
func (c *conn) forget() {
	open.mu.Lock()
	defer open.mu.Unlock()
	delete(open.conns, c)
}

// requests lists the requests under way.
func requests() (all []httpinfo.Request) {
	open.mu.Lock()
	defer open.mu.Unlock()
	for c := range open.conns {
		if w := c.current.Load(); w != nil {
			r := httpinfo.Request{Method: w.method, Target: w.target, Proto: w.proto,
				Remote: c.remote, Goroutine: w.aside.Load()}
			if w.began != 0 {
				r.Age = time.Duration(clock.Now() - w.began)
			}
			all = append(all, r)
		}
	}
	return all
}
