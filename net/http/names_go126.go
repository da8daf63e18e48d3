//go:build go1.26

package http

import (
	"context"
	stdhttp "net/http"
)

// ClientConn is the standard's: its calls block, and do not park a coroutine.
type ClientConn = stdhttp.ClientConn

// NewClientConn makes a connection of the standard's Transport. Parks.
func (t *Transport) NewClientConn(
	ctx context.Context, scheme, address string,
) (*ClientConn, error) {
	return onGoroutine(func() (*ClientConn, error) {
		return t.std().NewClientConn(ctx, scheme, address)
	}, func(cc *ClientConn) { cc.Close() })
}
