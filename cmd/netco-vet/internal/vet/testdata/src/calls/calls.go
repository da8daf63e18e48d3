package calls

import (
	"context"
	"database/sql"
	"net/http"
	"os/exec"

	"dep"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
)

var ch = make(chan int)

type server struct {
	client dep.Client
	db     *sql.DB
}

func (s *server) serve() { // want serve:"sql,chan,waits"
	s.client.Do()          // want `receive from a Go channel in a coroutine: its Processor's other coroutines wait up to 10 ms, until they are handed on; use channel.Make of netco/channel \(coroutine started at calls.go:\d+ → server.serve → dep.Client.Do → Client.get → dep.go:10\)`
	s.db.Query("select 1") // want `database/sql.DB.Query in a coroutine: .*; call it by blocking.Call`
	blocking.Do(context.Background(), func() { s.client.Do(); s.db.Ping() })
}

func entries(s *server, sch *scheduler.Scheduler) { // want entries:"waits"
	netco.Go(s.serve) // want `the error of netco.Go is ignored`
	_, _ = netco.GoWith(netco.Spawn{Name: "x", Fn: func() {
		for range ch { // want `range over a Go channel`
		}
	}})
	sp := netco.Spawn{Local: true}
	sp.Fn = func() { ch <- 1 } // want `send to a Go channel`
	_, _ = netco.GoWith(sp)
	_, _ = sch.Go(func() { <-ch })      // want `receive from a Go channel`
	netco.AfterFunc(1, func() { <-ch }) // want `receive from a Go channel`
	var wg sync.WaitGroup
	sync.Async(func() (int, error) { <-ch; return 0, nil })                               // want `receive from a Go channel`
	_, _ = sch.GoWith(scheduler.Spawn{Fn: func() { <-ch }})                               // want `receive from a Go channel`
	netco.Main(func(ctx context.Context) error { <-ch; return nil }, netco.MainOptions{}) // want `receive from a Go channel`
	wg.Wait()
}

func handle(c *socket.ServerConn) error { // want handle:"http"
	http.Get("http://localhost/") // want `net/http.Get in a coroutine`
	return nil
}

func opened(c *socket.ServerConn) error { // want opened:"exec"
	return exec.Command("true").Run() // want `os/exec.Cmd.Run in a coroutine`
}

func serve() *socket.Server {
	s := &socket.Server{Handle: handle}
	s.Opened = opened
	return s
}

// spawn is a program's own way to start coroutines.
func spawn(f func()) { // want spawn:"starts"
	if _, err := netco.Go(func() { f() }); err != nil {
		panic(err)
	}
}

func handedOver() {
	spawn(func() { <-ch }) // want `receive from a Go channel in a coroutine: .* \(coroutine started at calls.go:\d+\)`
	_ = netco.Run(func() {
		dep.Apply(func() { <-ch }) // want `receive from a Go channel`
		dep.Retry(func() {})       // want `time.Sleep in a coroutine: .* → dep.Retry → dep.go:15`
		dep.Background(func() { <-ch })
		go func() { <-ch }()
		defer func() { <-ch }()       // want `receive from a Go channel`
		netco.Shield(func() { <-ch }) // want `receive from a Go channel`
		f := func() { <-ch }          // want `receive from a Go channel`
		f()
		netco.Yield()
	})
}

// An interface is not followed, and what is allowed is not reported.
type doer interface{ Do() int }

func unknown(d doer) error {
	_, err := netco.Go(func() {
		d.Do()
		<-ch //netco-vet:ok once, at the end
	})
	return err
}
