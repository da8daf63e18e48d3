package processor_test

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/processor"
)

// A group of one Processor. Package scheduler does this, and more, for any
// number.
func Example() {
	g := processor.NewGroup(nil)
	p, err := processor.New(processor.Config{Group: g, CPU: -1, LockThread: true, Idle: 16,
		BufferSize: 4096, Logger: zap.NewNop()})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := p.Start(); err != nil {
		fmt.Println(err)
		return
	}
	h, err := g.Go(nil, nil, &coroutine.Spawn{Name: "sleeper", Fn: func() {
		processor.Sleep(1)
		fmt.Println("on processor", processor.Current().Index())
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	h.Join()
	<-g.Quiet()
	g.Advance(processor.Stopped)
	<-p.Ended()
	fmt.Println(processor.Current() == nil)
	// Output:
	// on processor 0
	// true
}
