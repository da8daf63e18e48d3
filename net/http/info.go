package http

import (
	"math"
	"sync"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/httpinfo"
	"github.com/netco-go/netco/internal/serving"
)

// open are the connections of all Servers.
var open struct {
	mu    sync.Mutex // held for a moment
	conns map[*conn]struct{}
}

func init() {
	httpinfo.Register(eachRequest)
	serving.RegisterEnd(ErrServerClosed)
	open.conns = map[*conn]struct{}{}
	goroutines.SetLimit(math.MaxInt)
}

// forget takes the connection, which is closed or given up, off the list.
func (c *conn) forget() {
	open.mu.Lock()
	defer open.mu.Unlock()
	delete(open.conns, c)
}

// eachRequest implements httpinfo.Each.
func eachRequest(f func(httpinfo.Request) bool) {
	var all []*response
	open.mu.Lock()
	for c := range open.conns {
		if w := c.current.Load(); w != nil {
			all = append(all, w)
		}
	}
	open.mu.Unlock()
	for _, w := range all {
		r := httpinfo.Request{Method: w.method, Target: w.target, Proto: w.proto,
			Remote: w.c.remote, Goroutine: w.aside.Load()}
		if w.began != 0 {
			r.Age = time.Duration(clock.Now() - w.began)
		}
		if !f(r) {
			return
		}
	}
}
