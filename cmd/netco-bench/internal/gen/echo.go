package gen

import (
	"math/rand/v2"

	"github.com/netco-go/netco/cmd/netco-bench/internal/work"
)

// streamPeriod is after how many bytes the echo stream repeats itself.
const streamPeriod = 64 << 10

// newStream returns the bytes that echo requests are cut from, long enough for
// any piece of up to longest bytes.
func newStream(longest int) []byte {
	s := make([]byte, streamPeriod+longest)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range streamPeriod {
		s[i] = byte(rng.Uint32())
	}
	for i := streamPeriod; i < len(s); i++ {
		s[i] = s[i-streamPeriod]
	}
	return s
}

// echo is the codec of servers that send back what they get. Each connection
// sends its own stretch of one stream, so an answer can be checked byte by byte
// without keeping what was sent, and bytes of another connection are noticed.
// If there are classes, the first byte of a request is its class.
type echo struct {
	mix     Mix
	weights int
	classes work.Mix // nil: there is one
	rng     *rand.Rand
	stream  []byte
	verify  bool

	sendAt, recvAt int          // positions in the stream, below streamPeriod
	inFlight       ring[echoed] // requests
	left           int          // bytes missing of the oldest one's answer
	out            []byte       // requests with their classes
}

// echoed is a request in flight.
type echoed struct {
	size  int
	class byte
}

func (e *echo) reset() {
	e.inFlight.clear()
	e.recvAt, e.left = e.sendAt, 0
}

func (e *echo) requests(k int) []byte {
	total := 0
	for range k {
		r := echoed{size: e.mix[e.mix.draw(e.rng, e.weights)].Size}
		if e.classes != nil {
			r.class = e.classes.Draw(e.rng)
		}
		if e.inFlight.count == 0 {
			e.left = r.size
		}
		e.inFlight.push(r)
		total += r.size
	}
	b := e.stream[e.sendAt : e.sendAt+total]
	e.sendAt = (e.sendAt + total) % streamPeriod
	if e.classes == nil {
		return b
	}
	e.out = append(e.out[:0], b...)
	for at, i := 0, e.inFlight.count-k; at < total; i++ {
		r := e.inFlight.at(i)
		e.out[at] = r.class
		at += r.size
	}
	return e.out
}

func (e *echo) answer(b []byte) (int, verdict, error) {
	if e.inFlight.count == 0 {
		return 0, 0, wrongf("%d bytes more than were sent", len(b))
	}
	n, r := min(e.left, len(b)), *e.inFlight.first()
	if e.verify {
		// Pieces are no longer than what was sent at once, as is the stream.
		want := e.stream[e.recvAt : e.recvAt+n]
		if e.classes != nil && e.left == r.size {
			want = append([]byte{r.class}, want[1:]...)
		}
		if string(want) != string(b[:n]) {
			return 0, 0, differ(b[:n], want)
		}
		e.recvAt = (e.recvAt + n) % streamPeriod
	}
	if e.left -= n; e.left > 0 {
		return n, 0, nil
	}
	e.inFlight.pop()
	if e.inFlight.count > 0 {
		e.left = e.inFlight.first().size
	}
	return n, complete | verdict(r.class)<<classShift, nil
}

func differ(got, want []byte) error {
	for i := range got {
		if got[i] != want[i] {
			return wrongf("byte %d of %d read is %#02x, was sent as %#02x", i, len(got), got[i],
				want[i])
		}
	}
	return nil
}

func (e *echo) end() verdict           { return 0 }
func (e *echo) failure(verdict) string { return "" }
