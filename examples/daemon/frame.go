package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
)

// The protocol. A frame is a length of 4 bytes, big-endian like all numbers
// here, and that many bytes. A request's are the command, a number of 4 bytes
// that the client chooses, and arguments; an answer's the status, that number
// again, and the result. Requests of one connection are served one after
// another, so they may be sent without waiting for answers.
//
//	request: length, command, number, arguments
//	answer:  length, status, number, result
type command byte

const (
	cmdEcho command = 1 // any bytes → CRC-32C (4), the bytes
	// Milliseconds (4), any bytes → their SHA-256 (32), by a job that blocks
	// for so long, 1000 at most.
	cmdHash command = 3
	// Frames (4), bytes in each (4), milliseconds between (4), seed (8) → so
	// many frames, see [fill].
	cmdStream command = 4
	// Children (4), rounds (4), seed (8) → the sum of what the children compute
	// (8), see [compute].
	cmdFanOut command = 5
	cmdFault  command = 6 // kind (1), milliseconds (4) → nothing; only with -faults, see faults.go
)

type status byte

const (
	statusDone  status = 0 // the last frame of an answer
	statusMore  status = 1 // another follows
	statusError status = 2 // the result is a text that says what was wrong with the request
)

const (
	lengthSize = 4
	headSize   = 1 + 4 // command or status, number
)

type request struct {
	command command
	number  uint32
	args    []byte

	memory *sync.Semaphore
	taken  int64 // bytes of memory
}

// release gives the memory of the request back.
func (r *request) release() {
	if r.taken > 0 {
		r.memory.Release(r.taken)
		r.taken = 0
	}
}

// errTooLong means a length that is not to be believed: what follows cannot be
// understood.
var errTooLong = errors.New("a frame's length is out of bounds")

// errNoMemory means that other requests have all the memory there is for large
// ones, and have not been served in memoryWait.
var errNoMemory = errors.New("too many large requests are under way")

// memoryWait is how long a large request waits for memory.
const memoryWait = time.Second

// readRequest reads one frame. The caller releases it, also after an error.
// io.EOF is an end between two.
func readRequest(b *socket.Buffered, maxFrame int, memory *sync.Semaphore) (request, error) {
	var head [lengthSize + headSize]byte
	if _, err := io.ReadFull(b, head[:lengthSize]); err != nil {
		return request{}, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n < headSize || n > maxFrame {
		return request{}, fmt.Errorf("%w: %d, want %d to %d", errTooLong, n, headSize, maxFrame)
	}
	if _, err := io.ReadFull(b, head[lengthSize:]); err != nil {
		return request{}, noEOF(err)
	}
	r := request{command: command(head[4]), number: binary.BigEndian.Uint32(head[5:]),
		memory: memory}
	err := r.readArgs(b, n-headSize)
	return r, noEOF(err)
}

// believed is how much memory a length alone is good for. The rest is had as
// the bytes come, so that a peer that only promises much costs little, and
// comes out of what all large requests share, so that many peers do not cost
// much either.
const believed = 4 << 10

func (r *request) readArgs(from io.Reader, n int) error {
	r.args = make([]byte, min(n, believed))
	_, err := io.ReadFull(from, r.args)
	for have := len(r.args); err == nil && have < n; have = len(r.args) {
		grown := min(2*have, n)
		more := int64(grown) - r.taken
		if err := r.memory.AcquireTimeout(more, memoryWait); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				err = errNoMemory
			}
			return err
		}
		r.taken += more
		p := make([]byte, grown)
		copy(p, r.args)
		r.args = p
		_, err = io.ReadFull(from, p[have:])
	}
	return err
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// answer writes one frame, whose result comes in pieces so that a checksum need
// not be copied together with what it is of.
func answer(b *socket.Buffered, s status, number uint32, result ...[]byte) error {
	n := 0
	for _, p := range result {
		n += len(p)
	}
	if err := answerHead(b, s, number, n); err != nil {
		return err
	}
	for _, p := range result {
		if _, err := b.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// answerHead writes what comes before the n bytes of a frame's result.
func answerHead(b *socket.Buffered, s status, number uint32, n int) error {
	var head [lengthSize + headSize]byte
	binary.BigEndian.PutUint32(head[:], uint32(headSize+n))
	head[4] = byte(s)
	binary.BigEndian.PutUint32(head[5:], number)
	_, err := b.Write(head[:])
	return err
}
