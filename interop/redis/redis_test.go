// Package redis hands netco's connections to redis/go-redis, against a real Redis server.
package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/interop/internal/daemon"
	"github.com/netco-go/netco/interop/internal/place"
	"github.com/netco-go/netco/socket"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func init() { redis.SetLogger(quiet{log.New(io.Discard, "", 0)}) }

// quiet drops what go-redis has to say of connections that tests break.
type quiet struct{ *log.Logger }

func (quiet) Printf(context.Context, string, ...any) {}

// open returns a client whose connections are netco's.
func open(t *testing.T, s *daemon.Server, change func(*redis.Options)) *redis.Client {
	t.Helper()
	o := &redis.Options{
		Addr:                     s.Addr(),
		Dialer:                   new(socket.Dialer).DialContext,
		PoolSize:                 10,
		DialTimeout:              place.Limit,
		ReadTimeout:              place.Limit,
		WriteTimeout:             place.Limit,
		MaxRetries:               -1, // a retry sleeps
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if change != nil {
		change(o)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// withPool opens a client for each of the ways, on one server.
func withPool(t *testing.T, ways []place.Way, change func(*redis.Options),
	body func(t *testing.T, w place.Way, c *redis.Client)) {
	s := daemon.Redis(t)
	place.EachWay(t, ways, func(t *testing.T, w place.Way) { body(t, w, open(t, s, change)) })
}

// warm makes all connections of a pool, from goroutines, so that no call has to wait for one that is being made.
func warm(t *testing.T, c *redis.Client) {
	t.Helper()
	conns := make([]*redis.Conn, c.Options().PoolSize)
	for i := range conns {
		conns[i] = c.Conn()
		if err := conns[i].Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, conn := range conns {
		conn.Close()
	}
}

// commands uses keys of its own and checks what comes back.
func commands(ctx context.Context, c *redis.Client, id, n int) error {
	for i := range n {
		key, want := fmt.Sprint("key:", id), strings.Repeat(fmt.Sprint(i), 1+i*100)
		if err := c.Set(ctx, key, want, 0).Err(); err != nil {
			return err
		}
		if got, err := c.Get(ctx, key).Result(); got != want || err != nil {
			return fmt.Errorf("Get: %d bytes for %d, %v", len(got), len(want), err)
		}
	}
	return nil
}

// TestCommands: more callers than connections.
func TestCommands(t *testing.T) {
	withPool(t, place.Waiting(), func(o *redis.Options) {
		o.PoolSize = 3
	}, func(t *testing.T, w place.Way, c *redis.Client) {
		if err := w.All(12, func(i int) error {
			return commands(t.Context(), c, i, 10)
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestDirectCommands: coroutines may call the client themselves if there is a connection for each of them, from the first call on.
// Each waits in a channel until go-redis has made its connection, on a goroutine; all of their Processor waits with it.
func TestDirectCommands(t *testing.T) {
	withPool(t, place.Direct, nil, func(t *testing.T, w place.Way, c *redis.Client) {
		if err := w.All(c.Options().PoolSize, func(i int) error {
			return commands(t.Context(), c, i, 20)
		}); err != nil {
			t.Fatal(err)
		}
		if made, most := c.PoolStats().Misses, c.Options().PoolSize; made == 0 ||
			made > uint32(most) {
			t.Errorf("%d connections were made for %d callers", made, most)
		}
	})
}

// TestNoConnMissing: where all connections have been made before, a direct call meets no wait but netco's own.
func TestNoConnMissing(t *testing.T) {
	withPool(t, place.Direct, nil, func(t *testing.T, w place.Way, c *redis.Client) {
		warm(t, c)
		if err := w.All(c.Options().PoolSize, func(i int) error {
			return commands(t.Context(), c, i, 20)
		}); err != nil {
			t.Fatal(err)
		}
		if misses := c.PoolStats().Misses; misses != uint32(c.Options().PoolSize) {
			t.Errorf("%d connections were made for %d callers", misses, c.Options().PoolSize)
		}
	})
}

// TestPipelines: many commands in one write, and their answers in one.
func TestPipelines(t *testing.T) {
	const n = 5000
	withPool(t, place.Every, nil, func(t *testing.T, w place.Way, c *redis.Client) {
		err := w.All(4, func(id int) error {
			key := fmt.Sprint("counter:", t.Name(), id)
			cmds, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
				for range n {
					p.Incr(t.Context(), key)
				}
				return nil
			})
			if err != nil {
				return err
			}
			for i, cmd := range cmds {
				if got := cmd.(*redis.IntCmd).Val(); got != int64(i+1) {
					return fmt.Errorf("answer %d is %d", i, got)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestTransaction: WATCH, MULTI and EXEC on one connection; a change in between makes it fail.
func TestTransaction(t *testing.T) {
	withPool(t, place.Every, nil, func(t *testing.T, w place.Way, c *redis.Client) {
		ctx := t.Context()
		attempt := func(interfere bool) error {
			return w.Run(func() error {
				return c.Watch(ctx, func(tx *redis.Tx) error {
					if interfere {
						if err := c.Set(ctx, "watched", "other", 0).Err(); err != nil {
							return err
						}
					}
					_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
						return p.Set(ctx, "watched", "mine", 0).Err()
					})
					return err
				}, "watched")
			})
		}
		if err := attempt(false); err != nil {
			t.Error(err)
		}
		if err := attempt(true); err != redis.TxFailedErr {
			t.Errorf("with a change in between: %v", err)
		}
	})
}

// TestContext: a deadline ends a command that blocks in the server; cancelling ends the wait for a connection.
func TestContext(t *testing.T) {
	one := func(o *redis.Options) { o.PoolSize = 1 }
	withPool(t, place.Every, one, func(t *testing.T, w place.Way, c *redis.Client) {
		w.Do(t, func() error {
			if err := c.Ping(t.Context()).Err(); err != nil { // it is not to be the connecting that ends
				return err
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			err := c.BLPop(ctx, 0, "empty").Err()
			if !errors.Is(err, os.ErrDeadlineExceeded) &&
				!errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("BLPop: %w", err)
			}
			return c.Ping(t.Context()).Err()
		})
		held := c.Conn() // the only connection
		defer held.Close()
		if err := held.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		wait := w.Go(func() error {
			if err := c.Ping(ctx).Err(); err != context.Canceled {
				return fmt.Errorf("Ping: %w", err)
			}
			return nil
		})
		cancel()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestServerGone: calls fail with an error, and work again when there is a server again.
func TestServerGone(t *testing.T) {
	s := daemon.Redis(t)
	place.EachWay(t, place.Every, func(t *testing.T, w place.Way) {
		c := open(t, s, nil)
		w.Do(t, func() error { return c.Ping(t.Context()).Err() })
		admin := open(t, s, nil)
		if err := admin.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME",
			"yes").Err(); err != nil {
			t.Fatal(err)
		}
		w.Do(t, func() error {
			// The pool may have a connection of which it does not know yet that it is gone.
			if err := c.Ping(t.Context()).Err(); err != nil && !errors.Is(err, io.EOF) &&
				!isNet(err) {
				return fmt.Errorf("the first call after the loss: %w", err)
			}
			return c.Ping(t.Context()).Err()
		})
	})
}

func isNet(err error) bool {
	ne := net.Error(nil)
	return errors.As(err, &ne)
}

// TestUnixSocket: the server's other door.
func TestUnixSocket(t *testing.T) {
	s := daemon.Redis(t)
	place.EachWay(t, place.Every, func(t *testing.T, w place.Way) {
		c := open(t, s, func(o *redis.Options) { o.Network, o.Addr = "unix", s.Socket() })
		if err := w.All(4, func(i int) error {
			return commands(t.Context(), c, i, 20)
		}); err != nil {
			t.Fatal(err)
		}
	})
}
