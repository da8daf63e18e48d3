package chans

import (
	"sync"

	"github.com/netco-go/netco"
)

func waits(a, b chan int) { // want waits:"chan"
	select { // want `select in a coroutine: .*; use channel.Select`
	case v := <-a:
		_ = v
	case b <- 1:
	}
	select {
	case <-a:
	default:
	}
	b <- 1               // want `send to a Go channel in a coroutine: .*; use channel.Make`
	if v := <-a; v > 0 { // want `receive from a Go channel in a coroutine: .*; use channel.Make`
		for range a { // want `range over a Go channel in a coroutine: .*; use channel.Make`
		}
	}
}

type request struct{ answer, full, later chan int }

var answers = sync.Pool{New: func() any { return make(chan int, 1) }}

func newRequest() *request {
	r := &request{answer: make(chan int, 1), full: make(chan int), later: answers.Get().(chan int)}
	return r
}

// answer sends to what has room, wherever that is made, and to what has none.
func answer(requests chan *request, n int) { // want answer:"chan"
	own, computed, none := make(chan int, 2), make(chan int, n), make(chan int, 0)
	own <- 1
	computed <- 1
	none <- 1                 // want `send to a Go channel`
	for r := range requests { // want `range over a Go channel`
		r.answer <- 1
		r.later <- 1
		r.full <- 1 // want `send to a Go channel`
		hand(r.answer)
	}
	either := own
	if n > 1 {
		either = none
	}
	either <- 1 // want `send to a Go channel`
	hand(either)
}

func hand(ch chan int) { ch <- 1 } // want hand:"chan" `send to a Go channel`

// twice hands over one channel for two values.
func twice() {
	ch := make(chan int, 2)
	result(ch)
	result(ch)
}

func result(ch chan int) { ch <- 1 }

// notEmpty takes what is there.
func notEmpty(r *request) { // want notEmpty:"chan"
	if len(r.answer) > 0 {
		<-r.answer
	}
	for len(r.answer) > 0 {
		<-r.answer
	}
	<-r.answer // want `receive from a Go channel`
}

// held is a place in a semaphore.
func held(limit, other chan struct{}) { // want held:"chan"
	limit <- struct{}{} // want `send to a Go channel`
	defer func() { <-limit }()
	go func() { other <- struct{}{} }()
	<-other // want `receive from a Go channel`
}

type semaphore chan struct{}

func (s semaphore) acquire() { s <- struct{}{} } // want acquire:"chan" `send to a Go channel`
func (s semaphore) release() { <-s }

func start(a, b chan int, requests chan *request, limit chan struct{}) error {
	_, err := netco.Go(func() {
		waits(a, b)
		answer(requests, 3)
		twice()
		notEmpty(newRequest())
		held(limit, limit)
		semaphore(limit).acquire()
		semaphore(limit).release()
	})
	return err
}
