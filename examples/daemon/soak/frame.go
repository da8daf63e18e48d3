package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// The protocol from the other side, written anew so that a mistake of the
// daemon's is not made here as well.
const (
	echo    = 1
	compute = 2
	hash    = 3
	stream  = 4
	fanOut  = 5
	fault   = 6

	done    = 0
	more    = 1
	refused = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// call is one request, and what must come back.
type call struct {
	frame []byte // what is sent

	number uint32
	bodies int // frames that the answer has

	// check looks at the body of the i-th one. It may be given nil when there
	// is nothing to check but the status.
	check func(i int, body []byte) error

	status byte // of the last frame
	size   int  // bytes of the whole answer, with its heads; -1 if only the daemon knows
}

func newCall(command byte, number uint32, args []byte) *call {
	frame := binary.BigEndian.AppendUint32(nil, uint32(5+len(args)))
	frame = append(frame, command)
	frame = binary.BigEndian.AppendUint32(frame, number)
	return &call{frame: append(frame, args...), number: number, bodies: 1, size: 9}
}

func is(want []byte) func(int, []byte) error {
	return func(_ int, body []byte) error {
		if !bytes.Equal(body, want) {
			return fmt.Errorf("the answer is %d bytes, %x…, want %d bytes, %x…", len(body),
				body[:min(len(body), 16)], len(want), want[:min(len(want), 16)])
		}
		return nil
	}
}

func (c *call) answers(want []byte) *call {
	c.check = is(want)
	c.size += len(want)
	return c
}

func xorshift(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	return x ^ x<<17
}

func computed(rounds uint32, seed uint64) uint64 {
	for ; rounds > 0; rounds-- {
		seed = xorshift(seed)
	}
	return seed
}

func numbers(u32s []uint32, u64s ...uint64) (p []byte) {
	for _, n := range u32s {
		p = binary.BigEndian.AppendUint32(p, n)
	}
	for _, n := range u64s {
		p = binary.BigEndian.AppendUint64(p, n)
	}
	return p
}

func echoCall(number uint32, p []byte) *call {
	return newCall(echo, number,
		p).answers(append(numbers([]uint32{crc32.Checksum(p, castagnoli)}), p...))
}

func computeCall(number, rounds uint32, seed uint64) *call {
	return newCall(compute, number, numbers([]uint32{rounds}, seed)).answers(numbers(nil,
		computed(rounds, seed)))
}

func hashCall(number, ms uint32, p []byte) *call {
	sum := sha256.Sum256(p)
	return newCall(hash, number, append(numbers([]uint32{ms}), p...)).answers(sum[:])
}

func fanOutCall(number, children, rounds uint32, seed uint64) *call {
	var sum uint64
	for i := range children {
		sum += computed(rounds, seed+uint64(i))
	}
	return newCall(fanOut, number, numbers([]uint32{children, rounds}, seed)).answers(
		numbers(nil, sum))
}

func streamCall(number, frames, size, ms uint32, seed uint64) *call {
	c := newCall(stream, number, numbers([]uint32{frames, size, ms}, seed))
	c.bodies = int(frames)
	c.size = int(frames) * (9 + int(size))
	c.check = func(i int, body []byte) error {
		if len(body) != int(size) {
			return fmt.Errorf("frame %d of a stream has %d bytes, want %d", i, len(body), size)
		}
		for at := 0; at < len(body); at += 8 {
			seed = xorshift(seed)
			var want [8]byte
			binary.BigEndian.PutUint64(want[:], seed)
			if n := min(8, len(body)-at); !bytes.Equal(body[at:at+n], want[:n]) {
				return fmt.Errorf("frame %d of a stream is wrong at byte %d", i, at)
			}
		}
		return nil
	}
	return c
}

// faultCall makes the daemon misbehave.
func faultCall(number uint32, kind byte, ms uint32) *call {
	return newCall(fault, number, append([]byte{kind}, numbers([]uint32{ms})...)).answers(nil)
}

// refusedCall is one that must be refused, whatever the text.
func refusedCall(number uint32, command byte, args []byte) *call {
	c := newCall(command, number, args)
	c.status, c.size = refused, -1
	return c
}

// read reads the answer to c and holds it against what it must be.
func (c *call) read(r io.Reader) error {
	for i := range c.bodies {
		var head [9]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return fmt.Errorf("answer %d: %w", c.number, err)
		}
		n := binary.BigEndian.Uint32(head[:])
		if n < 5 || n > 1<<24 {
			return wrong("answer %d has a length of %d", c.number, n)
		}
		body := make([]byte, n-5)
		if _, err := io.ReadFull(r, body); err != nil {
			return fmt.Errorf("answer %d: %w", c.number, err)
		}
		want := c.status
		if i < c.bodies-1 {
			want = more
		}
		if got := binary.BigEndian.Uint32(head[5:]); got != c.number {
			return wrong("the answer to %d has number %d", c.number, got)
		}
		if head[4] != want {
			return wrong("frame %d of the answer to %d has status %d, want %d: %q", i, c.number,
				head[4], want, body[:min(len(body), 80)])
		}
		if c.check != nil {
			if err := c.check(i, body); err != nil {
				return wrong("request %d: %w", c.number, err)
			}
		}
	}
	return nil
}

// corrupt is an answer that is not what it must be, other than one that did not
// come.
type corrupt struct{ error }

func wrong(format string, args ...any) error { return corrupt{fmt.Errorf(format, args...)} }
