package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"time"
)

// The daemon's protocol from the other side, see ../frame.go: written anew so
// that a mistake of the daemon's is not made here as well.
const (
	echo   = 1
	hash   = 3
	stream = 4
	fanOut = 5
	fault  = 6

	done    = 0
	more    = 1
	refused = 2
)

// call is one request, and what must come back.
type call struct {
	command byte
	args    []byte
	status  byte     // of the last frame
	answer  [][]byte // a body for each frame; a nil one is not looked at
}

func hashCall(ms uint32, p []byte) call {
	sum := sha256.Sum256(p)
	return call{hash, append(u32s(ms), p...), done, [][]byte{sum[:]}}
}

func echoCall(p []byte) call {
	sum := crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli))
	return call{echo, p, done, [][]byte{append(u32s(sum), p...)}}
}

func fanOutCall(children, rounds uint32, seed uint64) call {
	var sum uint64
	for i := range children {
		x := seed + uint64(i)
		for range rounds {
			x = xorshift(x)
		}
		sum += x
	}
	return call{fanOut, u64(u32s(children, rounds), seed), done, [][]byte{u64(nil, sum)}}
}

func streamCall(frames, size, ms uint32, seed uint64) call {
	c := call{stream, u64(u32s(frames, size, ms), seed), done, nil}
	for range frames {
		var body []byte
		for len(body) < int(size) {
			seed = xorshift(seed)
			body = u64(body, seed)
		}
		c.answer = append(c.answer, append([]byte{}, body[:size]...))
	}
	return c
}

func faultCall(kind byte, ms uint32) call {
	return call{fault, append([]byte{kind}, u32s(ms)...), done, [][]byte{{}}}
}

// refusedCall is one that must be refused, whatever the text.
func refusedCall(command byte, args []byte) call {
	return call{command, args, refused, [][]byte{nil}}
}

func xorshift(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	return x ^ x<<17
}

func u32s(all ...uint32) (p []byte) {
	for _, n := range all {
		p = binary.BigEndian.AppendUint32(p, n)
	}
	return p
}

func u64(p []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(p, n) }

// frame is what is sent of c as the request of that number.
func (c call) frame(number uint32) []byte {
	head := append(u32s(uint32(5+len(c.args))), c.command)
	return append(append(head, u32s(number)...), c.args...)
}

// read reads the answer to c and holds it against what it must be.
func (c call) read(r io.Reader, number uint32) error {
	for i, want := range c.answer {
		var head [9]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return fmt.Errorf("answer %d: %w", number, err)
		}
		n, status := binary.BigEndian.Uint32(head[:]), byte(more)
		if i == len(c.answer)-1 {
			status = c.status
		}
		if n < 5 || n > 1<<24 || head[4] != status || binary.BigEndian.Uint32(head[5:]) != number {
			return fmt.Errorf("frame %d of the answer to %d begins with %x", i, number, head)
		}
		body := make([]byte, n-5)
		if _, err := io.ReadFull(r, body); err != nil {
			return fmt.Errorf("answer %d: %w", number, err)
		}
		if want != nil && !bytes.Equal(body, want) {
			return fmt.Errorf("frame %d of answer %d is %d bytes, %.40x…, want %d, %.40x…", i,
				number, len(body), body, len(want), want)
		}
	}
	return nil
}

// patience is how long any one read or write may take before the daemon counts
// as hanging. Slow machines and forced stalls are far below that.
const patience = 60 * time.Second

// conn is a client's connection. Its requests are numbered in order.
type conn struct {
	net.Conn
	*rand.Rand
	asked, got     uint32 // the last request, and the last answer
	sent, received int64
	throttle       func(n int) // called after each read of n bytes, if set
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received += int64(n)
	if c.throttle != nil {
		c.throttle(n)
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	c.SetDeadline(time.Now().Add(patience))
	n, err := c.Conn.Write(p)
	c.sent += int64(n)
	return n, err
}

// do makes the calls, all of them sent before the first answer is read. There
// must be room for them in the sockets' buffers.
func (c *conn) do(calls ...call) error {
	if err := c.send(calls...); err != nil {
		return err
	}
	return c.receive(calls...)
}

func (c *conn) send(calls ...call) error {
	var p []byte
	for _, one := range calls {
		c.asked++
		p = append(p, one.frame(c.asked)...)
	}
	_, err := c.Write(p)
	return err
}

func (c *conn) receive(calls ...call) error {
	for _, one := range calls {
		c.SetDeadline(time.Now().Add(patience))
		c.got++
		if err := one.read(c, c.got); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) CloseWrite() error { return c.Conn.(interface{ CloseWrite() error }).CloseWrite() }

// wantEnd wants the stream to end here.
func (c *conn) wantEnd() error {
	c.SetDeadline(time.Now().Add(patience))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		return fmt.Errorf("after the last answer: %d bytes, %v, want the end", n, err)
	}
	return nil
}
