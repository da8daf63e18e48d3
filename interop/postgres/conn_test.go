// Package postgres hands netco's connections to jackc/pgx, against a real PostgreSQL server.
package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/interop/internal/daemon"
	"github.com/netco-go/netco/interop/internal/place"
	"github.com/netco-go/netco/socket"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestPostgreSQL runs the tests of this package on one server, because starting one takes its time.
func TestPostgreSQL(t *testing.T) {
	s := daemon.PostgreSQL(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *daemon.Server)
	}{
		{"Calls", testCalls},
		{"Cancellation", testCancellation},
		{"ServerEndsConn", testServerEndsConn},
		{"Notifications", testNotifications},
		{"CopyFrom", testCopyFrom},
		{"BigArgument", testBigArgument},
		{"SlowWrites", testSlowWrites},
		{"Pool", testPool},
		{"ExhaustedPool", testExhaustedPool},
		{"PoolCancellation", testPoolCancellation},
		{"PoolConnLost", testPoolConnLost},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, s) })
	}
}

// settings are those of a connection to the server. A coroutine must not parse them: that looks for files.
func settings(t *testing.T, s *daemon.Server) *pgx.ConnConfig {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn(s))
	if err != nil {
		t.Fatal(err)
	}
	cfg.DialFunc = new(socket.Dialer).DialContext
	return cfg
}

func dsn(s *daemon.Server) string {
	return fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=disable",
		s.Port)
}

// withConn connects, gives the connection to fn and closes it.
func withConn(cfg *pgx.ConnConfig, fn func(ctx context.Context, c *pgx.Conn) error) error {
	ctx := context.Background()
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(fn(ctx, c), c.Close(ctx))
}

// each runs a test on each of the ways.
func each(t *testing.T, s *daemon.Server, ways []place.Way, body func(t *testing.T, w place.Way,
	cfg *pgx.ConnConfig)) {
	place.EachWay(t, ways, func(t *testing.T, w place.Way) { body(t, w, settings(t, s)) })
}

