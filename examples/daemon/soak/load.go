package main

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// load is the clients. Each kind goes on in rounds until ctx ends; a round that
// fails is a failure of the soak.
type load struct {
	t     *tally
	tcp   target
	unix  target
	idles int // connections that are idle most of the time
	wg    sync.WaitGroup
}

// kind is one way of using, or misusing, the daemon. A round has a connection
// of its own.
type kind struct {
	name    string
	clients int
	pause   time.Duration // between rounds, on average
	round   func(c *conn, ctx context.Context) error
}

var kinds = []kind{
	{"steady", 8, 0, (*conn).steady},
	{"pipelined", 2, 50 * time.Millisecond, (*conn).pipelined},
	{"churn", 3, 5 * time.Millisecond, (*conn).churn},
	{"slow reader", 2, 0, (*conn).slowReader},
	{"slow writer", 1, 0, (*conn).slowWriter},
	{"half-close", 2, 20 * time.Millisecond, (*conn).halfClose},
	{"reset", 2, 20 * time.Millisecond, (*conn).reset},
	{"big", 1, 100 * time.Millisecond, (*conn).big},
	{"bad input", 2, 20 * time.Millisecond, (*conn).badInput},
}

// start starts all clients.
func (l *load) start(ctx context.Context) {
	all := append([]kind{{"idle", l.idles, time.Second, (*conn).idle}}, kinds...)
	for k, one := range all {
		for i := range one.clients {
			l.wg.Go(func() { l.client(ctx, one, rand.New(rand.NewPCG(uint64(k), uint64(i)))) })
		}
	}
}

func (l *load) client(ctx context.Context, k kind, r *rand.Rand) {
	for ctx.Err() == nil {
		to := l.tcp
		if r.IntN(4) == 0 {
			to = l.unix
		}
		c, err := dial(l.t, to, r)
		if err == nil {
			err = k.round(c, ctx)
			c.Close()
		}
		if err != nil {
			l.t.errors.add("%s on %s: %w", k.name, to.network, err)
			sleep(ctx, time.Second) // a daemon that is gone makes few lines, not many
		}
		l.t.round(k.name)
		if k.pause > 0 {
			sleep(ctx, time.Duration(r.Int64N(int64(2*k.pause))))
		}
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

func bytesOf(r *rand.Rand, n int) []byte {
	p := make([]byte, (n+7)&^7)
	for i := 0; i < len(p); i += 8 {
		binary.LittleEndian.PutUint64(p[i:], r.Uint64())
	}
	return p[:n]
}

// small returns a call whose answer is small.
func (c *conn) small() *call {
	switch c.IntN(20) {
	case 0, 1:
		return computeCall(c.number(), uint32(c.IntN(20000)), c.Uint64())
	case 2:
		return hashCall(c.number(), uint32(c.IntN(5)), bytesOf(c.Rand, c.IntN(2000)))
	case 3:
		return fanOutCall(c.number(), uint32(c.IntN(16)), uint32(c.IntN(1000)), c.Uint64())
	case 4:
		return streamCall(c.number(), uint32(1+c.IntN(5)), uint32(c.IntN(500)), uint32(c.IntN(3)),
			c.Uint64())
	}
	return echoCall(c.number(), bytesOf(c.Rand, c.IntN(1000)))
}

// steady asks one thing after another on one connection, a few hundred times.
func (c *conn) steady(ctx context.Context) error {
	for range 200 {
		if err := c.do(c.small()); err != nil {
			return err
		}
		if !sleep(ctx, time.Duration(c.IntN(12))*time.Millisecond) {
			break
		}
	}
	return nil
}

// pipelined sends many requests at once.
func (c *conn) pipelined(ctx context.Context) error {
	for range 20 {
		calls := make([]*call, 1+c.IntN(20))
		for i := range calls {
			calls[i] = c.small()
		}
		if err := c.do(calls...); err != nil {
			return err
		}
		if !sleep(ctx, time.Duration(c.IntN(50))*time.Millisecond) {
			break
		}
	}
	return nil
}

func (c *conn) churn(_ context.Context) error {
	for range c.IntN(3) {
		if err := c.do(c.small()); err != nil {
			return err
		}
	}
	return nil
}

// slowReader takes its time over a long answer, with a small window.
func (c *conn) slowReader(ctx context.Context) error {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		tcp.SetReadBuffer(16 << 10)
	}
	quiet := 0
	c.throttle = func(n int) {
		if quiet += n; quiet > 8<<10 {
			quiet = 0
			// At the end of the soak it reads fast.
			sleep(ctx, time.Duration(c.IntN(20))*time.Millisecond)
		}
	}
	return c.do(streamCall(c.number(), 20, 16<<10, 0, c.Uint64()))
}

// slowWriter sends a request byte by byte, or almost.
func (c *conn) slowWriter(ctx context.Context) error {
	one := echoCall(c.number(), bytesOf(c.Rand, 200+c.IntN(300)))
	for p := one.frame; len(p) > 0; {
		n := min(1+c.IntN(30), len(p))
		if _, err := c.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
		sleep(ctx, time.Duration(c.IntN(10))*time.Millisecond)
	}
	return c.receive(one)
}

// halfClose ends its side and wants every answer nonetheless, and then the end.
func (c *conn) halfClose(_ context.Context) error {
	calls := make([]*call, c.IntN(10))
	for i := range calls {
		calls[i] = c.small()
	}
	if err := c.send(calls...); err != nil {
		return err
	}
	if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		return err
	}
	if err := c.receive(calls...); err != nil {
		return err
	}
	return c.wantEnd()
}

