package chans

import (
	"sync"

	"github.com/netco-go/netco"
)

func selects(a, b chan int) { // want selects:"chan"
	select { // want `select in a coroutine: .*; use channel.Select`
	case v := <-a:
		_ = v
	case b <- 1:
	}
	select {
	case <-a:
	default:
	}
}

func start(a, b chan int) (int, error) { // want start:"chan"
	if _, err := netco.Go(func() { selects(a, b) }); err != nil {
		return 0, err
	}
	result := make(chan int, 1)
	_, err := netco.Go(func() { result <- 1 }) // always has room
	if err != nil {
		return 0, err
	}
	for range 3 {
		full := make(chan int, 1)
		_, err = netco.Go(func() {
			for range 3 {
				full <- 1 // want `send to a Go channel`
			}
		})
	}
	return <-result, err
}

type pool struct{ free chan int }

// newPool makes room for what it puts in.
func newPool(n int, of []int) (*pool, chan int, chan int) { // want newPool:"chan"
	p := &pool{free: make(chan int, n)}
	for i := 0; i < n; i++ {
		p.free <- i
	}
	all := make(chan int, len(of))
	for _, v := range of {
		all <- v
	}
	few := make(chan int, 3)
	for i := range 3 {
		few <- i
	}
	short := make(chan int, 2)
	for i := range 3 {
		short <- i // want `send to a Go channel`
	}
	twice := make(chan int, n)
	for i := range n {
		twice <- i // want `send to a Go channel`
		twice <- i // want `send to a Go channel`
	}
	return p, all, few
}

func changed(n int) { // want changed:"chan"
	more := make(chan int, n)
	n++
	for i := range n {
		more <- i // want `send to a Go channel`
	}
}

func startPool() error {
	_, err := netco.Go(func() { newPool(3, nil); changed(3) })
	return err
}

type data struct {
	done, often chan error
	result      chan error
}

type request struct{ answer, full chan int }

// rooms has sends of which one excludes the others.
func (d *data) rooms(yes bool) { // want rooms:"chan"
	d.done = make(chan error, 1)
	_, err := netco.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				d.done <- nil
			}
		}()
		if yes {
			d.done <- nil
			return
		}
		d.done <- nil
	})
	first := make(chan error, 1)
	if yes {
		first <- err
	} else {
		first <- nil
	}
	several := make(chan error, 1)
	several <- err // the first one
	several <- err // want `send to a Go channel`
	close(several)
}

func newData() *data {
	return &data{often: make(chan error, 1), result: make(chan error, 1)}
}

func (d *data) event() { d.often <- nil } // want event:"chan" `send to a Go channel`

func (d *data) loop() { // want loop:"chan"
	result := make(chan error, 1)
	for {
		if d == nil {
			result <- nil
			return
		}
		if len(d.often) > 0 {
			<-d.often
		}
		<-d.often // want `receive from a Go channel`
	}
}

func ask(requests chan request) (int, int) { // want ask:"chan"
	answer := make(chan int, 1)
	r := request{answer: answer, full: make(chan int)}
	requests <- r             // want `send to a Go channel`
	return <-answer, <-r.full // want `receive from a Go channel` `receive from a Go channel`
}

func answers(requests chan request) { // want answers:"chan"
	for {
		r := <-requests // want `receive from a Go channel`
		r.answer <- 1
		r.full <- 1 // want `send to a Go channel`
	}
}

func startRooms(d *data, requests chan request) error {
	_, err := netco.Go(func() {
		d.rooms(true)
		d.event()
		d.loop()
		answers(requests)
		ask(requests)
	})
	return err
}

var pool1 = sync.Pool{New: func() any { return make(chan int, 1) }}

type job struct {
	done, later chan int
	limit       chan struct{}
	ended       chan bool
}

func newJob() *job {
	return &job{done: pool1.Get().(chan int), later: make(chan int, 1)}
}

// work takes its jobs from a channel.
func work(jobs chan *job, stop chan int, full chan *job) { // want work:"chan"
	var j *job
	for {
		select { // want `select in`
		case j = <-jobs:
		case <-stop:
			return
		}
		if stop == nil {
			j.done <- 1
			continue
		}
		j.done <- 2
		for range 3 {
			j.later <- 1 // want `send to a Go channel`
		}
	}
}

// held is a place in a semaphore.
func held(limit chan struct{}, j *job) { // want held:"chan"
	limit <- struct{}{} // want `send to a Go channel`
	defer func() { <-limit }()
	meet := make(chan struct{})
	meet <- struct{}{} // want `send to a Go channel`
	<-meet             // want `receive from a Go channel`
	<-j.limit          // want `receive from a Go channel`
}

// ends sends to a channel that is made for as many as there are, or not.
func ends(done chan error)  { done <- nil }
func lacks(done chan error) { done <- nil } // want lacks:"chan" `send to a Go channel`
func loops(done chan error) { done <- nil } // want loops:"chan" `send to a Go channel`

func both() error { // want both:"chan"
	done, few, many := make(chan error, 2), make(chan error, 1), make(chan error, 1)
	_, err := netco.Go(func() { ends(done) })
	if _, err := netco.Go(func() { ends(done) }); err != nil {
		go ends(done)
	}
	lacks(few)
	lacks(few)
	for range 3 {
		loops(many)
	}
	<-few  // want `receive from a Go channel`
	<-done // want `receive from a Go channel`
	return err
}

type semaphore chan struct{}

func (s semaphore) acquire() { s <- struct{}{} } // want acquire:"chan" `send to a Go channel`
func (s semaphore) release() { <-s }

// startJob starts what ends once.
func startJob() (*job, error) {
	j := &job{ended: make(chan bool, 1)}
	_, err := netco.Go(j.run)
	return j, err
}

func (j *job) run() {
	for {
		if j.done == nil {
			j.ended <- true
			return
		}
	}
}

func startJobs(jobs chan *job, stop chan int, limit chan struct{}) error {
	_, err := netco.Go(func() {
		work(jobs, stop, nil)
		held(limit, newJob())
		both()
		semaphore(limit).acquire()
		semaphore(limit).release()
	})
	return err
}
