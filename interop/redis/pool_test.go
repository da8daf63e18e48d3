package redis

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/interop/internal/daemon"
	"github.com/netco-go/netco/interop/internal/place"
)

// exhaust makes two coroutines of one Processor use a pool of one connection: one has it and is parked until the other
// has asked for it, too, and has got far enough to block.
func exhaust(t *testing.T, timeout time.Duration, second func(func() error) error) error {
	c := open(t, daemon.Redis(t), func(o *redis.Options) { o.PoolSize, o.PoolTimeout = 1, timeout })
	warm(t, c)
	var asking atomic.Bool
	first := place.OneProcessor.Go(func() error {
		held := c.Conn()
		defer held.Close()
		if err := held.Ping(t.Context()).Err(); err != nil {
			return err
		}
		for !asking.Load() {
			netco.Sleep(time.Millisecond)
		}
		netco.Sleep(time.Millisecond)
		return held.Ping(t.Context()).Err()
	})
	wait := place.OneProcessor.Go(func() error {
		for c.PoolStats().IdleConns > 0 {
			netco.Sleep(time.Millisecond)
		}
		asking.Store(true)
		return second(func() error { return c.Ping(t.Context()).Err() })
	})
	err := wait()
	if err := first(); err != nil {
		t.Errorf("the first: %v", err)
	}
	return err
}

// TestExhaustedPoolBlocksProcessor: on a locked thread, a coroutine that waits for a connection holds up its Processor, so that
// the one that has the connection cannot give it back. Only the pool's timeout ends that.
func TestExhaustedPoolBlocksProcessor(t *testing.T) {
	place.StartLocked(t, 1)
	if err := exhaust(t, 100*time.Millisecond, place.Directly); !errors.Is(err,
		redis.ErrPoolTimeout) {
		t.Errorf("the second: %v", err)
	}
}

// TestExhaustedPool: elsewhere the second waits until the first has given the connection back, as it does through package blocking
// anywhere.
func TestExhaustedPool(t *testing.T) {
	place.Start(t, 1)
	if err := exhaust(t, place.Limit, place.Blocking); err != nil {
		t.Errorf("the second, through package blocking: %v", err)
	}
	if !place.GoesOn() {
		return
	}
	if err := exhaust(t, place.Limit, place.Directly); err != nil {
		t.Errorf("the second: %v", err)
	}
}

// TestSubscription: Receive dials and reads on the caller, so that a coroutine may call it. Its mutex is held while it
// dials: a PubSub belongs to one coroutine.
func TestSubscription(t *testing.T) {
	const n = 100
	withPool(t, place.Direct, nil, func(t *testing.T, w place.Way, c *redis.Client) {
		topic := "topic:" + t.Name()
		ready := make(chan struct{})
		wait := w.Go(func() error {
			sub := c.Subscribe(t.Context(), topic)
			defer sub.Close()
			if _, err := sub.Receive(t.Context()); err != nil {
				return err
			}
			close(ready)
			for i := range n {
				msg, err := sub.ReceiveMessage(t.Context())
				if err != nil {
					return err
				}
				if want := fmt.Sprint(i); msg.Payload != want {
					return fmt.Errorf("received %q, want %q", msg.Payload, want)
				}
			}
			return nil
		})
		<-ready
		w.Do(t, func() error {
			for i := range n {
				if err := c.Publish(t.Context(), topic, i).Err(); err != nil {
					return err
				}
			}
			return nil
		})
		if err := wait(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestChannel: PubSub.Channel reads on a goroutine of go-redis's and hands messages over in a Go channel. A coroutine that receives
// from it itself may hold up its Processor until there is a message, which must then come from elsewhere.
func TestChannel(t *testing.T) {
	withPool(t, place.Every, nil, func(t *testing.T, w place.Way, c *redis.Client) {
		topic := "topic:" + t.Name()
		w.Do(t, func() error {
			sub := c.Subscribe(t.Context(), topic)
			defer sub.Close()
			if _, err := sub.Receive(t.Context()); err != nil {
				return err
			}
			messages := sub.Channel()
			for i := range 10 {
				if err := c.Publish(t.Context(), topic, i).Err(); err != nil {
					return err
				}
				if got := (<-messages).Payload; got != fmt.Sprint(i) {
					return fmt.Errorf("received %q, want %d", got, i)
				}
			}
			return nil
		})
	})
}

// TestClosedWhileReceiving: closing a subscription ends a Receive under way.
func TestClosedWhileReceiving(t *testing.T) {
	withPool(t, place.Direct, nil, func(t *testing.T, w place.Way, c *redis.Client) {
		sub := c.Subscribe(t.Context(), "silent")
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		wait := w.Go(func() error {
			if msg, err := sub.ReceiveMessage(t.Context()); err == nil {
				return fmt.Errorf("received %v", msg)
			}
			return nil
		})
		if err := sub.Close(); err != nil {
			t.Error(err)
		}
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
}