// testCalls: what a pgx.Conn does on its caller, but for a write that takes 15 ms: see testSlowWrites.
func testCalls(t *testing.T, s *daemon.Server) {
	each(t, s, place.Every, func(t *testing.T, w place.Way, cfg *pgx.ConnConfig) {
		for name, fn := range map[string]func(ctx context.Context, c *pgx.Conn) error{
			"queries": queries, "big result": bigResult, "batch": batch,
			"transactions": transactions, "copy to": copyTo,
		} {
			t.Run(name, func(t *testing.T) {
				if err := w.All(4, func(int) error { return withConn(cfg, fn) }); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

func queries(ctx context.Context, c *pgx.Conn) error {
	for i := range 50 {
		var sum int
		var text string
		err := c.QueryRow(ctx, "select $1::int + 1, $2::text", i, fmt.Sprint("text ", i)).Scan(
			&sum, &text)
		if err != nil {
			return err
		}
		if sum != i+1 || text != fmt.Sprint("text ", i) {
			return fmt.Errorf("query %d answered %d, %q", i, sum, text)
		}
	}
	var perr *pgconn.PgError
	if _, err := c.Exec(ctx, "select 1/0"); !errors.As(err, &perr) || perr.Code != "22012" {
		return fmt.Errorf("1/0: %w", err)
	}
	return nil
}

const bigRows, width = 20_000, 300

func bigResult(ctx context.Context, c *pgx.Conn) error {
	rows, err := c.Query(ctx, "select i, repeat('x', $2) from generate_series(1, $1) i",
		bigRows, width)
	if err != nil {
		return err
	}
	want := 0
	var i int
	var text string
	_, err = pgx.ForEachRow(rows, []any{&i, &text}, func() error {
		if want++; i != want || len(text) != width {
			return fmt.Errorf("row %d is %d with %d bytes", want, i, len(text))
		}
		return nil
	})
	if err == nil && want != bigRows {
		err = fmt.Errorf("%d rows", want)
	}
	return err
}

func batch(ctx context.Context, c *pgx.Conn) error {
	const n = 1000
	var b pgx.Batch
	for i := range n {
		b.Queue("select $1::int", i)
	}
	res := c.SendBatch(ctx, &b)
	for i := range n {
		var got int
		if err := res.QueryRow().Scan(&got); err != nil || got != i {
			return fmt.Errorf("answer %d is %d, %w", i, got, err)
		}
	}
	return res.Close()
}

func transactions(ctx context.Context, c *pgx.Conn) error {
	if _, err := c.Exec(ctx, "create temporary table account (sum int)"); err != nil {
		return err
	}
	failed := errors.New("failed")
	for _, end := range []error{nil, failed} {
		err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "insert into account values (1)"); err != nil {
				return err
			}
			return end
		})
		if err != end {
			return fmt.Errorf("a transaction that ends with %v: %w", end, err)
		}
	}
	var n int
	if err := c.QueryRow(ctx, "select count(*) from account").Scan(&n); err != nil || n != 1 {
		return fmt.Errorf("%d rows where one was committed, %w", n, err)
	}
	return nil
}

// copyTo reads a table's content in COPY's format, which pgx does on its caller.
func copyTo(ctx context.Context, c *pgx.Conn) error {
	var sum lines
	tag, err := c.PgConn().CopyTo(ctx, &sum, fmt.Sprintf("copy (select generate_series(1, %d)) "+
		"to stdout", bigRows))
	if err == nil && (tag.RowsAffected() != bigRows || sum != bigRows) {
		err = fmt.Errorf("%d rows, %d lines", tag.RowsAffected(), sum)
	}
	return err
}

// lines counts lines.
type lines int

func (l *lines) Write(p []byte) (int, error) {
	*l += lines(bytes.Count(p, []byte("\n")))
	return len(p), nil
}

var _ io.Writer = (*lines)(nil)

// testCancellation: a query that is given up ends with the context's error, after which the connection is lost. pgx sets its
// deadline, cancels the query on a connection of its own, and closes both, all of that on goroutines.
func testCancellation(t *testing.T, s *daemon.Server) {
	each(t, s, place.Every, func(t *testing.T, w place.Way, cfg *pgx.ConnConfig) {
		w.Do(t, func() error {
			return withConn(cfg, func(ctx context.Context, c *pgx.Conn) error {
				if err := sleepInVain(c, s); err != nil {
					return err
				}
				if !c.IsClosed() {
					return errors.New("the connection is still used")
				}
				<-c.PgConn().CleanupDone()
				return nil
			})
		})
	})
}

// testServerEndsConn: a connection that the server ends gives an error at once, and at every later use.
func testServerEndsConn(t *testing.T, s *daemon.Server) {
	each(t, s, place.Every, func(t *testing.T, w place.Way, cfg *pgx.ConnConfig) {
		w.Do(t, func() error {
			return withConn(cfg, func(ctx context.Context, c *pgx.Conn) error {
				if _, err := c.Exec(ctx,
					"select pg_terminate_backend(pg_backend_pid())"); err == nil {
					return errors.New("no error of a connection that has ended")
				}
				if err := c.Ping(ctx); err == nil || !c.IsClosed() {
					return fmt.Errorf("afterwards: %v, closed: %v", err, c.IsClosed())
				}
				return nil
			})
		})
	})
}

// testNotifications: waiting for what others send.
func testNotifications(t *testing.T, s *daemon.Server) {
	const n = 50
	each(t, s, place.Every, func(t *testing.T, w place.Way, cfg *pgx.ConnConfig) {
		listening := make(chan struct{})
		wait := w.Go(func() error {
			return withConn(cfg, func(ctx context.Context, c *pgx.Conn) error {
				if _, err := c.Exec(ctx, "listen news"); err != nil {
					return err
				}
				close(listening)
				for i := range n {
					got, err := c.WaitForNotification(ctx)
					if err != nil {
						return err
					}
					if got.Payload != fmt.Sprint(i) {
						return fmt.Errorf("received %q, want %d", got.Payload, i)
					}
				}
				return nil
			})
		})
		<-listening
		w.Do(t, func() error {
			return withConn(cfg, func(ctx context.Context, c *pgx.Conn) error {
				for i := range n {
					if _, err := c.Exec(ctx, "select pg_notify('news', $1)",
						fmt.Sprint(i)); err != nil {
						return err
					}
				}
				return nil
			})
		})
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
}
