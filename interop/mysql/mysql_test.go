// Package mysql hands netco's connections to go-sql-driver/mysql under database/sql, against a real MariaDB server.
package mysql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/interop/internal/daemon"
	"github.com/netco-go/netco/interop/internal/place"
	"github.com/netco-go/netco/socket"
)

func TestMain(m *testing.M) {
	mysql.RegisterDialContext("netco", func(ctx context.Context, address string) (net.Conn, error) {
		return new(socket.Dialer).DialContext(ctx, "tcp", address)
	})
	mysql.SetLogger(log.New(io.Discard, "", 0))
	testenv.Main(m)
}

// TestMariaDB runs the tests of this package on one server, because starting one takes its time.
func TestMariaDB(t *testing.T) {
	s := daemon.MariaDB(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *daemon.Server)
	}{
		{"Calls", testCalls},
		{"PoolStatements", testPoolStatements},
		{"LimitedPool", testLimitedPool},
		{"LimitedPoolForAll", testLimitedPoolForAll},
		{"Cancellation", testCancellation},
		{"ConnLost", testConnLost},
		{"ExhaustedPoolBlocksProcessor", testExhaustedPoolBlocksProcessor},
		{"ExhaustedPool", testExhaustedPool},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, s) })
	}
}

// open returns a pool of connections that are netco's.
func open(t *testing.T, s *daemon.Server) *sql.DB {
	t.Helper()
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr, cfg.User, cfg.DBName = "netco", s.Addr(), "root", "mysql"
	cfg.Logger = log.New(io.Discard, "", 0)
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

func each(t *testing.T, s *daemon.Server, ways []place.Way, body func(t *testing.T, w place.Way,
	db *sql.DB)) {
	place.EachWay(t, ways, func(t *testing.T, w place.Way) { body(t, w, open(t, s)) })
}

// work uses every kind of call that coroutines may make themselves.
func work(ctx context.Context, db *sql.DB) error {
	return errors.Join(prepared(ctx, db), bigResult(ctx, db), transactions(ctx, db),
		bigValue(ctx, db))
}

// testCalls: a pool without a limit.
func testCalls(t *testing.T, s *daemon.Server) {
	each(t, s, place.Every, func(t *testing.T, w place.Way, db *sql.DB) {
		if err := w.All(4, func(int) error { return work(t.Context(), db) }); err != nil {
			t.Error(err)
		}
	})
}

// testPoolStatements: closing a statement of DB.Prepare, database/sql writes to the connection with the mutex of the whole pool held.
// Where Processors are held up, another coroutine that wants that mutex blocks the thread that would have to end the write, so that
// coroutines must not use DB.Prepare themselves.
func testPoolStatements(t *testing.T, s *daemon.Server) {
	each(t, s, place.Waiting(), func(t *testing.T, w place.Way, db *sql.DB) {
		if err := w.All(4, func(int) error { return queries(t.Context(), db) }); err != nil {
			t.Error(err)
		}
	})
}

// prepared prepares on one connection, which needs no mutex but that connection's.
func prepared(ctx context.Context, db *sql.DB) error {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return queries(ctx, c)
}

// preparer is an *sql.DB or an *sql.Conn.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func queries(ctx context.Context, db preparer) error {
	st, err := db.PrepareContext(ctx, "select ? + 1, concat('text ', ?)")
	if err != nil {
		return err
	}
	defer st.Close()
	for i := range 30 {
		var sum int
		var text string
		if err := st.QueryRowContext(ctx, i, i).Scan(&sum, &text); err != nil {
			return err
		}
		if sum != i+1 || text != fmt.Sprint("text ", i) {
			return fmt.Errorf("query %d answered %d, %q", i, sum, text)
		}
	}
	var merr *mysql.MySQLError
	if _, err := db.ExecContext(ctx, "select nothing"); !errors.As(err, &merr) {
		return fmt.Errorf("a query that is wrong: %w", err)
	}
	return nil
}

func bigResult(ctx context.Context, db *sql.DB) error {
	const n, width = 10_000, 400
	rows, err := db.QueryContext(ctx, fmt.Sprintf("select seq, repeat('x', %d) from seq_1_to_%d",
		width, n))
	if err != nil {
		return err
	}
	defer rows.Close()
	want := 0
	for rows.Next() {
		var i int
		var text string
		if err := rows.Scan(&i, &text); err != nil {
			return err
		}
		if want++; i != want || len(text) != width {
			return fmt.Errorf("row %d is %d with %d bytes", want, i, len(text))
		}
	}
	if err := rows.Err(); err != nil || want != n {
		return fmt.Errorf("%d rows, %w", want, err)
	}
	return nil
}

// transactions commits one row and rolls another back. The table is one connection's own.
func transactions(ctx context.Context, db *sql.DB) error {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, "create or replace temporary table mysql.account (sum int) "+
		"engine=innodb"); err != nil {
		return err
	}
	for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
		tx, err := c.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "insert into mysql.account values (1)"); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		if err := end(tx); err != nil {
			return err
		}
	}
	var n int
	if err := c.QueryRowContext(ctx, "select count(*) from mysql.account").Scan(&n); err != nil ||
		n != 1 {
		return fmt.Errorf("%d rows where one was committed, %w", n, err)
	}
	return nil
}

// bigValue sends and receives a value of many packets' size.
func bigValue(ctx context.Context, db *sql.DB) error {
	want := make([]byte, 4<<20)
	rand.New(rand.NewSource(1)).Read(want)
	var got []byte
	if err := db.QueryRowContext(ctx, "select ?", want).Scan(&got); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%d bytes came back, or others than were sent", len(got))
	}
	return nil
}
