package load

import "math/rand/v2"

const (
	// streamPeriod is prime, so that no message size keeps step with it, and
	// small enough for the cache.
	streamPeriod = 4093
	// maxChunk bounds one read or write.
	maxChunk = 256 << 10
)

// newStream returns random bytes that repeat after streamPeriod, long enough to
// slice maxChunk bytes at any position below streamPeriod.
func newStream() []byte {
	rng := rand.New(rand.NewPCG(0x6e6574, 0x636f))
	s := make([]byte, streamPeriod+maxChunk)
	for i := range s[:streamPeriod] {
		s[i] = byte(rng.Uint32())
	}
	for i := streamPeriod; i < len(s); i++ {
		s[i] = s[i-streamPeriod]
	}
	return s
}

// Stream returns what requests are stretches of: position i of the stream and
// the one behind it are Stream()[i:i+2]. Unless the size of the requests is a
// multiple of its length less one, they begin at all positions equally often.
func Stream() []byte { return newStream()[:streamPeriod+1] }

// streamStart is where connection i begins in the stream.
func streamStart(i int) int { return i * 911 % streamPeriod }
