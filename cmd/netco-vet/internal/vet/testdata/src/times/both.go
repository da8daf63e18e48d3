package times

import (
	"context"
	"sync"

	"github.com/netco-go/netco"
)

var mu sync.Mutex // held for a moment

func both(ctx context.Context) error {
	_, err := netco.Go(func() {
		mu.Lock()
		mu.Unlock()
		<-ctx.Done() // want `receive from ctx.Done\(\) in a coroutine: .*; use sync.Wait\(ctx\)`
	})
	return err
}
