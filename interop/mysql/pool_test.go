package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/interop/internal/daemon"
	"github.com/netco-go/netco/interop/internal/place"
)

// testLimitedPool: a caller that finds all connections in use waits on a channel for one.
func testLimitedPool(t *testing.T, s *daemon.Server) {
	each(t, s, place.Waiting(), func(t *testing.T, w place.Way, db *sql.DB) {
		db.SetMaxOpenConns(2)
		if err := w.All(6, func(int) error { return work(t.Context(), db) }); err != nil {
			t.Error(err)
		}
		if n := db.Stats().OpenConnections; n > 2 {
			t.Errorf("%d connections where 2 are allowed", n)
		}
	})
}

// testLimitedPoolForAll: with a connection for each caller nobody waits, and coroutines may call the pool themselves.
func testLimitedPoolForAll(t *testing.T, s *daemon.Server) {
	each(t, s, place.Every, func(t *testing.T, w place.Way, db *sql.DB) {
		db.SetMaxOpenConns(4)
		if err := w.All(4, func(int) error { return work(t.Context(), db) }); err != nil {
			t.Error(err)
		}
	})
}

// testCancellation: a query that is given up ends with the context's error; the driver closes the connection from a goroutine.
func testCancellation(t *testing.T, s *daemon.Server) {
	each(t, s, place.Every, func(t *testing.T, w place.Way, db *sql.DB) {
		w.Do(t, func() error {
			if err := db.PingContext(context.Background()); err != nil { // it is not to be the connecting that ends
				return err
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			if _, err := db.ExecContext(ctx, "select sleep(60)"); !errors.Is(err,
				context.DeadlineExceeded) {
				return fmt.Errorf("ExecContext: %w", err)
			}
			return db.PingContext(context.Background())
		})
	})
}

// testConnLost: a connection that the server ends is replaced.
func testConnLost(t *testing.T, s *daemon.Server) {
	each(t, s, place.Every, func(t *testing.T, w place.Way, db *sql.DB) {
		w.Do(t, func() error {
			ctx := context.Background()
			c, err := db.Conn(ctx)
			if err != nil {
				return err
			}
			if _, err := c.ExecContext(ctx, "kill connection_id()"); err == nil {
				return errors.New("no error of a connection that has ended")
			}
			if err := c.PingContext(ctx); err == nil {
				return errors.New("the connection that has ended still answers")
			}
			c.Close()
			return db.PingContext(ctx)
		})
	})
}

// exhaust makes two coroutines of one Processor use a pool of one connection: one has it and is parked until the other
// has asked for it, too.
func exhaust(t *testing.T, s *daemon.Server, second func(db *sql.DB) error) error {
	db := open(t, s)
	db.SetMaxOpenConns(1)
	var taken, asking atomic.Bool
	first := place.OneProcessor.Go(func() error {
		c, err := db.Conn(context.Background())
		if err != nil {
			return err
		}
		defer c.Close()
		for taken.Store(true); !asking.Load(); {
			netco.Sleep(time.Millisecond)
		}
		netco.Sleep(time.Millisecond)
		return c.PingContext(context.Background())
	})
	wait := place.OneProcessor.Go(func() error {
		for !taken.Load() {
			netco.Sleep(time.Millisecond)
		}
		asking.Store(true)
		return second(db)
	})
	err := wait()
	if err := first(); err != nil {
		t.Errorf("the first: %v", err)
	}
	return err
}

// testExhaustedPoolBlocksProcessor: on a locked thread, a coroutine that waits for a connection holds up its Processor, so that
// the one that has the connection cannot give it back. Only its context ends that.
func testExhaustedPoolBlocksProcessor(t *testing.T, s *daemon.Server) {
	place.StartLocked(t, 1)
	err := exhaust(t, s, func(db *sql.DB) error {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		return db.PingContext(ctx)
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second: %v", err)
	}
}

// testExhaustedPool: elsewhere the second waits until the first has given the connection back, as it does through package blocking
// anywhere.
func testExhaustedPool(t *testing.T, s *daemon.Server) {
	place.Start(t, 1)
	ways := map[string]func(func() error) error{"through package blocking": place.Blocking}
	if place.GoesOn() {
		ways["directly"] = place.Directly
	}
	for name, way := range ways {
		err := exhaust(t, s, func(db *sql.DB) error {
			return way(func() error { return db.PingContext(t.Context()) })
		})
		if err != nil {
			t.Errorf("the second, %s: %v", name, err)
		}
	}
}
