package channel

import "context"

// FromGo returns a channel that receives what in sends, and is closed when in is. An ordinary goroutine passes the values on, so
// coroutines can wait for them without holding up their thread. It ends when in is closed and all is received, or when ctx is
// over, or, at the next value, when the channel has been closed; then one value that was taken from in may be lost. When it ends
// it closes the channel. The channel's capacity is that of in.
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

// ToGo returns a Go channel that receives what c sends, and is closed when c is. An ordinary goroutine passes the values on. It ends
// when c is closed and all is received, or when ctx is over: then the Go channel is closed, and one value that was taken from
// c may be lost. The Go channel's capacity is that of c. A coroutine must not wait on it.
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
