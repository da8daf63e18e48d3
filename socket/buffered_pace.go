package socket

import "github.com/netco-go/netco/processor"

// bufferPace lets others run between requests that are served from a buffer: 16
// KiB of small ones may take longer than a second, and none of them makes a
// system call, where socket.pace would look at the clock. The reader's.
//
// Reads that find something count units. At each step of so many it looks at
// the clock, and yields when the turn is over. The step is shorter where what
// is done between two reads takes long.
type bufferPace struct {
	units uint8 // since the last look at the clock
	step  uint8 // 0 is maxStep
}

const (
	callUnits = 8  // a ReadByte counts one
	maxStep   = 64 // eight calls: one look at the clock, some 40 ns, for as many requests
)

func (x *bufferPace) call() {
	if x.units += callUnits; x.units >= x.step {
		x.look()
	}
}

func (x *bufferPace) byte() {
	if x.units++; x.units >= x.step {
		x.look()
	}
}

// look yields if the turn is over, and adapts the step: down to one call when
// it has come twice as late as it should, up again by doubling.
func (x *bufferPace) look() {
	if x.step == 0 {
		x.step = maxStep // the first request of all
		return
	}
	x.units = 0
	age := processor.TurnAge()
	switch {
	case age < processor.TurnLimit:
		x.step = min(2*x.step, maxStep)
		return
	case age >= 2*processor.TurnLimit:
		x.step = callUnits
	}
	// A coroutine that is to end by force finds that out when the buffer is empty.
	processor.YieldTurn()
}
