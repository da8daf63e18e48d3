// Package main is a program without a limit on coroutines: none is refused
// before it ends.
package main

import "github.com/netco-go/netco"

func main() {
	netco.Run(func() {
		netco.Go(func() {})
		netco.Go(func() {})
	})
}
