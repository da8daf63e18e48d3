package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"time"
)

// kind is one way of using, or misusing, the daemon. A round has a connection
// of its own; one that fails is a failure of the soak.
type kind struct {
	name    string
	clients int
	pause   time.Duration // between rounds, on average
	round   func(c *conn, ctx context.Context) error
}

var kinds = []kind{
	{"steady", 8, 0, talk(200, 12*time.Millisecond)},
	{"churn", 3, 5 * time.Millisecond, talk(3, 0)},
	{"slow reader", 2, 0, (*conn).slowReader},
	{"pipelined", 3, 20 * time.Millisecond, (*conn).pipelined},
	{"reset", 2, 20 * time.Millisecond, (*conn).reset},
	{"big", 1, 100 * time.Millisecond, (*conn).big},
	{"bad input", 2, 20 * time.Millisecond, (*conn).badInput},
}

// client goes on in rounds until ctx ends.
func (s *soak) client(ctx context.Context, k kind, r *rand.Rand) {
	for ctx.Err() == nil {
		c, err := s.dial([]string{"tcp", "tcp", "tcp", "unix"}[r.IntN(4)], r)
		if err == nil {
			err = k.round(c, ctx)
			c.Close()
		}
		if err != nil {
			s.fail("%s: %v", k.name, err)
			sleep(ctx, time.Second) // a daemon that is gone makes few lines, not many
		}
		sleep(ctx, time.Duration(r.Int64N(int64(2*k.pause+1))))
	}
}

// sleep reports whether ctx has not ended meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// bytes returns fewer than n.
func (c *conn) bytes(n int) []byte {
	p := make([]byte, c.IntN(n))
	for i := range p {
		p[i] = byte(c.Uint32())
	}
	return p
}

// small returns a call whose answer is small.
func (c *conn) small() call {
	switch c.IntN(20) {
	case 0:
		return hashCall(c.Uint32N(5), c.bytes(2000))
	case 1:
		return fanOutCall(c.Uint32N(16), c.Uint32N(1000), c.Uint64())
	case 2:
		return streamCall(1+c.Uint32N(5), c.Uint32N(500), c.Uint32N(3), c.Uint64())
	}
	return echoCall(c.bytes(1000))
}

// talk asks one thing after another on one connection, with pauses.
func talk(most int, pause time.Duration) func(*conn, context.Context) error {
	return func(c *conn, ctx context.Context) error {
		for range 1 + c.IntN(most) {
			if err := c.do(c.small()); err != nil {
				return err
			}
			if !sleep(ctx, time.Duration(c.Int64N(int64(pause)+1))) {
				break
			}
		}
		return nil
	}
}

// slowReader takes its time over a long answer, with a small window. At the end
// of the soak it reads fast.
func (c *conn) slowReader(ctx context.Context) error {
	c.Conn.(interface{ SetReadBuffer(int) error }).SetReadBuffer(16 << 10)
	quiet := 0
	c.throttle = func(n int) {
		if quiet += n; quiet > 8<<10 {
			quiet = 0
			sleep(ctx, time.Duration(c.IntN(20))*time.Millisecond)
		}
	}
	return c.do(streamCall(1+c.Uint32N(20), 64<<10, 0, c.Uint64()))
}

// pipelined sends many requests at once and ends its side. It wants every
// answer nonetheless, and then the end.
func (c *conn) pipelined(context.Context) error {
	calls := make([]call, c.IntN(20))
	for i := range calls {
		calls[i] = c.small()
	}
	if err := c.send(calls...); err != nil {
		return err
	}
	return errors.Join(c.CloseWrite(), c.receive(calls...), c.wantEnd())
}

// reset breaks off in the middle of an answer.
func (c *conn) reset(context.Context) error {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	return c.send(c.small(), streamCall(8, 8<<10, 1, c.Uint64()))
}

// big moves much, both ways.
func (c *conn) big(context.Context) error {
	return c.do(echoCall(c.bytes(1<<20-100)), streamCall(64, 64<<10, 0, c.Uint64()))
}

// badInput sends what must be refused, and wants a refusal and not an end where
// the daemon can go on.
func (c *conn) badInput(context.Context) error {
	switch c.IntN(3) {
	case 0: // commands and arguments that are not there
		if err := c.do(refusedCall(100, c.bytes(100)), refusedCall(fanOut, c.bytes(16)),
			refusedCall(fanOut, u64(u32s(1e6, 1), 1))); err != nil {
			return err
		}
		return c.do(c.small()) // it is no worse for it
	case 1: // a length out of bounds: it says so, and ends the connection
		bad := []uint32{0, 1, 4, 1<<20 + 1, 1<<32 - 1}
		_, err := c.Write(u32s(bad[c.IntN(len(bad))]))
		return errors.Join(err, refusedCall(0, nil).read(c, 0), c.wantEnd())
	}
	half := c.small().frame(1) // a request that is cut short
	_, err := c.Write(half[:1+c.IntN(len(half)-1)])
	return errors.Join(err, c.CloseWrite(), c.wantEnd())
}
