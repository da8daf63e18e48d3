package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/interop/internal/daemon"
	"github.com/netco-go/netco/interop/internal/place"
	"github.com/netco-go/netco/socket"
)

// What of pgx uses goroutines whatever happens.

// testCopyFrom: CopyFrom reads and writes on goroutines of pgx's and waits for them on channels, which holds up the Processor of a
// coroutine that calls it itself.
func testCopyFrom(t *testing.T, s *daemon.Server) {
	each(t, s, place.Every, func(t *testing.T, w place.Way, cfg *pgx.ConnConfig) {
		err := w.All(3, func(int) error { return withConn(cfg, copyFrom) })
		if err != nil {
			t.Fatal(err)
		}
	})
}

func copyFrom(ctx context.Context, c *pgx.Conn) error {
	if _, err := c.Exec(ctx, "create temporary table copied (i int, text text)"); err != nil {
		return err
	}
	text := strings.Repeat("x", width)
	n, err := c.CopyFrom(ctx, pgx.Identifier{"copied"}, []string{"i", "text"},
		pgx.CopyFromSlice(bigRows, func(i int) ([]any, error) {
			return []any{i, text}, nil
		}))
	if err != nil || n != bigRows {
		return fmt.Errorf("CopyFrom: %d rows, %w", n, err)
	}
	var rows, sum int
	if err := c.QueryRow(ctx, "select count(*), sum(i) from copied").Scan(&rows, &sum); err != nil {
		return err
	}
	if rows != bigRows || sum != bigRows*(bigRows-1)/2 {
		return fmt.Errorf("%d rows with sum %d arrived", rows, sum)
	}
	return nil
}

// testBigArgument: a write that takes long enough for pgx to read on a goroutine meanwhile.
func testBigArgument(t *testing.T, s *daemon.Server) {
	each(t, s, place.Every, func(t *testing.T, w place.Way, cfg *pgx.ConnConfig) {
		w.Do(t, func() error {
			return withConn(cfg, func(ctx context.Context, c *pgx.Conn) error {
				big := strings.Repeat("0123456789abcdef", 1<<22)
				var got string
				if err := c.QueryRow(ctx, "select $1::text", big).Scan(&got); err != nil {
					return err
				}
				if got != big {
					return fmt.Errorf("%d bytes came back, or others than were sent", len(got))
				}
				return nil
			})
		})
	})
}

// slowConn's writes begin late, as those to a server that does not read, or of a thread that has to wait for its core.
type slowConn struct{ net.Conn }

func (c slowConn) Write(p []byte) (int, error) {
	if netco.Self().ID() != 0 {
		netco.Sleep(20 * time.Millisecond)
	} else {
		time.Sleep(20 * time.Millisecond)
	}
	return c.Conn.Write(p)
}

// testSlowWrites: when a write takes 15 ms, pgx starts to read on a goroutine, and its caller then waits for that one with a
// sync.Cond.
func testSlowWrites(t *testing.T, s *daemon.Server) {
	each(t, s, place.Every, func(t *testing.T, w place.Way, cfg *pgx.ConnConfig) {
		cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := new(socket.Dialer).DialContext(ctx, network, address)
			return slowConn{c}, err
		}
		err := w.All(3, func(int) error { return withConn(cfg, transactions) })
		if err != nil {
			t.Fatal(err)
		}
	})
}

// withPool runs a test with a pool of n connections.
func withPool(t *testing.T, s *daemon.Server, n int32) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(dsn(s))
	if err != nil {
		t.Fatal(err)
	}
	cfg.ConnConfig.DialFunc, cfg.MaxConns = new(socket.Dialer).DialContext, n
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// testPool: a pool connects on goroutines of its own, which its callers wait for in a channel. Coroutines may do that themselves where
// there is a connection for each of them.
func testPool(t *testing.T, s *daemon.Server) {
	place.EachWay(t, place.Every, func(t *testing.T, w place.Way) { usePool(t, s, w, 12, 12) })
}

// testExhaustedPool: a caller that finds no connection left waits until another gives one back.
func testExhaustedPool(t *testing.T, s *daemon.Server) {
	place.EachWay(t, place.Waiting(), func(t *testing.T, w place.Way) { usePool(t, s, w, 3, 12) })
}

func usePool(t *testing.T, s *daemon.Server, w place.Way, conns int32, callers int) {
	pool := withPool(t, s, conns)
	err := w.All(callers, func(i int) error {
		for range 5 {
			tx, err := pool.Begin(t.Context())
			if err != nil {
				return err
			}
			var got int
			if err := tx.QueryRow(t.Context(), "select $1::int", i).Scan(&got); err != nil ||
				got != i {
				return fmt.Errorf("read %d, %w", got, err)
			}
			if err := tx.Commit(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := pool.Stat().TotalConns(); n > conns {
		t.Errorf("%d connections where %d are allowed", n, conns)
	}
}

// testPoolCancellation: a context ends the wait for a connection, and a query.
func testPoolCancellation(t *testing.T, s *daemon.Server) {
	place.EachWay(t, place.Every, func(t *testing.T, w place.Way) {
		pool := withPool(t, s, 1)
		w.Do(t, func() error {
			held, err := pool.Acquire(t.Context())
			if err != nil {
				return err
			}
			defer held.Release()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if err := pool.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("Ping: %w", err)
			}
			return sleepInVain(held.Conn(), s)
		})
		// The pool replaces the connection that the query was given up on.
		w.Do(t, func() error { return pool.Ping(t.Context()) })
	})
}

// sleepInVain makes the server sleep, and gives that up once it does.
func sleepInVain(c *pgx.Conn, s *daemon.Server) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pid := c.PgConn().PID()
	watched := make(chan error, 1)
	go func() {
		defer cancel()
		watched <- untilActive(s, pid)
	}()
	_, err := c.Exec(ctx, "select pg_sleep(60)")
	if werr := <-watched; werr != nil {
		return werr
	}
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("Exec: %w", err)
	}
	return nil
}

// untilActive waits until a process of the server sleeps in a query.
func untilActive(s *daemon.Server, pid uint32) error {
	ctx, cancel := context.WithTimeout(context.Background(), place.Limit)
	defer cancel()
	c, err := pgx.Connect(ctx, dsn(s))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for sleeps := false; !sleeps; {
		query := "select exists (select from pg_stat_activity where pid = $1 and wait_event = " +
			"'PgSleep')"
		if err := c.QueryRow(ctx, query, pid).Scan(&sleeps); err != nil {
			return err
		}
	}
	return nil
}

// testPoolConnLost: the pool notices a connection that has ended and makes another.
func testPoolConnLost(t *testing.T, s *daemon.Server) {
	place.EachWay(t, place.Every, func(t *testing.T, w place.Way) {
		pool := withPool(t, s, 1)
		w.Do(t, func() error {
			if _, err := pool.Exec(t.Context(),
				"select pg_terminate_backend(pg_backend_pid())"); err == nil {
				return errors.New("no error of a connection that has ended")
			}
			return pool.Ping(t.Context())
		})
	})
}
