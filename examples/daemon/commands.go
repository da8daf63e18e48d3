package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/socket"
)

// Bounds of what one request may ask for.
const (
	maxRounds   = 1 << 24 // of a request, all its children together: some 30 ms
	maxChildren = 1000
	maxPause    = time.Minute // of a coroutine's own, which holds up nothing else
	maxFault    = time.Hour   // with -faults

	// A job that blocks holds one of the goroutines that all coroutines
	// share: name look-ups, for one, need them too. So it must be short, all
	// such jobs together get a quarter of these 256, and a request
	// that has waited jobWait for its turn is refused.
	maxJob  = time.Second
	maxJobs = 64
	jobWait = time.Second
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// do does what r asks and answers it.
func (s *service) do(b *socket.Buffered, r request) error {
	switch r.command {
	case cmdEcho:
		return answer(b, statusDone, r.number, binary.BigEndian.AppendUint32(nil,
			crc32.Checksum(r.args, castagnoli)), r.args)
	case cmdHash:
		var ms uint32
		n, err := binary.Decode(r.args, binary.BigEndian, &ms)
		if err != nil || milliseconds(ms) > maxJob {
			return refusal("hash wants milliseconds, 1000 at most, and bytes")
		}
		return s.hash(b, r.number, milliseconds(ms), r.args[n:])
	case cmdStream:
		var a struct {
			Frames, Size, Pause uint32
			Seed                uint64
		}
		if !decode(r.args, &a) || a.Frames == 0 || int(a.Size) > s.maxFrame ||
			milliseconds(a.Pause) > maxPause {
			return refusal("stream wants frames, bytes, milliseconds, seed")
		}
		return s.stream(b, r.number, a.Frames, a.Size, milliseconds(a.Pause), a.Seed)
	case cmdFanOut:
		var a struct {
			Children, Rounds uint32
			Seed             uint64
		}
		if !decode(r.args, &a) || a.Children > maxChildren ||
			uint64(a.Children)*uint64(a.Rounds) > maxRounds {
			return refusal("fan-out wants children, rounds, seed")
		}
		if err := s.begin(b); err != nil {
			return err
		}
		sum, err := fanOut(a.Children, a.Rounds, a.Seed)
		if err != nil {
			return err
		}
		return answer(b, statusDone, r.number, u64(sum))
	case cmdFault:
		var a struct {
			Kind  byte
			Pause uint32
		}
		if !s.faults {
			return refusal("faults are not allowed here")
		}
		if !decode(r.args, &a) || milliseconds(a.Pause) > maxFault {
			return refusal("fault wants kind, milliseconds")
		}
		if err := s.fault(a.Kind, milliseconds(a.Pause)); err != nil {
			return err
		}
		return answer(b, statusDone, r.number)
	}
	return refusal("there is no such command")
}

// begin is called before work that takes long beside what it costs to ask for.
// A client may send many such requests and leave: sending what was answered
// before finds that out. And they would hold up the end.
func (s *service) begin(b *socket.Buffered) error {
	if s.ending.Load() {
		return refusal("the daemon is ending")
	}
	return b.Flush()
}

// step is xorshift64, which the client can do as well.
func step(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	return x
}

// computeBurst is how many rounds are made between two Yields: some 10 µs,
// which others may be made to wait.
const computeBurst = 8192

// compute makes that many steps from the seed.
func compute(rounds uint32, seed uint64) uint64 {
	x := seed
	for i := range rounds {
		if x = step(x); i%computeBurst == computeBurst-1 {
			netco.Yield()
		}
	}
	return x
}

// hash stands for whatever blocks: it occupies one of the bounded number of
// goroutines of package blocking, while the coroutine is parked. What was
// answered before is sent first: it need not wait too.
func (s *service) hash(b *socket.Buffered, number uint32, pause time.Duration, p []byte) error {
	if err := b.Flush(); err != nil {
		return err
	}
	switch err := s.jobs.AcquireTimeout(1, s.jobWait); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refusal("too many jobs that block are under way")
	case err != nil:
		return err
	}
	defer s.jobs.Release(1)
	sum, err := blocking.Call(context.Background(), func() ([sha256.Size]byte, error) {
		time.Sleep(pause)
		return sha256.Sum256(p), nil
	})
	if err != nil {
		return err
	}
	return answer(b, statusDone, number, sum[:])
}

// streamChunk is how much of a stream is in memory at a time, however large its
// frames are: a few bytes ask for it, so it must not cost more than they do. It
// is a multiple of fill's eight.
const streamChunk = 16 << 10

// stream sends frames one by one.
func (s *service) stream(b *socket.Buffered, number, frames, size uint32, pause time.Duration,
	seed uint64) error {
	chunk := make([]byte, min(size, streamChunk))
	for i := range frames {
		st := statusMore
		if i == frames-1 {
			st = statusDone
		}
		b.SetWriteDeadline(time.Now().Add(s.writeTimeout))
		if err := answerHead(b, st, number, int(size)); err != nil {
			return err
		}
		for left := size; left > 0; {
			p := chunk[:min(left, streamChunk)]
			seed = fill(p, seed)
			if _, err := b.Write(p); err != nil {
				return err
			}
			left -= uint32(len(p))
		}
		if pause > 0 && st == statusMore {
			if err := b.Flush(); err != nil {
				return err
			}
			netco.Sleep(pause)
		}
	}
	return nil
}

// fill writes the steps that follow seed, eight bytes each, and returns the
// last.
func fill(p []byte, seed uint64) uint64 {
	for len(p) >= 8 {
		seed = step(seed)
		binary.BigEndian.PutUint64(p, seed)
		p = p[8:]
	}
	if len(p) > 0 {
		seed = step(seed)
		copy(p, u64(seed))
	}
	return seed
}

// fanOut has the parts computed by children, on any Processor, and waits for
// them. Should this coroutine end before, by force or by a panic, they end with
// it.
func fanOut(children, rounds uint32, seed uint64) (sum uint64, err error) {
	parts := make([]uint64, children)
	handles := make([]netco.Handle, children)
	for i := range parts {
		handles[i], err = netco.GoWith(netco.Spawn{Child: true, Name: "part", Fn: func() {
			parts[i] = compute(rounds, seed+uint64(i))
		}})
		if errors.Is(err, netco.ErrTooManyCoroutines) {
			return 0, refusal(err.Error())
		}
		if err != nil {
			return 0, err
		}
	}
	for i, h := range handles {
		if err := h.Join(); err != nil {
			return 0, err
		}
		sum += parts[i]
	}
	return sum, nil
}

func u64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// decode reads a request's arguments into a struct of numbers. There must be
// neither too few nor too many.
func decode(p []byte, into any) bool {
	n, err := binary.Decode(p, binary.BigEndian, into)
	return err == nil && n == len(p)
}

func milliseconds(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }
