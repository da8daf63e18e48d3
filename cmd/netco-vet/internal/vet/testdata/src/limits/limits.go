// Package main is a program with a limit on coroutines. // want package:"limited"
package main

import (
	"github.com/netco-go/netco"
	"github.com/netco-go/netco/scheduler"
)

var options = scheduler.Options{MaxCoroutines: 10}

func main() {
	netco.Run(func() {
		netco.Go(func() {}) //netco-vet:ok it has nothing to close

		netco.Go(func() {}) // want `the error of netco.Go is ignored, as at limits.go:16, limits.go:17: with MaxCoroutines`
		netco.Go(func() {})
		netco.GoWith(netco.Spawn{Fn: func() {}})
	})
}
