package times

import (
	"context"
	"time"

	"github.com/netco-go/netco"
)

func wait(ctx context.Context, t *time.Ticker) { // want wait:"time,done,time,time"
	time.Sleep(time.Second)            // want `time.Sleep in a coroutine: .*; use netco.Sleep`
	<-time.After(time.Second)          // want `receive from time.After in a coroutine: .*; use netco.After or netco.Sleep`
	<-ctx.Done()                       // want `receive from ctx.Done\(\) in a coroutine: .*; use sync.Wait\(ctx\)`
	<-t.C                              // want `receive from a time.Ticker in a coroutine: .*; use netco.NewTicker`
	for range time.Tick(time.Second) { // want `range over time.Tick in a coroutine: .*; use netco.Tick`
	}
}

// sleep is a variable: a test may assign another function.
var sleep = time.Sleep

func slept() { // want slept:"time"
	sleep(1) // want `time.Sleep in a coroutine`
}

func start(ctx context.Context) error {
	_, err := netco.Go(func() { wait(ctx, time.NewTicker(time.Second)); slept() })
	return err
}
