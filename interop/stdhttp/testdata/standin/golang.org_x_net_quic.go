// Package quic stands for golang.org/x/net/quic. No test uses it: from Go 1.27
// on net/http's tests are prepared for HTTP/3, and leave it out.
package quic

import (
	"context"
	"net/netip"
)

type Endpoint struct{}

func (*Endpoint) LocalAddr() (a netip.AddrPort) { return a }
func (*Endpoint) Close(context.Context) error   { return nil }
