// Package netco has the names that the tests need.
package netco

import (
	"context"
	"net"
	"time"

	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
)

type Handle struct{}

type (
	Spawn       = coroutine.Spawn
	MainOptions struct{}
	Timer       struct{}
)

func Run(fn func()) error                                      { return nil }
func Main(main func(context.Context) error, o MainOptions) int { return 0 }
func Go(fn func()) (Handle, error)                             { return Handle{}, nil }
func GoWith(s Spawn) (Handle, error)                           { return Handle{}, nil }
func AfterFunc(d time.Duration, f func()) *Timer               { return nil }
func After(d time.Duration) *channel.Chan[time.Time]           { return nil }
func Sleep(d time.Duration)                                    {}
func Yield()                                                   {}
func Shield(f func())                                          {}
func Serve(ln net.Listener, handler func(net.Conn)) error      { return nil }
func Listen(network, address string) (net.Listener, error)     { return nil, nil }
func Dial(network, address string) (net.Conn, error)           { return nil, nil }
