package flushes

import (
	"context"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/socket"
)

func serve(b *socket.Buffered) { // want serve:"time,waits"
	for {
		if _, err := b.ReadLine(); err != nil {
			return
		}
		b.WriteString("working\n")
		blocking.Do(context.Background(), func() {}) // want `b has something unsent across blocking.Do in a coroutine: the peer waits for it meanwhile; call b.Flush first`
		b.WriteString("done\n")
		b.Flush()
		netco.Yield()
		b.WriteString("next\n")
		time.Sleep(1) // want `time.Sleep` `b has something unsent across time.Sleep`
	}
}

func start(b *socket.Buffered) error {
	_, err := netco.Go(func() { serve(b) })
	return err
}
