// Package work is what an echo server does for each request between reading it
// and answering it: it computes, or sleeps as a handler does that waits for
// another server.
//
// The work is a fixed number of rounds of integer arithmetic. The process that
// puts on the load measures once how long a round takes, so all the servers it
// compares compute exactly the same. A round is computation and nothing else: a
// server that is preempted goes on where it was, nothing allocates, nothing
// calls into the kernel.
//
// A mix has several classes of requests. The generator draws the class of each,
// which is the request's first byte.
package work

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// MaxTime bounds the work of one request.
const MaxTime = 10 * time.Second

// A Class is one kind of request.
type Class struct {
	Time  time.Duration
	Sleep bool    // in Go, without computing
	Share float64 // of all requests
}

// sleeping precedes the time of a class that sleeps.
const sleeping = "sleep="

// Name is the class's time, as Parse reads it.
func (c Class) Name() string {
	if c.Sleep {
		return sleeping + c.Time.String()
	}
	return c.Time.String()
}

// A Mix is the classes that the requests are of. An empty one is no work.
type Mix []Class

// Parse reads a duration, or several with the share of each behind a colon. One
// has no share and gets what the others leave: 5us,2ms:0.05. Behind sleep= a
// duration is slept: 5us,sleep=1ms:0.1.
func Parse(s string) (Mix, error) {
	var m Mix
	rest, left := -1, 1.0
	for part := range strings.SplitSeq(s, ",") {
		c, shared, err := parseClass(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if !shared {
			if rest >= 0 {
				return nil, errors.New("more than one has no share, as in 5us,2ms:0.05")
			}
			rest = len(m)
		}
		left -= c.Share
		m = append(m, c)
	}
	if rest < 0 || left <= 0 {
		return nil, errors.New("the shares must leave some for one without, as in 5us,2ms:0.05")
	}
	if len(m) > 1<<8 {
		return nil, errors.New("a byte tells no more than 256 classes apart")
	}
	m[rest].Share = left
	return m, nil
}

// String is what Parse reads.
func (m Mix) String() string {
	var parts []string
	for i, c := range m {
		part := c.Name()
		if i > 0 {
			part += fmt.Sprintf(":%.6g", c.Share)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// Draw returns the index of a class, each as often as its share says.
func (m Mix) Draw(rng *rand.Rand) byte {
	at := rng.Float64()
	for i, c := range m[1:] {
		if at -= c.Share; at < 0 {
			return byte(i + 1)
		}
	}
	return 0
}

func parseClass(s string) (c Class, shared bool, err error) {
	text, share, shared := strings.Cut(s, ":")
	text, c.Sleep = strings.CutPrefix(text, sleeping)
	if c.Time, err = time.ParseDuration(text); err != nil || c.Time < 0 || c.Time > MaxTime {
		return c, false, fmt.Errorf("%q is no time from 0 to %v, such as 40us", text, MaxTime)
	}
	if !shared {
		return c, false, nil
	}
	if c.Share, err = strconv.ParseFloat(share, 64); err != nil || !(c.Share > 0 && c.Share < 1) {
		return c, false, fmt.Errorf("the share %q is no number between 0 and 1, such as 0.05",
			share)
	}
	return c, true, nil
}

// speedTries is how often Speed measures; the fastest counts, since whatever
// else the machine does only makes it slower.
const speedTries = 20

// Speed returns how many rounds this machine computes in a nanosecond.
func Speed() float64 {
	const rounds = 1 << 20
	best := time.Duration(math.MaxInt64)
	for range speedTries {
		start := time.Now()
		sink = compute(rounds, sink)
		best = min(best, time.Since(start))
	}
	return rounds / float64(max(best, 1))
}

// sink keeps Speed's computation from being removed.
var sink uint64

// compute is n rounds of work. Each needs the result of the one before.
//
//go:noinline
func compute(n, x uint64) uint64 {
	x |= 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
