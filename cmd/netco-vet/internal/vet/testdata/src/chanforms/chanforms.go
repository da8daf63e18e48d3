// Package chanforms has uses of channels of which some have no counterpart.
package chanforms

import (
	"time"

	"github.com/netco-go/netco"
)

type (
	event   struct{ name string }
	request struct{ reply chan int }
	message struct{ text string }
	nested  chan chan uint8
)

// literals: what a select sends is written out.
func literals(events chan event, quit chan struct{}) { // want literals:"chan"
	select { // want `select in a coroutine`
	case events <- event{"it's"}:
	case <-quit:
	case <-time.After(3 * time.Second):
	}
}

type failure struct{}

func (*failure) Error() string { return "" }

// becomes: what is sent has a type of its own.
func becomes(errs chan error, quit chan bool, e *failure) { // want becomes:"chan"
	select { // want `select in a coroutine`
	case errs <- e:
	case errs <- nil:
	case quit <- true:
	}
}

// within: an operand that would have to be rewritten keeps its select.
func within(requests chan request, replies chan int) { // want within:"chan"
	select { // want `select in a coroutine`
	case requests <- request{make(chan int)}:
	case <-replies:
	}
}

// shadowed: the type cannot be written where a variable has its name.
func shadowed(messages chan message) { // want shadowed:"chan"
	var message message
	select { // want `select in a coroutine`
	case message = <-messages:
		_ = message
	}
}

// pointers: x.Recv() of *p is not that of p.
func pointers(p *chan string) { // want pointers:"chan,chan"
	*p <- "" // want `send to a Go channel`
	<-*p     // want `receive from a Go channel`
	close(*p)
}

// named: what is made of a named type has to be written, too.
func named() { // want named:"chan"
	<-make(nested) // want `receive from a Go channel`
}

// slept: another file's test may assign sleep.
var sleep = time.Sleep

func slept() { // want slept:"time"
	sleep(1) // want `time.Sleep in a coroutine`
}

func start() error {
	_, err := netco.Go(func() {
		literals(make(chan event), make(chan struct{}))
		becomes(make(chan error), make(chan bool), nil)
		within(make(chan request), make(chan int))
		shadowed(make(chan message))
		pointers(new(chan string))
		named()
		slept()
	})
	return err
}
