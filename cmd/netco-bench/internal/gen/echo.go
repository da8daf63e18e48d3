package gen

import "math/rand/v2"

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
type echo struct {
	mix     Mix
	weights int
	rng     *rand.Rand
	stream  []byte
	verify  bool

	sendAt, recvAt int       // positions in the stream, below streamPeriod
	sizes          ring[int] // of the requests in flight
	left           int       // bytes missing of the oldest one's answer
}

func (e *echo) reset() {
	e.sizes.clear()
	e.recvAt, e.left = e.sendAt, 0
}

func (e *echo) requests(k int) []byte {
	total := 0
	for range k {
		size := e.mix[e.mix.draw(e.rng, e.weights)].Size
		if e.sizes.count == 0 {
			e.left = size
		}
		e.sizes.push(size)
		total += size
	}
	b := e.stream[e.sendAt : e.sendAt+total]
	e.sendAt = (e.sendAt + total) % streamPeriod
	return b
}

func (e *echo) answer(b []byte) (int, verdict, error) {
	if e.sizes.count == 0 {
		return 0, 0, wrongf("%d bytes more than were sent", len(b))
	}
	n := min(e.left, len(b))
	if e.verify {
		// Pieces are no longer than what was sent at once, as is the stream.
		if want := e.stream[e.recvAt : e.recvAt+n]; string(want) != string(b[:n]) {
			return 0, 0, differ(b[:n], want)
		}
		e.recvAt = (e.recvAt + n) % streamPeriod
	}
	if e.left -= n; e.left > 0 {
		return n, 0, nil
	}
	e.sizes.pop()
	if e.sizes.count > 0 {
		e.left = *e.sizes.first()
	}
	return n, complete, nil
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
