// Package channames has the name channel for something else.
package channames

import "github.com/netco-go/netco"

func produce(channel chan int, done chan bool) { // want produce:"chan,chan"
	results := make(chan int)
	results <- 1 // want `send to a Go channel`
	channel <- 1 // want `send to a Go channel`
	<-done       // want `receive from a Go channel`
	defer close(done)
}

func start() error {
	_, err := netco.Go(func() { produce(make(chan int), make(chan bool)) })
	return err
}