// reset breaks off in the middle of something.
func (c *conn) reset(ctx context.Context) error {
	c.loose = true
	calls := []*call{c.small(), streamCall(c.number(), 8, 8<<10, 1, c.Uint64())}
	if err := c.send(calls[:1+c.IntN(2)]...); err != nil {
		return err
	}
	switch c.IntN(3) {
	case 0:
		if err := c.receive(calls[0]); err != nil {
			return err
		}
	case 1:
		half := c.small().frame
		if _, err := c.Write(half[:c.IntN(len(half))]); err != nil {
			return err
		}
		sleep(ctx, time.Duration(c.IntN(5))*time.Millisecond)
	}
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	return nil
}

// big moves much, both ways.
func (c *conn) big(_ context.Context) error {
	if err := c.do(streamCall(c.number(), 64, 64<<10, 0, c.Uint64())); err != nil {
		return err
	}
	return c.do(echoCall(c.number(), bytesOf(c.Rand, c.IntN(1<<20-100))))
}

// idle keeps a connection open and says something now and then.
func (c *conn) idle(ctx context.Context) error {
	for range 10 {
		if !sleep(ctx, time.Duration(2000+c.IntN(8000))*time.Millisecond) {
			break
		}
		if err := c.do(c.small()); err != nil {
			return err
		}
	}
	return nil
}

// badInput sends what must be refused, and wants a refusal and not an end where
// the daemon can go on.
func (c *conn) badInput(_ context.Context) error {
	switch c.IntN(4) {
	case 0: // commands and arguments that are not there
		err := c.do(
			refusedCall(c.number(), byte(100+c.IntN(100)), bytesOf(c.Rand, c.IntN(100))),
			refusedCall(c.number(), compute, bytesOf(c.Rand, c.IntN(11))),
			refusedCall(c.number(), stream, bytesOf(c.Rand, 21+c.IntN(10))),
			refusedCall(c.number(), fanOut, numbers([]uint32{1e6, 1}, 1)))
		if err != nil {
			return err
		}
		return c.do(c.small()) // it is no worse for it
	case 1: // a length out of bounds: it says so, and ends the connection
		c.loose = true
		c.t.looseExpected.Add(200)
		bad := []uint32{0, 1, 4, 1<<20 + 1, 1<<32 - 1}
		frame := binary.BigEndian.AppendUint32(nil, bad[c.IntN(len(bad))])
		if _, err := c.Write(frame); err != nil {
			return err
		}
		one := &call{bodies: 1, status: refused}
		if err := one.read(c); err != nil {
			return err
		}
		return c.wantEnd()
	case 2: // noise
		c.loose = true
		c.t.looseExpected.Add(200) // for what it says to that
		if _, err := c.Write(append([]byte{255}, bytesOf(c.Rand, 1+c.IntN(5000))...)); err != nil &&
			!isReset(err) {
			return err
		}
		buf := make([]byte, 512)
		for {
			c.SetDeadline(time.Now().Add(patience))
			if _, err := c.Read(buf); errors.Is(err, os.ErrDeadlineExceeded) {
				return wrong("the daemon does not end a connection that sent noise")
			} else if err != nil {
				return nil
			}
		}
	}
	// A request that is cut short.
	c.loose = true
	one := c.small()
	if _, err := c.Write(one.frame[:1+c.IntN(len(one.frame)-1)]); err != nil {
		return err
	}
	if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		return err
	}
	return c.wantEnd()
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
