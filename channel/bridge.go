package channel

import "context"

// FromGo returns a channel that receives the values sent on in, and is closed
// when in is. A goroutine forwards the values, so a coroutine can wait for them
// without holding up its thread. The goroutine ends when in is closed and
// drained, when ctx is done, or at the next value after the channel was closed;
// then the goroutine closes the channel, and one value taken from in may be
// lost. The channel has the capacity of in.
func FromGo[T any](ctx context.Context, in <-chan T) *Chan[T] {
	c := Make[T](cap(in))
	go func() {
		defer c.closeOnce()
		for {
			select {
			case v, ok := <-in:
				if !ok || c.SendContext(ctx, v) != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return c
}

// ToGo returns a Go channel that receives the values sent on c, and is closed
// when c is. A goroutine forwards the values. It ends when c is closed and
// drained, or when ctx is done; then it closes the Go channel, and one value
// taken from c may be lost. The Go channel has the capacity of c. A coroutine
// must not wait on it.
func ToGo[T any](ctx context.Context, c *Chan[T]) <-chan T {
	out := make(chan T, c.Cap())
	go func() {
		defer close(out)
		for {
			v, err := c.RecvContext(ctx)
			if err != nil {
				return
			}
			select {
			case out <- v:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}
